package performatives

import (
	"errors"
	"fmt"
)

// Refusal is the error for a message that was not served: the runtime refused it, the
// agent rejected it or did not understand it, or the work failed. errors.Is(err, code)
// compares its [Code].
type Refusal struct {
	Code  Code
	Text  string       // safe to show to a peer; empty stands for the text of the code
	Act   Performative // the act of the message that carried the refusal; zero when no message did
	From  AgentID      // the agent that refused; empty for the runtime itself
	About MessageID    // the message that was refused, or its ReplyWith; empty when it has none
	Field string       // the path of the wrong field in the message; empty when no field was wrong
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

// invalid returns the refusal of a message with a wrong value in that field.
func invalid(field, want, got string) *Refusal {
	text := fmt.Sprintf("want %s, got %s", want, got)
	if field != "" {
		text = field + ": " + text
	}
	return &Refusal{Code: CodeInvalidPayload, Field: field, Text: text}
}

// RefusalOf returns the refusal in the chain of err, or nil without one.
func RefusalOf(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}
