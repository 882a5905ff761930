package codons

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/performatives"
)

// CheckPayloads has each conversation compare the payloads that it has sent with what they were,
// when it ends: a payload belongs to its message once that is sent, and must not change. A change
// is logged as an error and published as [lifecycle.PayloadChanged]. It costs a JSON form of each
// payload, twice. So it is on only in programs with the race detector, and where a test kit turns
// it on. It holds for conversations that begin afterwards.
var CheckPayloads atomic.Bool

func init() { CheckPayloads.Store(raceEnabled) }

// fingerprint tells whether the payload of a message is as it was sent.
type fingerprint struct {
	message *performatives.Message
	sum     uint64
}

// fingerprintSeed is that of all sums of the process.
var fingerprintSeed = maphash.MakeSeed()

// sum returns a number for the JSON form of a payload, and false for one that has none
// or is read-only by its type.
func sum(payload any) (uint64, bool) {
	switch payload.(type) {
	case nil, performatives.Raw:
		return 0, false
	}
	text, err := json.Marshal(payload)
	return maphash.Bytes(fingerprintSeed, text), err == nil
}

// fingerprints are those of the messages that a side has sent.
type fingerprints []fingerprint

// fingerprint records the hash of the payload of a message that is about to be sent.
func (c *Conversation) fingerprint(m *performatives.Message) {
	if n, ok := sum(m.Payload()); ok && len(*c.fingerprints) < maxRemembered {
		*c.fingerprints = append(*c.fingerprints, fingerprint{m, n})
	}
}

// checkFingerprints compares the hashes of sent payloads with those that they have now.
func (c *Conversation) checkFingerprints() {
	for _, s := range *c.fingerprints {
		if n, ok := sum(s.message.Payload()); ok && n == s.sum {
			continue
		}
		m := s.message
		c.agent.Logger().Error("a payload was changed after its message was sent", "conversation", string(c.key.ID),
			"message", string(m.ID()), "performative", m.Performative().String(), "payload", fmt.Sprintf("%T", m.Payload()))
		c.publishChanged(m)
	}
	*c.fingerprints = nil
}
