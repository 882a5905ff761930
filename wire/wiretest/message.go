package wiretest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

func timeOf(nano int64) time.Time { return time.Unix(0, nano) }

// Message returns an INFORM from one agent to another, whose payload holds text.
func Message(t testing.TB, from, to performatives.AgentID, text string) *performatives.Message {
	t.Helper()
	return Of(t, performatives.Envelope{Sender: from, Receiver: to, Performative: performatives.ActInform, Payload: Raw(text)})
}

// Ask returns a REQUEST, which expects a reply.
func Ask(t testing.TB, from, to performatives.AgentID, text string) *performatives.Message {
	t.Helper()
	return Of(t, performatives.Envelope{Sender: from, Receiver: to, Performative: performatives.ActRequest, Payload: Raw(text)})
}

// Of returns a message of that envelope, with an id and a time where it has none.
func Of(t testing.TB, e performatives.Envelope) *performatives.Message {
	t.Helper()
	if e.ID == "" {
		e.ID = performatives.NewID()
	}
	if e.Timestamp.IsZero() {
		e.Timestamp = time.Now()
	}
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Raw is a payload that holds text.
func Raw(text string) performatives.Raw {
	b, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		panic(err)
	}
	return b
}

// Text returns the text of a payload that [Raw] made.
func Text(m *performatives.Message) string {
	var p struct{ Text string }
	b, err := json.Marshal(m.Payload())
	if err != nil || json.Unmarshal(b, &p) != nil {
		return ""
	}
	return p.Text
}

// Long is a text of n bytes.
func Long(n int) string { return strings.Repeat("x", n) }

// Many returns n, or a tenth of it under the race detector: how many of something a test
// has that shows how much is borne, and not whether.
func Many(n int) int { return n / slowness }
