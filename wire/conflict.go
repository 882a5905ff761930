package wire

import (
	"hash/maphash"
	"time"

	"github.com/ribosome-agents/ribosome/internal/expiring"
	"github.com/ribosome-agents/ribosome/performatives"
)

// requestContents remembers a hash of the content of each request from a peer, to detect an id that
// comes again with another content (addenda §7). Codons recognise a retry by its id alone and would
// answer it with the result of the first request.
type requestContents struct {
	known *expiring.Map[uint64]
	seed  maphash.Seed
}

// maxRequestContents is the largest number of requests that are remembered. Of further ones no
// conflict is detected.
const maxRequestContents = 1 << 21

// A request is remembered until its ReplyBy, at most for maxContentAge, and without one for
// defaultContentAge.
const (
	maxContentAge     = time.Hour
	defaultContentAge = 5 * time.Minute
)

func newRequestContents() *requestContents {
	return &requestContents{expiring.New[uint64](maxRequestContents), maphash.MakeSeed()}
}

// check refuses a request whose sender has sent another one under the same id: in any session, if
// the sender has authenticated or the session owns its id, and the dialect does not number messages
// per connection. Otherwise two sessions of one sender may be two clients that use the same ids,
// and only requests of the same session count.
func (r *requestContents) check(session string, id Identity, owned bool, in Inbound) error {
	m := in.Message
	if in.Content == nil || !m.Performative().ExpectsReply() {
		return nil
	}
	own, scope := in.ID, session
	if own == "" {
		own = string(m.ID())
		if owned || id.principal(m.Sender()) != "" {
			scope = ""
		}
	}
	now := time.Now()
	until := now.Add(defaultContentAge)
	if by := m.ReplyBy(); !by.IsZero() {
		until = by
	}
	if last := now.Add(maxContentAge); until.After(last) {
		until = last
	}
	sender := string(m.Sender().Fold())
	sum := r.sum(in)
	first, result := r.known.Add(r.known.Key(string(id.Name), sender, scope, own), r.known.Owner(string(id.Name)+sender), sum, now, until)
	if result == expiring.Known && first != sum {
		return &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, About: m.ID(), Field: "id", Text: "id: want an id that no other message has had, got " + own,
		}
	}
	return nil
}

// sum returns the hash of the act, the receiver, the message type and the content. A retry may
// differ in everything else, such as its time, deadline and budget.
func (r *requestContents) sum(in Inbound) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	for _, s := range []string{in.Message.Performative().String(), string(in.Message.Receiver().Fold()), in.Message.MessageType()} {
		_, _ = h.WriteString(s) // never fails
		_ = h.WriteByte(0)
	}
	_, _ = h.Write(in.Content)
	return h.Sum64()
}
