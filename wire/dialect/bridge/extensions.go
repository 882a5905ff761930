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
const (
	extensionProgress        = "progress"
	extensionCompression     = "compression"
	extensionRouting         = "routing"
	extensionAcknowledgement = "acknowledgement"
	extensionBatching        = "batching"
	extensionEncryption      = "encryption"
)

// parameters has the JSON of the parameters of each extension.
var parameters = map[string]string{
	extensionProgress:        `{}`,
	extensionCompression:     `{"methods":["` + methodGzip + `"]}`,
	extensionRouting:         `{}`,
	extensionAcknowledgement: `{}`,
	extensionBatching:        `{}`,
	extensionEncryption:      `{"formats":["` + performatives.TypeSealed + `"]}`,
}

// extensions is a set of the names of extensions, sorted.
type extensions []string

func (e extensions) has(name string) bool { return slices.Contains(e, name) }

// supported returns the extensions that this end offers.
func (s *session) supported() extensions {
	all := extensions{extensionAcknowledgement, extensionBatching, extensionCompression, extensionEncryption, extensionProgress}
	if s.node != "" {
		all = append(all, extensionRouting)
	}
	return all
}

// agreeable returns the supported extensions among the offered ones.
func (s *session) agreeable(offer []byte) (out extensions) {
	all := s.supported()
	object(offer, func(name string, v []byte) {
		if all.has(name) && is(v, '{') && !out.has(name) && fits(name, v) {
			out = append(out, name)
		}
	})
	slices.Sort(out)
	return out
}

// fits reports whether the parameters of an extension allow what this end does.
func fits(extension string, v []byte) bool {
	switch extension {
	case extensionCompression:
		return lists(v, "methods", methodGzip)
	case extensionEncryption:
		return lists(v, "formats", performatives.TypeSealed)
	}
	return true
}

// lists reports whether a member of the parameters is a list with that name in it.
func lists(v []byte, member, name string) bool {
	var list []byte
	object(v, nil, found{member, &list})
	names, _ := stringsOf(list)
	return slices.Contains(names, name)
}

// appendTo writes the member of a handshake.
func (e extensions) appendTo(b *builder) {
	o := openObject(nil)
	for _, name := range e {
		o.raw(name, []byte(parameters[name]))
	}
	v, err := o.close()
	if err != nil && b.err == nil {
		b.err = err
	}
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

// agrees reports whether both ends use an extension in messages of an agent of the peer, and to it.
func (s *session) agrees(agent performatives.AgentID, extension string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agreedWith(agent).has(extension)
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
