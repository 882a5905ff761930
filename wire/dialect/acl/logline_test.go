package acl

import (
	"errors"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

func TestLogLineIsOneLine(t *testing.T) {
	c := newCodec(t, Options{})
	m := decode(t, strings.ReplaceAll(ideRequest, `{"code_snippet":"x=1"}`, "{\n\t\"code_snippet\": \"MCP_MESSAGE_SENT: \\n\"\r\n}"))
	line, err := c.AppendLogLine([]byte("10:30 INFO: "), Received, m)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(string(line), "\r\n") || !strings.HasPrefix(string(line), `10:30 INFO: MCP_MESSAGE_RECEIVED: {"performative":"REQUEST"`) {
		t.Errorf("line %q", line)
	}
	d, got, err := c.ParseLogLine(line)
	if err != nil || d != Received {
		t.Fatalf("direction %s, error %v", d, err)
	}
	text, _ := performatives.PayloadAs[performatives.TaskRequest](got)
	if want := performatives.RawContent([]byte(`{"code_snippet":"MCP_MESSAGE_SENT: \n"}`)); !text.Parameters.Equal(want) {
		t.Errorf("parameters %v", text.Parameters)
	}
}

// What the message says is not what the line is.
func TestParseLogLineReadsTheFirstMark(t *testing.T) {
	c := newCodec(t, Options{})
	m := decode(t, strings.Replace(ideRequest, "x=1", "MCP_MESSAGE_SENT: MCP_MESSAGE_RECEIVED: {}", 1))
	for _, d := range []Direction{Sent, Received} {
		line, err := c.AppendLogLine(nil, d, m)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := c.ParseLogLine(line); got != d || err != nil {
			t.Errorf("%s: got %s, error %v", d, got, err)
		}
	}
}

func TestReadLog(t *testing.T) {
	c := newCodec(t, Options{})
	log := "starting\nMCP_MESSAGE_SENT: " + ideRequest + "\nMCP_MESSAGE_SENT: {\n\n  MCP_MESSAGE_RECEIVED:" + ideRequest
	var got []string
	for entry, err := range c.ReadLog(strings.NewReader(log)) {
		if err != nil {
			var refusal *performatives.Refusal
			if !errors.As(err, &refusal) {
				t.Fatalf("got %v, want a refusal", err)
			}
			got = append(got, string(refusal.Code))
			continue
		}
		got = append(got, entry.Direction.String()+" "+string(entry.Message.Sender()))
	}
	want := "MCP_MESSAGE_SENT VSCode-User, parsing_error, MCP_MESSAGE_RECEIVED VSCode-User"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
}

func TestReadLogReportsALineThatIsTooLong(t *testing.T) {
	c := newCodec(t, Options{MaxBytes: 10})
	var errs int
	for _, err := range c.ReadLog(strings.NewReader(strings.Repeat("x", 10_000))) {
		if err != nil {
			errs++
		}
	}
	if errs != 1 {
		t.Errorf("%d errors", errs)
	}
}

// A line may be that of a logger: with a prefix, with attributes behind the message, or a JSON
// object.
func TestParseLogLine(t *testing.T) {
	c := newCodec(t, Options{})
	quoted := strings.ReplaceAll(ideRequest, `"`, `\"`)
	for line, want := range map[string]string{
		"MCP_MESSAGE_SENT: " + ideRequest:                                      "MCP_MESSAGE_SENT",
		"10:30 INFO MCP_MESSAGE_RECEIVED:   " + ideRequest + "  peer=7 ":       "MCP_MESSAGE_RECEIVED",
		` {"time":1,"msg":"MCP_MESSAGE_SENT: ` + quoted + `"} `:                "MCP_MESSAGE_SENT",
		`{"msg":"MCP_MESSAGE_RECEIVED: ` + quoted + ` MCP_MESSAGE_SENT: {}"} `: "MCP_MESSAGE_RECEIVED",
		`{"msg":"other"}`:                     ErrNoLogLine.Error(),
		`{"msg":7}`:                           ErrNoLogLine.Error(),
		`{"msg":`:                             ErrNoLogLine.Error(),
		"":                                    ErrNoLogLine.Error(),
		"MCP_MESSAGE":                         ErrNoLogLine.Error(),
		"MCP_MESSAGE_SENT: 7":                 "acl: message: want an object, got a number (invalid_payload_structure)",
		"MCP_MESSAGE_SENT:":                   "acl: at byte 0: want a value, got the end (parsing_error)",
		"MCP_MESSAGE_SENT: " + ideRequest[1:]: "acl: ",
	} {
		d, m, err := c.ParseLogLine([]byte(line))
		if err == nil && (d.String() != want || m.Sender() != "VSCode-User") || err != nil && (m != nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %s, %v, %v", line, d, m, err)
		}
	}
	if _, err := c.AppendLogLine(nil, Direction(2), decode(t, ideRequest)); err == nil || !strings.HasPrefix(err.Error(), "acl: log line: ") {
		t.Error(err)
	}
	broken := 0
	for _, err := range c.ReadLog(strings.NewReader("MCP_MESSAGE_SENT: 7\nMCP_MESSAGE_SENT: 7\n")) {
		if err != nil {
			broken++
		}
		break
	}
	if broken != 1 {
		t.Errorf("%d entries after the end", broken)
	}
}
