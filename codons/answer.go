package codons

import (
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

var whisper = WhisperTable().MustCompile()

// WhisperingWind is the protocol that makes every agent answer
// QUERY_CAPABILITIES out of what it describes.
type WhisperingWind struct{}

// Name returns "whispering-wind".
func (WhisperingWind) Name() string { return whisper.Name() }

// Opens reports whether m asks for capabilities, or is the CANCEL of such a
// question that comes first.
func (w WhisperingWind) Opens(m *performatives.Message) bool {
	return m.Performative() == performatives.ActQueryCapabilities ||
		m.Performative() == performatives.ActCancel && m.Protocol() == w.Name()
}

// Bind returns the responder of an agent; every agent has one.
func (WhisperingWind) Bind(self actors.Self, _ actors.Agent) actors.Responding {
	return answerer{self}
}

type answerer struct{ self actors.Self }

// Open begins the conversation of a query.
func (a answerer) Open(m *performatives.Message) actors.Conversation {
	return newAnswering(a.self, whisper, m, &answerScript{})
}

// answerScript is the responder of one query. What the agent has said about itself
// is with its cell, so nobody has to be asked again.
type answerScript struct{}

func (s *answerScript) run(c *conversation, _ string) {
	answer, err := s.answer(c)
	switch r := asRefusal(err); {
	case err == nil:
		c.happen(happening{on: machine.Command(commandAnswer), data: answer})
	case r != nil && r.Code.Traits().Carrier == performatives.ActNotUnderstood:
		c.happen(happening{
			on:   machine.Command(commandNotUnderstood),
			data: performatives.NotUnderstood{ReasonCode: r.Code, ReasonText: r.Text},
		})
	default:
		c.happen(happening{on: machine.Command(commandFail), data: failureOf(err)})
	}
}

func (s *answerScript) answer(c *conversation) (performatives.InformCapabilities, error) {
	q, err := performatives.PayloadAs[performatives.QueryCapabilities](c.request)
	if err != nil {
		return performatives.InformCapabilities{}, err
	}
	return c.self.Describe().Answer(q)
}

func (s *answerScript) stop(*conversation, string) {}

func (s *answerScript) payload(c *conversation, e machine.Effect, data any) any {
	if data != nil {
		return data
	}
	if e.Act == performatives.ActInform {
		return performatives.Receipt{Text: "the question is withdrawn"}
	}
	code := performatives.CodeStopped
	if c.state.State == stateTimedOut {
		code = performatives.CodeTimeout
	}
	return performatives.Failure{ErrorCode: code, ErrorText: code.Traits().Text}
}

func (s *answerScript) report(*conversation, string, *performatives.Message) {}

func (s *answerScript) timer(c *conversation, _ string) time.Duration {
	if by := c.request.ReplyBy(); !by.IsZero() {
		return time.Until(by)
	}
	return DefaultDeadline
}

func (s *answerScript) tag(*performatives.Message) string { return "" }

func (s *answerScript) ended(*conversation, *performatives.Message) {}

func (s *answerScript) abandoned(*conversation, error) {}
