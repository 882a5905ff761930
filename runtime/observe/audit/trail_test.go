package audit_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe/audit"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

const canary = "canary-5b1f"

// worker answers each task with a result that contains the canary.
type worker struct{}

func (worker) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Work"}}
}

func (worker) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (worker) PerformTask(context.Context, delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: canary}, nil
}

func newNode(t *testing.T) *runtime.Node {
	t.Helper()
	n, err := runtime.New(runtime.Options{Name: "north"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return n
}

func open(t *testing.T, n *runtime.Node, o audit.Options) *audit.Trail {
	t.Helper()
	trail, err := audit.Open(n, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = trail.Close(context.WithoutCancel(t.Context())) })
	return trail
}

// lines returns the lines of a file, each as a JSON object.
func lines(t *testing.T, file string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatalf("%v in line %q", err, s.Text())
		}
		all = append(all, line)
	}
	return all
}

func TestTrail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	n := newNode(t)
	trail := open(t, n, audit.Options{FileOptions: audit.FileOptions{Path: file}})
	if err := n.Spawn(t.Context(), "w", func() actors.Agent { return worker{} }); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Delegate(t.Context(), "w", performatives.TaskRequest{TaskType: "work", Description: canary}); err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := trail.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, l := range lines(t, file) {
		what := fmt.Sprint(l["kind"])
		if m, ok := l["message"].(map[string]any); ok {
			what += fmt.Sprintf(" %v", m["performative"])
		}
		if l["kind"] == string(lifecycle.KindTransition) {
			what += fmt.Sprintf(" %v %v", l["role"], l["ended"])
		}
		got = append(got, what)
	}
	for _, want := range []string{
		"audit.opened", "agent.started", "message.sent TASK_REQUEST", "message.sent TASK_ACCEPT", "message.sent INFORM_RESULT",
		"conversation.transition initiator true", "conversation.transition responder true", "agent.stopped",
	} {
		if n := strings.Count("\n"+strings.Join(got, "\n")+"\n", "\n"+want+"\n"); n != 1 {
			t.Errorf("%d lines %q in %q, want 1", n, want, got)
		}
	}
	for _, l := range got {
		if strings.HasSuffix(l, " false") {
			t.Errorf("a step that ends nothing is in the trail: %s", l)
		}
	}
	text, _ := os.ReadFile(file)
	if bytes.Contains(text, []byte(canary)) {
		t.Errorf("the trail has the content of a message:\n%s", text)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want a file for its owner only", info.Mode(), err)
	}
}

func TestMessagesThatNeitherAskNorAnswer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	n := newNode(t)
	trail := open(t, n, audit.Options{FileOptions: audit.FileOptions{Path: file}, Kinds: []events.Kind{events.KindMessageSent}})
	for _, payload := range []any{
		performatives.Cancel{}, performatives.RejectProposal{}, // one asks, one answers
		performatives.StatusUpdate{Description: "half"},
	} {
		m, err := performatives.New(performatives.Envelope{
			ID: "m", Sender: "a", Receiver: "b", InReplyTo: "m0", Timestamp: time.Unix(1, 0), ConversationID: "c", Payload: payload,
		})
		if err != nil {
			t.Fatal(err)
		}
		n.Events().Publish(events.MessageSent{At: events.At{Time: time.Unix(1, 0)}, Message: m})
	}
	if err := trail.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := trail.Counts(); got != (audit.Counts{Written: 3}) {
		t.Errorf("%+v, want the opening, the CANCEL and the verdict in %v", got, lines(t, file))
	}
}

// blocked is an event whose JSON is made when release is closed.
type blocked struct {
	events.At
	begun   chan<- struct{}
	release <-chan struct{}
	err     error
}

func (blocked) Kind() events.Kind { return "test.blocked" }

func (b blocked) MarshalJSON() ([]byte, error) {
	if b.begun != nil {
		b.begun <- struct{}{}
		<-b.release
	}
	return []byte("{}"), b.err
}

func TestLostEventsAreInTheTrail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	n := newNode(t)
	trail := open(t, n, audit.Options{FileOptions: audit.FileOptions{Path: file}, Queue: 2, Kinds: []events.Kind{"test.blocked"}})
	begun, release := make(chan struct{}), make(chan struct{})
	n.Events().Publish(blocked{begun: begun, release: release})
	<-begun // it is out of the queue
	for range 7 {
		n.Events().Publish(blocked{})
	}
	close(release)
	if err := trail.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := trail.Counts(); got != (audit.Counts{Written: 5, Lost: 5}) {
		t.Errorf("%+v", got)
	}
	lost := 0.0
	for _, l := range lines(t, file) {
		if l["kind"] == "audit.lost" {
			lost += l["lost"].(float64)
		}
	}
	if lost != 5 {
		t.Errorf("the trail says that %v events are lost, want 5", lost)
	}
}

func TestLinesThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	n := newNode(t)
	var log bytes.Buffer
	trail := open(t, n, audit.Options{FileOptions: audit.FileOptions{Path: file, Logger: slog.New(slog.NewTextHandler(&log, nil))}, Kinds: []events.Kind{"test.blocked"}})
	bad := errors.New("no JSON for this one")
	for _, err := range []error{bad, bad, nil, bad} {
		n.Events().Publish(blocked{err: err})
	}
	if err := trail.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := trail.Counts(); got != (audit.Counts{Written: 4, Failed: 3}) {
		t.Errorf("%+v", got)
	}
	if got := strings.Count(log.String(), bad.Error()); got != 2 {
		t.Errorf("%d errors are logged, want the first of each row of them:\n%s", got, &log)
	}
}

func TestRotation(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "audit.jsonl")
	old := filepath.Join(dir, "audit-"+time.Now().Add(-50*time.Hour).UTC().Format("2006-01-02T15-04-05.000")+"-size.jsonl")
	kept := filepath.Join(dir, "audit-"+time.Now().Add(-30*time.Hour).UTC().Format("2006-01-02T15-04-05.000")+"-size.jsonl")
	for _, name := range []string{old, kept} {
		if err := os.WriteFile(name, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n := newNode(t)
	const number = 6000
	trail := open(t, n, audit.Options{FileOptions: audit.FileOptions{Path: file, Megabytes: 1, Keep: 25 * time.Hour}, Kinds: []events.Kind{events.KindAgentStopped}})
	long := performatives.AgentID(strings.Repeat("x", 200))
	for i := range number {
		n.Events().Publish(events.AgentStopped{At: events.At{Time: time.Unix(int64(i), 0)}, Agent: long})
	}
	if err := trail.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := trail.Counts(); got != (audit.Counts{Written: number + 1}) {
		t.Errorf("%+v", got)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want the file after a rotation for its owner only", info, err)
	}
	rotated, err := filepath.Glob(filepath.Join(dir, "audit-*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	all := len(lines(t, file))
	for _, name := range rotated {
		switch name {
		case old:
			t.Errorf("%s is kept, and is older than two days", name)
		case kept:
		default:
			all += len(lines(t, name))
		}
	}
	if all != number+1 || len(rotated) < 2 {
		t.Errorf("%d lines in %s and %v, want %d in at least one more file", all, file, rotated, number+1)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("%v: it is younger than two days", err)
	}
}

// The file of a node without events is rotated, too, and old files are deleted.
func TestRotationWithoutEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, "audit.jsonl")
		old := filepath.Join(dir, "audit-"+time.Now().Add(-time.Hour).UTC().Format("2006-01-02T15-04-05.000")+"-size.jsonl")
		if err := os.WriteFile(old, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		n := newNode(t)
		trail := open(t, n, audit.Options{FileOptions: audit.FileOptions{Path: file, Keep: 24 * time.Hour}, Kinds: []events.Kind{events.KindAgentStopped}})
		time.Sleep(23 * time.Hour)
		if _, err := os.Stat(old); err != nil {
			t.Errorf("after 23 hours: %v", err)
		}
		time.Sleep(27 * time.Hour) // two rotations
		if err := trail.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file that is two days older than it may be is there: %v", err)
		}
		if got := trail.Counts(); got != (audit.Counts{Written: 3}) {
			t.Errorf("%+v, want the beginning and two days", got)
		}
	})
}

func TestAFileIsContinued(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	n := newNode(t)
	for range 2 {
		if err := open(t, n, audit.Options{FileOptions: audit.FileOptions{Path: file}, Kinds: []events.Kind{runtime.KindMemberLost}}).Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	all := lines(t, file)
	if len(all) != 2 || all[0]["node"] != "north" || all[0]["kind"] != "audit.opened" {
		t.Errorf("%v, want two openings of north", all)
	}
}

func TestOpenFails(t *testing.T) {
	dir := t.TempDir()
	n := newNode(t)
	for want, o := range map[string]audit.Options{
		"Options.Path is empty":            {},
		"no such file or directory":        {FileOptions: audit.FileOptions{Path: filepath.Join(dir, "none", "audit.jsonl")}},
		"is a directory":                   {FileOptions: audit.FileOptions{Path: dir}},
		"Options.Keep must not be neg":     {FileOptions: audit.FileOptions{Path: filepath.Join(dir, "a"), Keep: -1}},
		"Options.Megabytes must not be":    {FileOptions: audit.FileOptions{Path: filepath.Join(dir, "a"), Megabytes: -1}},
		"Options.Queue must not be negati": {FileOptions: audit.FileOptions{Path: filepath.Join(dir, "a")}, Queue: -1},
		"no space left on device":          {FileOptions: audit.FileOptions{Path: "/dev/full"}},
	} {
		if strings.HasPrefix(o.Path, "/dev") {
			if _, err := os.Stat(o.Path); err != nil {
				continue // not on Linux
			}
		}
		if trail, err := audit.Open(n, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
			if err == nil {
				_ = trail.Close(t.Context())
			}
		}
	}
}
