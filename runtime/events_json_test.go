package runtime_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

var update = flag.Bool("update", false, "write the JSON of the events in testdata anew")

// sampleTime is the time of the samples; it is not UTC.
var sampleTime = events.At{Time: time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.FixedZone("", 3600))}

// sampleMessage has "secret" where an event must not show it.
func sampleMessage(t *testing.T, to performatives.AgentID) *performatives.Message {
	t.Helper()
	e := performatives.Envelope{
		ID: "m1", Timestamp: sampleTime.Time, Performative: performatives.ActRequest, Sender: "Eddy", Receiver: to,
		Payload:  performatives.Raw(`{"token":"secret"}`),
		Metadata: map[string]json.RawMessage{"authorization": []byte(`"secret"`)},
	}
	if to != "" {
		e.ConversationID, e.Protocol, e.InReplyTo, e.Priority = "c1", "request", "m0", performatives.High
		e.Trace = "00-00000000000000000000000000000001-0000000000000002-01"
		e.MessageType = "REVIEW_REQUEST"
	}
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// eventSamples are events of every type, with every member and with those that must be.
func eventSamples(t *testing.T) []events.Event {
	t.Helper()
	at, m := sampleTime, sampleMessage(t, "Jules")
	violation := &machine.ViolationError{
		Table: "request", Got: machine.Utterance{From: machine.Responder, Act: performatives.ActInform},
		Expected: []machine.Utterance{{From: machine.Responder, Act: performatives.ActAgree}, {From: machine.Responder, Act: performatives.ActRefuse}},
	}
	decision := events.Decision{
		Child: actor.NewPID("nonhost", "Jules$1"), Directive: actor.RestartDirective, Reason: errors.New("oh"), Stack: []byte("goroutine 1"),
		Restarts: 2, Delay: 1500 * time.Millisecond,
	}
	can := performatives.Capabilities{
		Topics: []string{"Debugging"}, Actions: []performatives.Action{{Name: "debug_code", Description: "secret"}},
		Extra: performatives.Members{"token": []byte(`"secret"`)},
	}
	subject := &lifecycle.Subject{Agent: "Jules", Peer: "Eddy", Conversation: "c1", Protocol: "request", Role: machine.Responder}
	child := &lifecycle.Subject{Agent: "Jules", Peer: "Eddy", Conversation: "c1", Protocol: "request", Role: machine.Responder, Parent: "c0"}
	span := lifecycle.Span{Trace: lifecycle.TraceID{15: 1}, ID: lifecycle.SpanID{7: 2}, Sampled: true}
	return []events.Event{
		events.MessageSent{At: at, Message: m},
		events.MessageSent{At: at, Message: sampleMessage(t, "")},
		events.MessageReceived{At: at, Agent: "Jules", Message: m},
		events.MessageRefused{At: at, Message: m, Refusal: &performatives.Refusal{Code: performatives.CodeBusy, Text: "secret", From: "Jules"}},
		events.DeadLetter{At: at, To: "Jules", Message: m, Code: performatives.CodeStopped},
		events.DeadLetter{At: at, To: "Jules$1", Message: 3, Code: performatives.CodeStopped},
		events.Supervised{At: at, Agent: "Jules", Decision: decision},
		events.AgentStarted{At: at, Agent: "Jules", Again: true, Roles: []string{"task-delegation"}},
		events.AgentAnnounced{At: at, Agent: "Jules", Capabilities: can},
		runtime.MiddlewareRefused{At: at, Middleware: "rates", Message: "m1", Sender: "Eddy", Origin: "session", Code: performatives.CodeRateLimited},
		runtime.MiddlewareRefused{At: at, Middleware: "rates", Message: "m1", Sender: "Eddy", Origin: "local", Code: performatives.CodeMiddleware, Fault: true},
		runtime.MemberJoined{At: at, Node: "n2", Epoch: 7},
		runtime.MemberLinked{At: at, Node: "n2", Epoch: 7, Differ: []string{"code-review"}},
		runtime.AgentActivated{At: at, Agent: "reviewer/1", Activation: 12},
		runtime.AgentMoving{At: at, Agent: "reviewer/1"},
		runtime.AgentMoved{At: at, Agent: "reviewer/1", Node: "n2", Waiting: 3},
		runtime.AgentPassivated{At: at, Agent: "reviewer/1"},
		runtime.NodeDraining{At: at, Principal: "ops/ana", Agent: "ops/ana/1"},
		runtime.KindHosts{At: at, Name: "reviewer", Nodes: []string{"n1", "n2"}},
		runtime.MemberLost{At: at, Node: "n2", Epoch: 7, Reason: "failed"},
		runtime.AgentContested{At: at, Agent: "Jules", Node: "n2"},
		observe.OperatorActed{At: at, Who: "ops", Host: "192.0.2.1", What: "cancel", Of: "c1", Reason: "wrong file", Outcome: "receipt"},
		observe.OperatorRefused{At: at, Who: "ann", Host: "192.0.2.1", Right: "act", Of: "POST /api/node/drain", Code: "forbidden", Count: 3},
		events.AgentAnnounced{At: at, Agent: "Jules"},
		events.AgentStopped{At: at, Agent: "Jules"},
		events.WorkAbandoned{At: at, Agent: "Jules", Conversation: "c1"},
		lifecycle.Transition{
			At: at, Subject: child, From: machine.Idle, To: "agreed", On: machine.Receive(performatives.ActRequest), Message: "m1",
		},
		lifecycle.Violation{At: at, Sender: "Jules", Receiver: "Eddy", Message: m, Conversation: "c1", ViolationError: violation},
		codons.Recorded{
			At: at, State: "done", Data: "secret", Sent: []*performatives.Message{m},
			Record: codons.Record{
				Protocol: "request", Role: machine.Responder, Agent: "Jules", Peer: "Eddy", ID: "c1", Events: []codons.Input{{Message: m}, {}},
			},
		},
		lifecycle.JobFailed{At: at, Agent: "Jules", Conversation: "c1", Protocol: "request", After: 250 * time.Millisecond, Err: errors.New("oh")},
		lifecycle.JobFailed{At: at, Agent: "Jules", Conversation: "c1", Protocol: "request"},
		lifecycle.Began{At: at, Subject: child},
		lifecycle.Began{At: at, Subject: &lifecycle.Subject{Agent: "Jules", Conversation: "c1", Protocol: "notify", Role: machine.Initiator}},
		lifecycle.Resent{At: at, Subject: subject, Message: "m1", Performative: performatives.ActRequest},
		lifecycle.Ended{
			At: at, Subject: child, State: standard.StateTimedOut, Code: performatives.CodeTimeout,
			Began: at.Time.Add(-1500 * time.Millisecond), Span: span, Path: []machine.State{machine.Idle, standard.StateTimedOut},
		},
		lifecycle.Ended{At: at, Subject: subject, State: standard.StateAnswered, Began: at.Time},
		lifecycle.JobEnded{At: at, Subject: subject, Job: "answer", Command: "fail", Code: performatives.CodeFailed, Began: at.Time.Add(-time.Second), Span: span, Label: "add"},
		lifecycle.JobEnded{At: at, Subject: child, Job: "answer", Began: at.Time},
		lifecycle.PayloadChanged{At: at, Agent: "Jules", Conversation: "c1", Message: "m1", Type: "main.Change"},
		lifecycle.JobFailed{At: at, Agent: "Jules", Peer: "Eddy", Conversation: "c1", Protocol: "request", Job: "perform", Err: &actors.PanicError{Value: "oh"}, Stack: []byte("goroutine 1")},
		events.Overload{At: at, Refusing: true, Refused: 7, Queued: 300, Working: 4},
	}
}

// TestEventsAsJSON: the JSON form of each event is fixed, and shows no content.
func TestEventsAsJSON(t *testing.T) {
	var got []byte
	for i, ev := range eventSamples(t) {
		text, err := json.Marshal(events.Record{Seq: uint64(i + 1), Event: ev})
		if err != nil {
			t.Fatalf("%T: %v", ev, err)
		}
		checkMembers(t, ev, text)
		got = append(append(got, text...), '\n')
	}
	golden := filepath.Join("testdata", "events.jsonl")
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o750), os.WriteFile(golden, got, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); d != "" {
		t.Errorf("run with -update and look at the difference:\n%s", d)
	}
}

var snakeCase = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

func checkMembers(t *testing.T, ev events.Event, text []byte) {
	t.Helper()
	if bytes.Contains(text, []byte("secret")) {
		t.Errorf("%T: %s shows what is not to be logged", ev, text)
	}
	own, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	var members, all map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(own, &members), json.Unmarshal(text, &all)); err != nil {
		t.Fatalf("%T: %v", ev, err)
	}
	if len(all) != len(members)+3 {
		t.Errorf("%T: %s has members named kind, seq or time of its own", ev, own)
	}
	for name := range all {
		if !snakeCase.MatchString(name) {
			t.Errorf("%T: the member %q is not in snake_case", ev, name)
		}
	}
}

// TestEveryEventHasAKind: every event type of the module is among the samples, and has a
// kind that no other type has.
func TestEveryEventHasAKind(t *testing.T) {
	racetest.Skip(t) // it reads the source
	subjectAndVerb := regexp.MustCompile(`^[a-z]+\.[a-z]+(_[a-z]+)*$`)
	types := map[events.Kind]string{}
	for _, ev := range eventSamples(t) {
		typ, kind := reflect.TypeOf(ev), ev.Kind()
		if zero := reflect.Zero(typ).Interface().(events.Event).Kind(); zero != kind {
			t.Errorf("%s: the kind of the zero value is %q, not %q", typ, zero, kind)
		}
		if other, taken := types[kind]; taken && other != typ.String() {
			t.Errorf("%s and %s are both %q", typ, other, kind)
		}
		if !subjectAndVerb.MatchString(string(kind)) {
			t.Errorf("%s: the kind %q is not a subject, a dot and what happened", typ, kind)
		}
		types[kind] = typ.String()
	}
	if d := cmp.Diff(declaredEvents(t), slices.Sorted(maps.Values(types))); d != "" {
		t.Errorf("the event types that are declared differ from those that have a sample:\n%s", d)
	}
}

// declaredEvents returns the types of the module that have a method Kind() Kind, such as
// "events.AgentStarted", sorted.
func declaredEvents(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && isKindMethod(fn) {
				names = append(names, file.Name.Name+"."+fn.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func isKindMethod(fn *ast.FuncDecl) bool {
	if fn.Recv == nil || fn.Name.Name != "Kind" || fn.Type.Results.NumFields() != 1 {
		return false
	}
	switch result := fn.Type.Results.List[0].Type.(type) {
	case *ast.Ident:
		return result.Name == "Kind"
	case *ast.SelectorExpr:
		return result.Sel.Name == "Kind"
	}
	return false
}
