package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
)

// The lines of a run are in causal order, and each message is sent once and received once. With
// --messages, each line is a log line of acl §7.2 that its reader understands.
func TestMessages(t *testing.T) {
	codec, err := acl.New(acl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files(t)
	for name, tt := range map[string]struct {
		args  []string
		code  int
		tasks int
	}{
		"success":         {nil, 0, 4},
		"chaos":           {[]string{"--chaos"}, 0, 6},
		"partial success": {[]string{"--code", "other.py"}, 0, 4},
		"failure":         {[]string{"--code", "broken.py", "--traceback", "broken.txt"}, 1, 4},
	} {
		t.Run(name, func(t *testing.T) {
			r := runs(t, append(tt.args, "--messages")...)
			var lines []acl.LogEntry
			for entry, err := range codec.ReadLog(strings.NewReader(r.stdout)) {
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, entry)
			}
			if r.code != tt.code || len(lines) != strings.Count(r.stdout, "\n") {
				t.Errorf("exit code %d, %d messages in:\n%s", r.code, len(lines), r.stdout)
			}
			acts := map[performatives.Performative]int{}
			for _, l := range lines {
				acts[l.Message.Performative()]++
			}
			if acts[performatives.ActTaskRequest] != tt.tasks || acts[performatives.ActInformResult] != 4 {
				t.Errorf("got %v", acts)
			}
			causal(t, lines)
		})
	}
}

// causal checks that each message was sent once and then received once, and that each
// agent had received the message that it replies to.
func causal(t *testing.T, lines []acl.LogEntry) {
	t.Helper()
	said := map[performatives.MessageID][]acl.Direction{}
	received := map[performatives.AgentID][]string{}
	for _, l := range lines {
		m := l.Message
		said[m.ID()] = append(said[m.ID()], l.Direction)
		switch {
		case l.Direction == acl.Received:
			received[m.Receiver()] = append(received[m.Receiver()], string(m.ID()), m.ReplyWith())
		case m.Performative().IsReply() && !slices.Contains(received[m.Sender()], m.InReplyTo()):
			t.Errorf("%s answers with %s what it has not received", m.Sender(), m.Performative())
		}
	}
	for id, got := range said {
		if !slices.Equal(got, []acl.Direction{acl.Sent, acl.Received}) {
			t.Errorf("message %s was %v", id, got)
		}
	}
}
