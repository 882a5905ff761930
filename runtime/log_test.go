package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/watch"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
)

// buffer is a concurrency-safe buffer.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// lines returns the logged lines, which must be JSON.
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

// logged runs a request, a refusal, a dead letter and a panic on a node, and returns its
// log.
func logged(t *testing.T, level slog.Level, messages bool) []map[string]any {
	t.Helper()
	var out buffer
	runLogged(t, runtime.Options{Logger: runtime.NewLogger(&out, level), LogMessages: messages})
	return out.lines(t)
}

// runLogged runs a request, a refusal, a dead letter and a panic on a node n1.
func runLogged(t *testing.T, o runtime.Options) {
	t.Helper()
	o.Name, o.Supervision = "n1", quickRestarts()
	n, err := runtime.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Spawn(patience.Context(t), "a", always(scripted{receive: echo})); err != nil {
		t.Fatal(err)
	}
	ask(t, n, "a")
	if err := n.Spawn(patience.Context(t), "b", always(scripted{receive: func(*actors.Context, *performatives.Message) { panic("oh") }})); err != nil {
		t.Fatal(err)
	}
	_ = refusalOf(patience.Context(t), n, message(t, "n1", "b", performatives.ActRequest))
	_ = n.Send(message(t, "n1", "nobody", performatives.ActInform))
	if err := n.Stop(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
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

// Each log of a node contains exactly the messages sent and received, and acl reads them.
func TestLoggedMessagesRoundTrip(t *testing.T) {
	text := func(w io.Writer) *slog.Logger { return runtime.NewTextLogger(w, slog.LevelInfo) }
	for name, options := range map[string]func(out *buffer) runtime.Options{
		"JSON": func(out *buffer) runtime.Options {
			return runtime.Options{Logger: runtime.NewLogger(out, slog.LevelInfo), LogMessages: true}
		},
		"text":        func(out *buffer) runtime.Options { return runtime.Options{Logger: text(out), LogMessages: true} },
		"lines":       func(out *buffer) runtime.Options { return runtime.Options{MessageLog: out} },
		"lines, text": func(out *buffer) runtime.Options { return runtime.Options{Logger: text(out), MessageLog: out} },
	} {
		t.Run(name, func(t *testing.T) {
			codec := acl.New(wire.CodecOptions{})
			var out buffer
			runLogged(t, options(&out))
			count := make(map[string]int)
			for line := range strings.Lines(out.text()) {
				var record struct{ Msg string }
				if json.Unmarshal([]byte(line), &record) == nil {
					line = record.Msg
				}
				at := strings.Index(line, "MCP_MESSAGE_")
				if at < 0 {
					continue
				}
				prefix, rest, _ := strings.Cut(line[at:], ": ")
				var message json.RawMessage // without the attributes of a logger
				if err := json.NewDecoder(strings.NewReader(rest)).Decode(&message); err != nil {
					t.Fatal(err)
				}
				m, err := codec.Decode(message)
				if err != nil {
					t.Error(err)
					continue
				}
				if raw, ok := m.Payload().(performatives.Raw); m.Receiver() == "a" && (!ok || string(raw) != `{"n":1}`) {
					t.Errorf("payload %v", m.Payload())
				}
				count[prefix+" "+m.Performative().String()]++
			}
			if count["MCP_MESSAGE_SENT REQUEST"] != 2 || count["MCP_MESSAGE_RECEIVED REQUEST"] != 2 || count["MCP_MESSAGE_RECEIVED INFORM"] != 1 {
				t.Errorf("got %v of\n%s", count, out.text())
			}
			for line := range strings.Lines(out.text()) {
				if name == "lines" && !strings.HasPrefix(line, "MCP_MESSAGE_SENT: {") && !strings.HasPrefix(line, "MCP_MESSAGE_RECEIVED: {") {
					t.Errorf("another line: %s", line)
				}
			}
		})
	}
}

// Messages are logged as the mask leaves them, in both logs. One that it cannot mask is in neither.
func TestMaskedMessages(t *testing.T) {
	var out, lines buffer
	runLogged(t, runtime.Options{Logger: runtime.NewLogger(&out, slog.LevelInfo), LogMessages: true, MessageLog: &lines, MaskMessages: func(message []byte) (json.RawMessage, error) {
		if !bytes.Contains(message, []byte(`"n":1`)) {
			return nil, errors.New("no number")
		}
		return bytes.ReplaceAll(message, []byte(`"n":1`), []byte(`"n":"***"`)), nil
	}})
	logged, unmasked := 0, 0
	for _, line := range out.lines(t) {
		what := line["msg"].(string)
		if strings.HasPrefix(what, "MCP_MESSAGE_SENT: {") && strings.Contains(what, `"n":"***"`) {
			logged++
		}
		if what == "message not logged" && line["err"] == "no number" && line["performative"] != "" {
			unmasked++
		}
	}
	if logged == 0 || unmasked == 0 || strings.Contains(lines.text()+out.text(), `"n":1`) {
		t.Errorf("%d are masked, and %d cannot be:\n%s", logged, unmasked, out.text())
	}
	for line := range strings.Lines(lines.text()) {
		if !strings.HasPrefix(line, "MCP_MESSAGE_") || !strings.Contains(line, `"n":"***"`) {
			t.Errorf("another line: %s", line)
		}
	}
}

// At debug, the log has the states of each conversation.
func TestTransitionsAreLogged(t *testing.T) {
	var out buffer
	n := newNode(t, runtime.Options{Name: "n1", Logger: runtime.NewLogger(&out, slog.LevelDebug)})
	if err := n.Spawn(t.Context(), "Rev", func() actors.Agent { return colleague{} }); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Delegate(patience.Context(t), "Rev", performatives.TaskRequest{TaskType: "review"}); err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	var first []string
	for _, line := range out.lines(t) {
		if line["msg"] == "conversation" && line["from"] == "idle" {
			first = append(first, fmt.Sprint(line["protocol"], " ", line["role"], " of ", line["agent"], " with ", line["peer"], " on ", line["on"]))
		}
	}
	slices.Sort(first)
	if want := []string{"task-delegation initiator of n1 with Rev on command start", "task-delegation responder of Rev with n1 on receive TASK_REQUEST"}; !slices.Equal(first, want) {
		t.Errorf("got %q", first)
	}
}

// full is a disk without space, except for its second line.
type full struct{ writes int }

func (f *full) Write(line []byte) (int, error) {
	if f.writes++; f.writes == 2 {
		return len(line), nil
	}
	return 0, errors.New("no space left")
}

// A log of messages that cannot be written is tried again with each message, and the log says so
// once for each row of errors.
func TestMessageLogThatFails(t *testing.T) {
	var out buffer
	var disk full
	runLogged(t, runtime.Options{Logger: runtime.NewLogger(&out, slog.LevelInfo), MessageLog: &disk})
	if got := strings.Count(out.text(), "messages are missing from the log of messages"); got != 2 || disk.writes < 4 || !strings.Contains(out.text(), "no space left") {
		t.Errorf("%d lines and %d writes:\n%s", got, disk.writes, out.text())
	}
}

// A line about a message has its message type.
func TestLogShowsMessageTypes(t *testing.T) {
	var out buffer
	n := newNode(t, runtime.Options{Name: "n1", Logger: runtime.NewLogger(&out, slog.LevelInfo), LogMessages: true})
	typed := func(e *performatives.Envelope) { e.MessageType = "REVIEW_REQUEST" }
	_ = n.Send(message(t, "n1", "nobody", performatives.ActRequest, typed))
	_ = n.Send(message(t, "n1", "nobody", performatives.ActInform, typed))
	if err := n.Stop(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, line := range out.lines(t) {
		what := line["msg"].(string)
		if direction, text, ok := strings.Cut(what, ": "); ok && strings.Contains(text, `"message_type":"REVIEW_REQUEST"`) {
			seen[direction]++
		}
		if line["message_type"] == "REVIEW_REQUEST" {
			seen[what]++
		}
	}
	if seen["MCP_MESSAGE_SENT"] != 2 || seen["message refused"] != 1 || seen["dead letter"] != 1 {
		t.Errorf("got %v", seen)
	}
}

// stuck is a writer that takes nothing until it is released.
type stuck struct {
	buffer
	release chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.release
	return s.buffer.Write(p)
}

// inLoggedNode runs test with a node whose log is stuck, in virtual time.
func inLoggedNode(t *testing.T, test func(t *testing.T, n *runtime.Node, out *stuck)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		out := &stuck{release: make(chan struct{})}
		n, err := runtime.New(runtime.Options{Logger: runtime.NewLogger(out, slog.LevelInfo)})
		if err != nil {
			t.Fatal(err)
		}
		test(t, n, out)
		time.Sleep(time.Second) // the engine has a goroutine that waits for a timer
	})
}

// A log that is stuck delays no agent. It loses what its queue has no room for, and says how
// much.
func TestSlowLog(t *testing.T) {
	inLoggedNode(t, func(t *testing.T, n *runtime.Node, out *stuck) {
		if err := n.Spawn(patience.Context(t), "a", always(scripted{receive: echo})); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		ask(t, n, "a")
		at := events.At{Time: start}
		for range 20_000 {
			n.Events().Publish(events.AgentStarted{At: at, Agent: "many"})
		}
		if waited := time.Since(start); waited > 0 {
			t.Errorf("the agent waited %v for the log", waited)
		}
		time.Sleep(time.Minute)
		close(out.release)
		synctest.Wait()
		if err := n.Stop(patience.Context(t)); err != nil {
			t.Fatal(err)
		}
		written, lost := 0, 0.0
		for _, line := range out.lines(t) {
			switch {
			case line["msg"] == "events not logged":
				lost += line["count"].(float64)
			case line["agent"] == "many":
				written++
				if logged, err := time.Parse(time.RFC3339Nano, line["time"].(string)); err != nil || !logged.Equal(start) {
					t.Fatalf("the time of the event is %v: %v", start, line)
				}
			}
		}
		if lost < 1000 || written+int(lost) != 20_000 {
			t.Errorf("%d events were written and %.0f lost", written, lost)
		}
	})
}

// Stop waits two seconds for a log that is stuck.
func TestStopWithAStuckLog(t *testing.T) {
	inLoggedNode(t, func(t *testing.T, n *runtime.Node, out *stuck) {
		start := time.Now()
		err := n.Stop(patience.Context(t))
		if waited := time.Since(start); err == nil || !strings.Contains(err.Error(), "events not logged within 2s") || waited != 2*time.Second {
			t.Errorf("Stop returns %v after %v", err, waited)
		}
		close(out.release)
		synctest.Wait()
		if err := n.Stop(patience.Context(t)); err != nil {
			t.Error(err)
		}
	})
}

func TestLogLevel(t *testing.T) {
	panics := 0
	for _, line := range logged(t, slog.LevelWarn, true) {
		stack, _ := line["stack"].(string)
		switch line["level"] {
		case "WARN":
		case "ERROR": // the panic of an agent, with its stack
			panics++
			if line["msg"] != "supervised" || !strings.Contains(stack, "runtime_test") {
				t.Errorf("got %v", line)
			}
		default:
			t.Errorf("got %v", line)
		}
	}
	if panics != 1 {
		t.Errorf("%d panics are logged, want 1", panics)
	}
}

// NewLogger writes coloured text to a terminal, and JSON otherwise.
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
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0) // a terminal
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = screen.Close() }()
	t.Setenv("TERM", "xterm")
	for name, tt := range map[string]struct {
		logger *slog.Logger
		json   bool
	}{
		"buffer": {runtime.NewLogger(new(bytes.Buffer), nil), true},
		"file":   {runtime.NewLogger(file, nil), true},
		"device": {runtime.NewLogger(device, nil), true},
		"screen": {runtime.NewLogger(screen, nil), false},
	} {
		if _, isJSON := tt.logger.Handler().(interface{ Unwrap() slog.Handler }).Unwrap().(*slog.JSONHandler); isJSON != tt.json {
			t.Errorf("%s: got %T", name, tt.logger.Handler())
		}
	}
	t.Setenv("TERM", "dumb")
	if _, isJSON := runtime.NewLogger(screen, nil).Handler().(interface{ Unwrap() slog.Handler }).Unwrap().(*slog.JSONHandler); !isJSON {
		t.Error("a dumb terminal gets colours")
	}
}

// A text logger does not write JSON, and no colours unless the output is a terminal.
func TestTextLogger(t *testing.T) {
	var out bytes.Buffer
	log := runtime.NewTextLogger(&out, slog.LevelInfo)
	log.Debug("too little")
	log.Info("agent started", "agent", "Jules")
	if got := out.String(); !strings.HasSuffix(got, " INF agent started agent=Jules\n") || strings.ContainsAny(got, "\x1b{") || strings.Count(got, "\n") != 1 {
		t.Errorf("got %q", got)
	}
}

// failing is an agent whose work fails.
type failing struct {
	scripted
	fails func() error
}

func (failing) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (f failing) PerformTask(context.Context, delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{}, f.fails()
}

// A node without a Logger writes failures and panics of agents to the default logger, and no
// events. The default logger is that of the moment of its start.
func TestFailuresWithoutALogger(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	silent := slog.New(slog.DiscardHandler)
	for _, o := range []runtime.Options{{}, {Logger: silent}, {Watch: &watch.Options{}}} {
		var out buffer
		slog.SetDefault(runtime.NewLogger(&out, slog.LevelDebug))
		o.Name, o.Supervision = "n1", quickRestarts()
		n, err := runtime.New(o)
		if err != nil {
			t.Fatal(err)
		}
		slog.SetDefault(silent)
		actor := scripted{receive: func(*actors.Context, *performatives.Message) { panic("oh") }}
		for id, fails := range map[performatives.AgentID]func() error{
			"Panicky": func() error { panic("no map") },
			"Wrong":   func() error { return errors.New("the disk is full") },
			"Refuser": func() error { return &performatives.Refusal{Code: performatives.CodeIncapable} },
		} {
			if err := n.Spawn(patience.Context(t), id, func() actors.Agent { return &failing{fails: fails} }); err != nil {
				t.Fatal(err)
			}
			if _, err := n.Delegate(patience.Context(t), id, performatives.TaskRequest{TaskType: "x"}); err == nil {
				t.Errorf("%s works", id)
			}
		}
		if err := n.Spawn(patience.Context(t), "Fragile", always(actor)); err != nil {
			t.Fatal(err)
		}
		_ = refusalOf(patience.Context(t), n, message(t, "n1", "Fragile", performatives.ActRequest))
		if err := n.Stop(patience.Context(t)); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, line := range out.lines(t) {
			got[line["agent"].(string)] += fmt.Sprint(line["level"], " ", line["msg"], ": ", line["err"], " ", line["effect"], "\n")
			if stack, _ := line["stack"].(string); line["level"] == "ERROR" && !strings.Contains(stack, "log_test.go") || line["node"] != "n1" {
				t.Errorf("got %v", line)
			}
		}
		want := map[string]string{
			"Panicky": "ERROR handler panicked: actors: panic: no map <nil>\n",
			"Wrong":   "WARN handler failed: the disk is full <nil>\n",
			"Fragile": "ERROR supervised: actors: panic: oh the agent starts again with fresh state\n",
		}
		if o.Logger != nil {
			want = map[string]string{}
		}
		if !maps.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A handler of the default logger gets the attributes and groups of a logger of an agent.
func TestDefaultLoggerGetsGroups(t *testing.T) {
	var out buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(runtime.NewLogger(&out, slog.LevelWarn))
	n, err := runtime.New(runtime.Options{Name: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	log := n.Self().Logger().WithGroup("g").With("a", 1)
	log.Info("quiet")
	log.Warn("loud", "b", 2)
	if err := n.Stop(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	lines := out.lines(t)
	if len(lines) != 1 || lines[0]["node"] != "n1" || fmt.Sprint(lines[0]["g"]) != "map[a:1 b:2]" {
		t.Errorf("got %v", lines)
	}
}
