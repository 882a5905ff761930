package bridge

import (
	"slices"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// capsExtensions is the member of a handshake with the extensions: in a handshake_request those
// that its sender offers, in the handshake_response those of them that both ends use from then on.
// The values are objects with parameters.
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

// parameters has the extensions with parameters: the member, which is a list, and its one element
// that this end supports.
var parameters = map[string]struct{ member, name string }{
	extensionCompression: {"methods", methodGzip},
	extensionEncryption:  {"formats", performatives.TypeSealed},
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
	jsonscan.Read(offer, func(name string, v []byte) {
		p, has := parameters[name]
		names, _ := jsonscan.Texts(jsonscan.Member(v, p.member))
		if all.has(name) && jsonscan.Is(v, '{') && !out.has(name) && (!has || slices.Contains(names, p.name)) {
			out = append(out, name)
		}
	})
	slices.Sort(out)
	return out
}

// appendTo writes the member of a handshake.
func (e extensions) appendTo(b *jsonscan.Builder) {
	b.Open(capsExtensions)
	for _, name := range e {
		b.Open(name)
		if p, has := parameters[name]; has {
			b.Value(p.member, []string{p.name})
		}
		b.End()
	}
	b.End()
}

// agreedBetween returns the extensions that both ends use in messages between an agent of this end
// and one of the peer. The agent that has shaken hands decides: of the end that opened the
// connection. The session's lock is held.
func (s *session) agreedBetween(own, agent performatives.AgentID) extensions {
	if s.opts.Initiator {
		agent = own
	}
	if h := s.hellos.byAgent[agent.Fold()]; h != nil {
		return h.extensions
	}
	return nil
}

// agreed reports whether both ends use an extension in a message of the peer that is being read.
// One without a receiver is for the agent that has asked. The session's lock is held.
func (d *decoder) agreed(extension string) bool {
	own := d.out.Receiver
	if q := d.session.askFor(d.correlation, own); own == "" && q != nil {
		own = q.message.Sender()
	}
	return d.session.agreedBetween(own, d.out.Sender).has(extension)
}

// progressed reports whether a notification is the progress of a request of this node. The
// session's lock is held.
func (s *session) progressed(d *decoder, event string) bool {
	if event != eventProgress || d.correlation == "" {
		return false
	}
	q := s.askFor(d.correlation, d.out.Receiver)
	return q != nil && s.agreedBetween(q.message.Sender(), d.out.Sender).has(extensionProgress)
}

// Extension encryption: messages with sealed payloads, which only their receivers can read. The
// codec writes and reads them like messages of any other message type.

// checkSealed refuses a sealed payload of a peer that has not agreed to the extension.
func (s *session) checkSealed(d *decoder) {
	if performatives.IsSealedType(d.out.MessageType) && !d.agreed(extensionEncryption) {
		d.Wrong("metadata.message_type",
			"another one than %.64q: the handshake has not agreed on the extension %s", d.out.MessageType, extensionEncryption)
	}
}

// refuseSealed returns the refusal of a sealed payload for a peer that has not agreed to the
// extension. It never has another form.
func refuseSealed(m *performatives.Message) *performatives.Refusal {
	return &performatives.Refusal{
		Code: performatives.CodeIncapable, About: m.ID(), Field: "metadata.message_type",
		Text: "the peer takes no sealed payloads: its handshake has not agreed on the extension " + extensionEncryption,
	}
}

// greets reports whether the handshake of an agent of this end still has no answer. The session's
// lock is held.
func (s *session) greets(agent performatives.AgentID) bool {
	h := s.hellos.byAgent[agent.Fold()]
	return s.opts.Initiator && (h == nil || !h.done)
}
