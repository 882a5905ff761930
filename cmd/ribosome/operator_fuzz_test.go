package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// FuzzOperatorTexts: whatever names, texts and payloads a node has, what the commands for operators
// print has no control character and no character that changes the direction of writing, and each
// row of a table, each conversation of a tree and each message is one line.
func FuzzOperatorTexts(f *testing.F) {
	f.Add("Jules", "c-1", "a text", []byte(`{"a":1}`))
	f.Add("\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "a\r\nb\x1b[2J\x9b1A", []byte(`"\u001b]8;;http://x\u0007"`))
	f.Add("a\u202eb\u2066c", "\u2028\u2029", "<img src=x onerror=alert(1)>", []byte("\"\u009b31m \u202e\""))
	f.Add("", "\n", strings.Repeat("x", 1000), []byte("{"))
	f.Add("\t\v\f\u0085", "│ └─ ", "\xff\xfe\x80", []byte("[\n\n]"))
	f.Fuzz(func(t *testing.T, name, id, text string, payload []byte) {
		now := time.Now()
		m := observe.Message{Time: now, Performative: text, MessageType: name, Sender: performatives.AgentID(name), Receiver: performatives.AgentID(text), Sent: 2, Refused: performatives.Code(text), Payload: payload}
		left := m
		left.LeftOut = text
		c := api.ConversationView{Conversation: observe.Conversation{
			ID: performatives.ConversationID(id), Protocol: text, Began: now, Updated: now, Messages: []observe.Message{m, left}, Forgotten: 1,
			Sides: []observe.Side{{Agent: performatives.AgentID(name), Peer: performatives.AgentID(text), Role: "initiator", State: text}},
		}}
		c.Next = append(c.Next, api.NextView{Agent: performatives.AgentID(name), Moves: []string{text, id}})
		agent := api.AgentView{BusySince: now, BusyWith: text, ID: performatives.AgentID(name), Node: text, Queued: map[string]int{"high": 1}}
		step := api.StepView{ID: 1, Node: text, From: performatives.AgentID(name), Since: now, Step: payload}
		event := live{Kind: text, Time: now, Conversation: id, Agent: name, Role: text, From: text, To: name}
		of := live{Kind: text, Time: now, Conversation: id, Code: performatives.Code(text), Message: &m}
		for what, shown := range map[string]struct {
			text  string
			lines int
		}{
			"the list of conversations": {table(conversationRows([]observe.Conversation{c.Conversation, c.Conversation})), 3},
			"the tree":                  {treeOf([]traced{{c, 0, true}, {c, 1, false}, {c, 1, true}}, c.ID), 3},
			"the sequence":              {sequence(&c), 5},
			"top":                       {table(topRows([]api.AgentView{agent, {ID: agent.ID, Node: text}})), 3},
			"the approvals":             {table(approvalRows([]api.StepView{step})), 2},
			"a step of tail":            {oneLine(event.line()) + "\n", 1},
			"a message of tail":         {oneLine(of.line()) + "\n", 1},
		} {
			if got := strings.Count(shown.text, "\n"); got != shown.lines || !strings.HasSuffix(shown.text, "\n") {
				t.Errorf("%s has %d lines: %q", what, got, shown.text)
			}
			if i := strings.IndexFunc(shown.text, func(r rune) bool {
				return unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r)
			}); i >= 0 {
				t.Errorf("%s has %q: %q", what, shown.text[i:min(i+8, len(shown.text))], shown.text)
			}
		}
		if json.Valid(payload) {
			if text := string(plainJSON(payload)); !json.Valid([]byte(text)) {
				t.Errorf("%q has become %q", payload, text)
			}
		}
	})
}
