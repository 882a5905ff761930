package acl

import "github.com/ribosome-agents/ribosome/performatives"

// Style is one of the two forms of the envelope. A session answers in the style of the
// last message: it stores [StyleOf] that message, or the Style of a [DecodeError], and
// encodes with [Codec.AppendAs].
type Style uint8

// The styles. The zero value is Spec.
const (
	// Spec is the envelope of acl §3: agents are objects with an agent_id.
	Spec Style = iota
	// IDE is the variant of IDE clients (addenda §3): agents are plain strings in
	// lower case, REQUEST, ACCEPT, REJECT and NOTIFY name acts, and the
	// conversation_id ties messages together. The sender is a plain string in this style
	// only.
	IDE
)

// String returns "spec" or "ide".
func (s Style) String() string {
	if s == IDE {
		return "ide"
	}
	return "spec"
}

// StyleOf returns the style from which m was decoded. It is Spec for a message that was
// made here, or that another dialect decoded.
func StyleOf(m *performatives.Message) Style {
	if sh, ok := m.Shape().(*shape); ok {
		return sh.style
	}
	return Spec
}

// acts has the acts by their names on the wire, synonyms included.
var acts = func() map[string]performatives.Performative {
	m := make(map[string]performatives.Performative, 40)
	for p := range performatives.Performatives() {
		m[p.String()] = p
	}
	m["ACCEPT"] = performatives.ActTaskAccept
	m["REJECT"] = performatives.ActTaskReject
	m["NOTIFY"] = performatives.ActInform
	return m
}()

// actOf returns the act of that name. REQUEST has two meanings: in the style IDE it is
// TASK_REQUEST, which acl §4.1 calls a refinement of it, and in the style Spec it is
// FIPA's request.
func actOf(name []byte, style Style) (performatives.Performative, bool) {
	act, ok := acts[string(name)]
	if act == performatives.ActRequest && style == IDE {
		act = performatives.ActTaskRequest
	}
	return act, ok
}

// actName returns the name of an act in a style.
func actName(act performatives.Performative, style Style) string {
	if style == IDE {
		switch act { //nolint:exhaustive // the acts that IDE clients call something else
		case performatives.ActTaskRequest:
			return "REQUEST"
		case performatives.ActTaskAccept:
			return "ACCEPT"
		case performatives.ActTaskReject:
			return "REJECT"
		case performatives.ActInform:
			return "NOTIFY"
		}
	}
	return act.String()
}
