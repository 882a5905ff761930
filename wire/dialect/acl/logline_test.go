package acl

import (
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

func TestLogLineIsOneLine(t *testing.T) {
	c := newCodec(t, wire.CodecOptions{})
	m := decode(t, strings.ReplaceAll(ideRequest, `{"code_snippet":"x=1"}`, "{\n\t\"code_snippet\": \"MCP_MESSAGE_SENT: \\n\"\r\n}"))
	line, err := c.AppendLogLine([]byte("10:30 INFO: "), Received, m)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(string(line), "\r\n") || !strings.HasPrefix(string(line), `10:30 INFO: MCP_MESSAGE_RECEIVED: {"performative":"REQUEST"`) {
		t.Errorf("line %q", line)
	}
	_, message, _ := strings.Cut(string(line), "MCP_MESSAGE_RECEIVED: ")
	got := decode(t, message)
	text, _ := performatives.PayloadAs[performatives.TaskRequest](got)
	if want := performatives.RawContent([]byte(`{"code_snippet":"MCP_MESSAGE_SENT: \n"}`)); !text.Parameters.Equal(want) {
		t.Errorf("parameters %v", text.Parameters)
	}
}

// A direction that is none has no line.
func TestLogLineOfNoDirection(t *testing.T) {
	line, err := newCodec(t, wire.CodecOptions{}).AppendLogLine([]byte("x"), Direction(2), decode(t, ideRequest))
	if want := "acl: log line: Direction(2) is no direction"; err == nil || err.Error() != want || string(line) != "x" {
		t.Errorf("got %q, error %v, want %s", line, err, want)
	}
}
