package codons

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TestRefusedBy checks which refusal of a copy says that no copy of the message has arrived.
func TestRefusedBy(t *testing.T) {
	for name, c := range map[string]struct {
		payload any
		sent    sentMessage
		code    performatives.Code
		want    bool
	}{
		"the only copy":                {performatives.TaskRequest{TaskType: "x"}, sentMessage{copies: 1}, performatives.CodeBusy, true},
		"one of two copies":            {performatives.TaskRequest{TaskType: "x"}, sentMessage{copies: 2}, performatives.CodeBusy, false},
		"the last of two copies":       {performatives.TaskRequest{TaskType: "x"}, sentMessage{copies: 2, refused: 1}, performatives.CodeBusy, true},
		"after a message of the peer":  {performatives.TaskRequest{TaskType: "x"}, sentMessage{copies: 1, heard: true}, performatives.CodeBusy, false},
		"more copies than are counted": {performatives.TaskRequest{TaskType: "x"}, sentMessage{copies: maxCopies, refused: maxCopies}, performatives.CodeBusy, false},
		"a CANCEL at a full mailbox":   {performatives.Cancel{}, sentMessage{copies: 1}, performatives.CodeBusy, false},
		"a CANCEL of an unknown agent": {performatives.Cancel{}, sentMessage{copies: 1}, performatives.CodeUnknownAgent, true},
	} {
		m, err := performatives.New(performatives.Envelope{ID: "m", Timestamp: time.Unix(1, 0), Sender: "a", Receiver: "b", Payload: c.payload})
		if err != nil {
			t.Fatal(err)
		}
		c.sent.Message = m
		if got := c.sent.refusedBy(c.code) == machine.Undelivered(m.Performative()); got != c.want {
			t.Errorf("%s: no copy has arrived: %t, want %t", name, got, c.want)
		}
	}
}
