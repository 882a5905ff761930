package machine

import (
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Utterance is one message of a live trace, reduced to the properties that a
// [Monitor] needs. Utterances compare with ==.
type Utterance struct {
	From  Role
	Act   performatives.Performative
	Tag   string // as for [ReceiveTagged]; empty where the content does not matter
	Again bool   // the trace has an earlier message with the same id
}

// String returns words such as "responder: INFORM_RESULT (input)".
func (u Utterance) String() string {
	text := u.From.String() + ": " + u.Act.String()
	if u.Tag != "" {
		text += " (" + u.Tag + ")"
	}
	if u.Again {
		text += " again"
	}
	return text
}

// ViolationError is returned by [Monitor.Observe] for a message that its sender
// cannot have sent while it keeps to the table.
type ViolationError struct {
	Table    string
	Got      Utterance
	Expected []Utterance // the messages that the sender could have sent instead, sorted
}

// Error names the message and the expected ones.
func (e *ViolationError) Error() string {
	words := make([]string, len(e.Expected))
	for i, u := range e.Expected {
		words[i] = strings.TrimPrefix(u.String(), u.From.String()+": ")
	}
	expected := "nothing"
	if len(words) > 0 {
		expected = strings.Join(words, ", ")
	}
	return fmt.Sprintf("machine: %s: %s is not legal here, expected %s", e.Table, e.Got, expected)
}
