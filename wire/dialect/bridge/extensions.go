package bridge

import (
	"slices"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// capsExtensions is the member of a handshake with the extensions: in a handshake_request those
// that its sender offers, in the handshake_response those of them that both ends use from then on.
// The values are objects with parameters.
const capsExtensions = "extensions"

// The extensions, as indexes of their names. docs/bridge-extensions.md has their formats.
const (
	extensionAcknowledgement = iota
	extensionBatching
	extensionCompression
	extensionEncryption
	extensionProgress
	extensionRouting
)

var extensionNames = exchange.Names{"acknowledgement", "batching", "compression", "encryption", "progress", "routing"}

// parameters has the extensions with parameters: the member, which is a list, and its one element
// that this end supports.
var parameters = map[int]struct{ member, name string }{
	extensionCompression: {"methods", methodGzip},
	extensionEncryption:  {"formats", performatives.TypeSealed},
}

// extensions is a set of extensions.
type extensions = exchange.Set[int]

// supported returns the extensions that this end offers.
func (s *session) supported() extensions {
	all := extensions(1<<len(extensionNames) - 1)
	if s.node == "" {
		all &^= 1 << extensionRouting
	}
	return all
}

// agreeable returns the supported extensions among the offered ones.
func (s *session) agreeable(offer []byte) (out extensions) {
	all := s.supported()
	for name, v := range jsonscan.Members(offer) {
		i := extensionNames.Find(name)
		p, has := parameters[i]
		names, _ := jsonscan.Texts(jsonscan.Member(v, p.member))
		if all.Has(i) && jsonscan.Is(v, '{') && (!has || slices.Contains(names, p.name)) {
			out |= 1 << i
		}
	}
	return out
}

// extensions writes the member of a handshake.
func (w *writer) extensions() {
	w.Open(capsExtensions)
	for i, name := range extensionNames {
		if !w.extras.extensions.Has(i) {
			continue
		}
		w.Open(name)
		if p, has := parameters[i]; has {
			w.Value(p.member, []string{p.name})
		}
		w.End()
	}
	w.End()
}

// agreedBetween returns the extensions that both ends use in messages between an agent of this end
// and one of the peer. The agent that has shaken hands decides: of the end that opened the
// connection. The session's lock is held.
func (s *session) agreedBetween(own, agent performatives.AgentID) extensions {
	if s.opts.Initiator {
		agent = own
	}
	if h := s.hellos[agent.Fold()]; h != nil {
		return h.extensions
	}
	return 0
}

// agreed reports whether both ends use an extension in a message of the peer that is being read.
// One without a receiver is for the agent that has asked.
func (d *decoder) agreed(extension int) bool {
	d.session.mu.Lock()
	defer d.session.mu.Unlock()
	own := d.out.Receiver
	if q := d.session.askFor(d.correlation, own); own == "" && q != nil {
		own = q.message.Sender()
	}
	return d.session.agreedBetween(own, d.out.Sender).Has(extension)
}

// progressed reports whether a notification is the progress of a request of this node.
func (s *session) progressed(d *decoder) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.askFor(d.correlation, d.out.Receiver)
	return q != nil && s.agreedBetween(q.message.Sender(), d.out.Sender).Has(extensionProgress)
}

// Extension encryption: messages with sealed payloads, which only their receivers can read. The
// codec writes and reads them like messages of any other message type.

// refuseSealed returns the refusal of a sealed payload for a peer that has not agreed to the
// extension. It never has another form.
func refuseSealed(m *performatives.Message) *performatives.Refusal {
	return &performatives.Refusal{
		Code: performatives.CodeIncapable, About: m.ID(), Field: "metadata.message_type",
		Text: "the peer takes no sealed payloads: its handshake has not agreed on the extension " + extensionNames[extensionEncryption],
	}
}

// greets reports whether the handshake of an agent of this end still has no answer. The session's
// lock is held.
func (s *session) greets(agent performatives.AgentID) bool {
	h := s.hellos[agent.Fold()]
	return s.opts.Initiator && (h == nil || !h.done)
}
