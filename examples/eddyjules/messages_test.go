package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
)

// The lines of a run are in causal order, and each message is sent once and received once. With
// --messages, each line is a log line of acl §7.2 that acl reads.
func TestMessages(t *testing.T) {
	codec := acl.New(wire.CodecOptions{})
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
			lines := readLog(t, codec, r.stdout)
			if r.code != tt.code || len(lines) != strings.Count(r.stdout, "\n") {
				t.Errorf("exit code %d, %d messages in:\n%s", r.code, len(lines), r.stdout)
			}
			acts := map[performatives.Performative]int{}
			for _, l := range lines {
				acts[l.message.Performative()]++
			}
			if acts[performatives.ActTaskRequest] != tt.tasks || acts[performatives.ActInformResult] != 4 {
				t.Errorf("got %v", acts)
			}
			causal(t, lines)
		})
	}
}

// logEntry is one line of a log of messages.
type logEntry struct {
	direction acl.Direction
	message   *performatives.Message
}

// readLog reads the log lines in a text, and skips other lines.
func readLog(t *testing.T, codec *acl.Codec, text string) (entries []logEntry) {
	t.Helper()
	for line := range strings.Lines(text) {
		prefix, message, _ := strings.Cut(line, ": ")
		direction, ok := map[string]acl.Direction{"MCP_MESSAGE_SENT": acl.Sent, "MCP_MESSAGE_RECEIVED": acl.Received}[prefix]
		if !ok {
			continue
		}
		m, err := codec.Decode([]byte(message))
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, logEntry{direction, m})
	}
	return entries
}

// causal checks that each message was sent once and then received once, and that each
// agent had received the message that it replies to.
func causal(t *testing.T, lines []logEntry) {
	t.Helper()
	said := map[performatives.MessageID][]acl.Direction{}
	received := map[performatives.AgentID][]string{}
	for _, l := range lines {
		m := l.message
		said[m.ID()] = append(said[m.ID()], l.direction)
		switch {
		case l.direction == acl.Received:
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
