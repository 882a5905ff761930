package bridge

import "github.com/ribosome-agents/ribosome/performatives"

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
	if !s.opts.Initiator {
		return false
	}
	h := s.hellos.byAgent[agent.Fold()]
	return h == nil || !h.done
}
