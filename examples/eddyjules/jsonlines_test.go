package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
)

// line is one line of the output; the last has an outcome.
type line struct {
	Agent     performatives.AgentID
	Direction string
	Message   json.RawMessage
	Outcome   *string
	Result    *performatives.InformResult
	Error     string
}

// read decodes all lines, and checks that each has the right agent and direction.
func read(t *testing.T, stdout string) (lines []line, messages []*performatives.Message) {
	t.Helper()
	codec, err := acl.New(acl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(stdout) {
		var l line
		d := json.NewDecoder(strings.NewReader(text))
		if err := d.Decode(&l); err != nil || d.More() {
			t.Fatalf("not one JSON object: %v: %s", err, text)
		}
		lines = append(lines, l)
		if l.Outcome != nil {
			break
		}
		m, err := codec.Decode(l.Message)
		if err != nil {
			t.Fatalf("not a message of acl: %v: %s", err, text)
		}
		messages = append(messages, m)
		who := map[string]performatives.AgentID{"sent": m.Sender(), "received": m.Receiver()}[l.Direction]
		if who == "" || who != l.Agent {
			t.Errorf("%s %s what %s sent to %s", l.Agent, l.Direction, m.Sender(), m.Receiver())
		}
	}
	if len(lines) != strings.Count(stdout, "\n") || len(lines) != len(messages)+1 {
		t.Fatalf("%d of %d lines, %d of them messages", len(lines), strings.Count(stdout, "\n"), len(messages))
	}
	return lines, messages
}

func TestJSON(t *testing.T) {
	files(t)
	for name, tt := range map[string]struct {
		args    []string
		outcome string
		code    int
	}{
		"success":         {nil, "success", 0},
		"chaos":           {[]string{"--chaos"}, "success", 0},
		"partial success": {[]string{"--code", "other.py"}, "partial_success", 0},
		"failure":         {[]string{"--code", "broken.py", "--traceback", "broken.txt"}, "failure", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := runs(t, append(tt.args, "--json")...)
			lines, messages := read(t, r.stdout)
			last := lines[len(lines)-1]
			if r.code != tt.code || *last.Outcome != tt.outcome || last.Result == nil || string(last.Result.Status) != tt.outcome || last.Error != "" {
				t.Errorf("exit code %d with %+v", r.code, last)
			}
			causal(t, lines, messages)
		})
	}
}

// causal checks that each message was sent once and then received once, and that each
// agent had received the message that it replies to.
func causal(t *testing.T, lines []line, messages []*performatives.Message) {
	t.Helper()
	said := map[performatives.MessageID][]string{}
	received := map[performatives.AgentID][]string{}
	for i, m := range messages {
		said[m.ID()] = append(said[m.ID()], lines[i].Direction)
		switch {
		case lines[i].Direction == "received":
			received[m.Receiver()] = append(received[m.Receiver()], string(m.ID()), m.ReplyWith())
		case m.Performative().IsReply() && !slices.Contains(received[m.Sender()], m.InReplyTo()):
			t.Errorf("%s answers with %s what it has not received", m.Sender(), m.Performative())
		}
	}
	for i, m := range messages {
		if got := said[m.ID()]; !slices.Equal(got, []string{"sent", "received"}) {
			t.Errorf("line %d: %s from %s to %s was %v", i, m.Performative(), m.Sender(), m.Receiver(), got)
		}
	}
}

func TestJSONWithoutResult(t *testing.T) {
	r := runs(t, "--json", "--deadline", "1ns")
	if r.code != program.ExitFailed {
		t.Errorf("exit code %d", r.code)
	}
	read(t, r.stdout)
	const want = `{"outcome":"timed_out","result":null,"error":"the deadline passed before there was a result; try again with a longer --deadline"}` + "\n"
	if !strings.HasSuffix(r.stdout, want) {
		t.Errorf("got:\n%s", r.stdout)
	}
}

// With --messages, each line is a log line of acl §7.2 that its reader understands.
func TestMessages(t *testing.T) {
	codec, err := acl.New(acl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := runs(t, "--messages")
	if r.code != 0 {
		t.Fatalf("got %+v", r)
	}
	acts := map[performatives.Performative]int{}
	for entry, err := range codec.ReadLog(strings.NewReader(r.stdout)) {
		if err != nil {
			t.Error(err)
			continue
		}
		acts[entry.Message.Performative()]++
	}
	n := 0
	for line := range strings.Lines(r.stdout) {
		if n++; !strings.HasPrefix(line, "MCP_MESSAGE_SENT: {") && !strings.HasPrefix(line, "MCP_MESSAGE_RECEIVED: {") {
			t.Errorf("another line: %s", line)
		}
	}
	total := 0
	for _, k := range acts {
		total += k
	}
	if total != n || acts[performatives.ActTaskRequest] != 4 || acts[performatives.ActInformResult] != 4 {
		t.Errorf("%d lines, %v", n, acts)
	}
	if r := runs(t, "--messages", "--json"); r.code != 2 {
		t.Errorf("two forms: %+v", r)
	}
}
