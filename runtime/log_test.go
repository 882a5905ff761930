package runtime_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
)

// buffer may be written by many goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// lines returns what was logged; each line has to be JSON.
func (b *buffer) lines(t *testing.T) []map[string]any {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines []map[string]any
	for line := range bytes.Lines(b.b.Bytes()) {
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		lines = append(lines, fields)
	}
	return lines
}

// logged runs a request, a refusal, a dead letter and a panic on a node, and
// returns its log.
func logged(t *testing.T, level slog.Level, messages bool) []map[string]any {
	t.Helper()
	var out buffer
	n, err := runtime.New(runtime.Options{Name: "n1", Logger: runtime.NewLogger(&out, level), LogMessages: messages, Supervision: quick()})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Spawn(within(t), "a", always(scripted{receive: echo})); err != nil {
		t.Fatal(err)
	}
	ask(t, n, "a")
	if err := n.Spawn(within(t), "b", always(scripted{receive: func(*actors.Context, *performatives.Message) { panic("oh") }})); err != nil {
		t.Fatal(err)
	}
	_ = refusalOf(within(t), n, message(t, "n1", "b", performatives.ActRequest))
	_ = n.Send(message(t, "n1", "nobody", performatives.ActInform))
	if err := n.Stop(within(t)); err != nil {
		t.Fatal(err)
	}
	return out.lines(t)
}

func TestLogIsSilentAboutPayloads(t *testing.T) {
	said := make(map[string]int)
	for _, line := range logged(t, slog.LevelInfo, false) {
		said[line["msg"].(string)]++
		if line["node"] != "n1" {
			t.Errorf("no node: %v", line)
		}
		for key, value := range line {
			if text, ok := value.(string); ok && strings.Contains(text, `"n":1`) || key == "payload" {
				t.Errorf("a payload: %v", line)
			}
		}
	}
	for _, what := range []string{"agent started", "agent stopped", "message refused", "dead letter", "supervised"} {
		if said[what] == 0 {
			t.Errorf("nothing says %q: %v", what, said)
		}
	}
}

// The messages of the log are those that were sent and received.
func TestLoggedMessagesRoundTrip(t *testing.T) {
	codec, err := acl.New(acl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	count := make(map[string]int)
	for _, line := range logged(t, slog.LevelInfo, true) {
		direction, text, ok := strings.Cut(line["msg"].(string), ": ")
		if !ok || !strings.HasPrefix(direction, "MCP_MESSAGE_") {
			continue
		}
		m, err := codec.Decode([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if m.Receiver() == "a" && !strings.Contains(text, `{"n":1}`) {
			t.Errorf("no payload in %s", text)
		}
		count[direction+" "+m.Performative().String()]++
	}
	if count["MCP_MESSAGE_SENT REQUEST"] != 2 || count["MCP_MESSAGE_RECEIVED REQUEST"] != 2 || count["MCP_MESSAGE_RECEIVED INFORM"] != 1 {
		t.Errorf("got %v", count)
	}
}

func TestLogLevel(t *testing.T) {
	for _, line := range logged(t, slog.LevelWarn, true) {
		if line["level"] != "WARN" {
			t.Errorf("got %v", line)
		}
	}
}

// A terminal gets colours and no JSON, anything else JSON.
func TestNewLogger(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = device.Close() }()
	t.Setenv("TERM", "xterm")
	for name, tt := range map[string]struct {
		logger *slog.Logger
		json   bool
	}{
		"buffer": {runtime.NewLogger(new(bytes.Buffer), nil), true},
		"file":   {runtime.NewLogger(file, nil), true},
		"device": {runtime.NewLogger(device, nil), false},
	} {
		if _, isJSON := tt.logger.Handler().(*slog.JSONHandler); isJSON != tt.json {
			t.Errorf("%s: got %T", name, tt.logger.Handler())
		}
	}
	t.Setenv("TERM", "dumb")
	if _, isJSON := runtime.NewLogger(device, nil).Handler().(*slog.JSONHandler); !isJSON {
		t.Error("a dumb terminal gets colours")
	}
}

// A logger for people writes what is no JSON, and no colours where nobody sees them.
func TestTextLogger(t *testing.T) {
	var out bytes.Buffer
	log := runtime.NewTextLogger(&out, slog.LevelInfo)
	log.Debug("too little")
	log.Info("agent started", "agent", "Jules")
	if got := out.String(); !strings.HasSuffix(got, " INF agent started agent=Jules\n") || strings.ContainsAny(got, "\x1b{") || strings.Count(got, "\n") != 1 {
		t.Errorf("got %q", got)
	}
}
