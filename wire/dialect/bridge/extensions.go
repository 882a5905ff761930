package bridge

import (
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
)

// capsExtensions is the member of a handshake with the extensions: in a handshake_request those that
// its sender offers, in the handshake_response those of them that both ends use from then on. The
// values are objects with parameters.
const capsExtensions = "extensions"

// The extensions. docs/bridge-extensions.md has their formats.
const extensionProgress = "progress"

// supported are the extensions that this package offers, sorted by name.
var supported = []string{extensionProgress}

// extensions is a set of the names of extensions.
type extensions []string

func (e extensions) has(name string) bool { return slices.Contains(e, name) }

// offeredIn returns the supported extensions among the offered ones.
func offeredIn(v []byte) (out extensions) {
	object(v, func(name string, v []byte) {
		if slices.Contains(supported, name) && is(v, '{') && !out.has(name) {
			out = append(out, name)
		}
	})
	slices.Sort(out)
	return out
}

// append writes the member of a handshake.
func (e extensions) appendTo(b *builder) {
	o := openObject(nil)
	for _, name := range e {
		o.raw(name, []byte("{}"))
	}
	v, _ := o.close()
	b.raw(capsExtensions, v)
}

// agreedWith returns the extensions that both ends use in messages to an agent of the peer, and in
// its messages. The end that opened the connection agrees with the connection. The session's lock is held.
func (s *session) agreedWith(agent performatives.AgentID) extensions {
	if s.opts.Initiator {
		return s.agreed
	}
	if g := s.pending.greeted[agent.Fold()]; g != nil {
		return g.extensions
	}
	return nil
}

// progressed reports whether a notification is the progress of a request of this node.
func (s *session) progressed(d *decoder, event string) bool {
	if event != eventProgress || d.correlation == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending.asks[performatives.MessageID(d.correlation)] != nil && s.agreedWith(d.out.Sender).has(extensionProgress)
}
