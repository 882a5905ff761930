package bridge

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// wordless returns the refusal of an act that this protocol cannot express (addenda §2).
func wordless(m *performatives.Message, why string) error {
	return &performatives.Refusal{
		Code: performatives.CodeUnknownPerformative, About: m.ID(), Field: "performative",
		Text: fmt.Sprintf("the peer's protocol (bridge) has no words for %s%s", m.Performative(), why),
	}
}

// choose sets the kind of the message and its usual act.
func (w *writer) choose() error {
	var err error
	if w.shape.act == w.m.Performative() && !w.extras.answers && !w.extras.handshake {
		w.kind = w.shape.kind
	} else if w.kind, err = w.kindFor(); err != nil {
		return err
	}
	w.correlation = w.correlated()
	word := ""
	if w.kind == kindError {
		f, err := w.fault()
		if err != nil {
			return err
		}
		if word = f.word; word == "" {
			word = ErrorCodes.Of(f.code)
		}
	}
	w.act = usualAct(w.kind, word, w.m.Performative() != performatives.ActRefuse)
	if w.kind == kindNotification && w.correlation != "" && w.m.MessageType() == "" && w.m.Performative() == performatives.ActCancel {
		w.act = performatives.ActCancel
	}
	return nil
}

// kindFor returns the message type for an act (addenda §2, §8).
func (w *writer) kindFor() (kind, error) {
	m, typed := w.m, w.m.MessageType() != ""
	switch act := m.Performative(); {
	case act == performatives.ActTaskRequest, act == performatives.ActRequest && typed:
		return kindRequest, nil
	case act == performatives.ActRefuse && !typed && (w.extras.handshake || refusesHandshake(m)):
		return kindHandshakeResponse, nil
	case refusals.Has(act):
		return kindError, nil
	case act == performatives.ActInformResult, w.extras.answers && !m.Performative().ExpectsReply() && !exchange.Interim.Has(act):
		return kindResponse, nil
	case typed, act == performatives.ActInform, act == performatives.ActCancel, act == performatives.ActStatusUpdate && w.extras.session:
		return kindNotification, nil
	case act == performatives.ActQueryCapabilities:
		if q, err := exchange.PayloadAs[performatives.QueryCapabilities](m); err == nil && q.Type != performatives.QuerySummary {
			return 0, wordless(m, " of the type "+string(q.Type))
		}
		return kindHandshakeRequest, nil
	case act == performatives.ActInformCapabilities:
		return kindHandshakeResponse, nil
	}
	return 0, wordless(m, "")
}

// refusesHandshake reports whether a REFUSE has the members of a handshake_response.
func refusesHandshake(m *performatives.Message) bool {
	r, err := exchange.PayloadAs[performatives.Refuse](m)
	return err == nil && len(r.Extra[capsID]) > 0
}

// correlated returns the correlation_id, or nothing.
func (w *writer) correlated() string {
	m := w.m
	switch {
	case m.InReplyTo() == noReference && m.Performative().IsReply():
		return ""
	case m.InReplyTo() != "":
		return m.InReplyTo()
	case w.kind == kindRequest || w.kind == kindHandshakeRequest: // the peer's own; see session.resolveRequest
		v, _ := m.Metadata(memberNames[memCorrelation])
		return jsonscan.Text(v)
	}
	return ""
}
