package performatives

import "fmt"

// Refusal is the one error that a sender gets for a message that was not
// served: refused by the runtime, rejected by the agent, not understood, or
// failed. errors.Is(err, code) asks for its [Code].
type Refusal struct {
	Code  Code
	Text  string       // what is safe to show to a peer; empty stands for the code's own text
	Act   Performative // the act that brought it, zero when no message did
	From  AgentID      // who refused, empty for the runtime itself
	About MessageID    // the message that was refused, or its ReplyWith; empty when it has none
	Field string       // the field that was wrong, as a path in the message; empty when none was
}

// Error returns "agent: text (code)".
func (r *Refusal) Error() string {
	text := r.Text
	if text == "" {
		text = r.Code.Traits().Text
	}
	if r.From != "" {
		text = string(r.From) + ": " + text
	}
	if r.Code == "" {
		return text
	}
	return text + " (" + string(r.Code) + ")"
}

// Is reports whether target is r's code.
func (r *Refusal) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == r.Code
}

// invalid is the refusal of a message whose field is not what it should be.
func invalid(field, want, got string) *Refusal {
	text := fmt.Sprintf("want %s, got %s", want, got)
	if field != "" {
		text = field + ": " + text
	}
	return &Refusal{Code: CodeInvalidPayload, Field: field, Text: text}
}
