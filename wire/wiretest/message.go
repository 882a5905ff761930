package wiretest

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

func timeOf(nano int64) time.Time { return time.Unix(0, nano) }

// Message returns an INFORM whose payload holds text.
func Message(t testing.TB, from, to performatives.AgentID, text string) *performatives.Message {
	t.Helper()
	return Of(t, performatives.Envelope{Sender: from, Receiver: to, Performative: performatives.ActInform, Payload: Raw(text)})
}

// Ask returns a REQUEST whose payload holds text.
func Ask(t testing.TB, from, to performatives.AgentID, text string) *performatives.Message {
	t.Helper()
	return Of(t, performatives.Envelope{Sender: from, Receiver: to, Performative: performatives.ActRequest, Payload: Raw(text)})
}

// Of returns a message of the envelope. It generates the id and the timestamp if they are
// missing.
func Of(t testing.TB, e performatives.Envelope) *performatives.Message {
	t.Helper()
	e.ID = cmp.Or(e.ID, performatives.NewID())
	if e.Timestamp.IsZero() {
		e.Timestamp = time.Now()
	}
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Raw returns a payload that holds text.
func Raw(text string) performatives.Raw {
	b, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		panic(err)
	}
	return b
}

// Text returns the text in a payload made by [Raw], or an empty string.
func Text(m *performatives.Message) string {
	var p struct{ Text string }
	b, err := json.Marshal(m.Payload())
	if err != nil || json.Unmarshal(b, &p) != nil {
		return ""
	}
	return p.Text
}

// Long returns a text of n bytes.
func Long(n int) string { return strings.Repeat("x", n) }

// Many returns n, or n/10 under the race detector. It is for test sizes that do not affect
// correctness.
func Many(n int) int { return n / slowness }
