package performatives_test

import (
	"strings"
	"testing"
	"time"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// lookalikes are ids that no message, agent, token or rule may have, by what is wrong with each.
var lookalikes = map[p.AgentID]string{
	"Ju\u0308rgen":                 "the id is not in Unicode's normal form C", // Jürgen in normal form D
	"Jules\u200b":                  "has U+200B, which is not displayed",
	"Ju\u200dles":                  "has U+200D, which is not displayed",
	"\ufeffJules":                  "has U+FEFF, which is not displayed",
	"Jules\u202eseluJ":             "has U+202E, which is not displayed",
	"Jules\u2069":                  "has U+2069, which is not displayed",
	"Jules\u00ad":                  "has U+00AD, which is not displayed",
	"Jules\u034f":                  "has U+034F, which is not displayed",
	"Jules\ufe0f":                  "has U+FE0F, which is not displayed",
	"Jules\u3164":                  "has U+3164, which is not displayed",
	"Jules\u2028":                  "has U+2028, which is not displayed",
	"Jules\u0085":                  "has the control character U+0085",
	"Jules\n":                      "has the control character U+000A",
	"Jules\x7f":                    "has the control character U+007F",
	"Jules\xff":                    "the id is not UTF-8",
	p.AgentID(long(p.MaxIDLength)): "has 257 bytes, the limit is 256",
}

func long(n int) string { return strings.Repeat("a", n+1) }

// TestCheckID refuses ids that look like another one, by name, and takes those of any script.
func TestCheckID(t *testing.T) {
	for id, fault := range lookalikes {
		for field, check := range map[string]func(p.AgentID) error{"id": p.CheckID, "sender": sentBy, "receiver": sentTo} {
			r := p.RefusalOf(check(id))
			if r == nil || r.Code != p.CodeInvalidID || r.Field != field || !strings.Contains(r.Text, fault) {
				t.Errorf("%s %q: got %v, want %s", field, id, r, fault)
			}
		}
	}
	if r := p.RefusalOf(p.CheckID("")); r == nil || r.Text != "id: the id is empty" {
		t.Errorf("an empty id: %v", r)
	}
	for _, id := range []p.AgentID{"Jules", "billing/eu:1@n2", "J\u00fcrgen", "жюль", "ジュール", "🧬/ 1", "نور", p.AgentID(long(p.MaxIDLength - 1))} {
		for _, check := range []func(p.AgentID) error{p.CheckID, sentBy, sentTo} {
			if err := check(id); err != nil {
				t.Errorf("%q: %v", id, err)
			}
		}
	}
}

// sentBy and sentTo return the error of a message from an agent or to one.
func sentBy(id p.AgentID) error { return messageOf(id, "b") }
func sentTo(id p.AgentID) error { return messageOf("a", id) }

func messageOf(from, to p.AgentID) error {
	_, err := p.New(p.Envelope{
		ID: "m", ConversationID: "m", Performative: p.ActRequest, Sender: from, Receiver: to, Timestamp: time.Now(),
	})
	return err
}

// TestCheckIDAllocNothing checks ids of several scripts on the way of each message.
func TestCheckIDAllocNothing(t *testing.T) {
	for _, id := range []p.AgentID{"Jules", "J\u00fcrgen", "ジュール"} {
		if n := testing.AllocsPerRun(100, func() { _ = p.CheckID(id) }); n > 0 {
			t.Errorf("%q: %v allocations", id, n)
		}
	}
}
