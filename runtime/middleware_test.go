package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

type handle = func(context.Context, *performatives.Message) (*performatives.Message, error)

// unchangedBy returns a middleware that calls see with each message.
func unchangedBy(name string, see func(context.Context, *performatives.Message)) runtime.Middleware {
	return runtime.Middleware{Name: name, Handle: func(ctx context.Context, m *performatives.Message) (*performatives.Message, error) {
		see(ctx, m)
		return m, nil
	}}
}

// seen is a middleware's list of what it has got.
type seen struct {
	mu    sync.Mutex
	lines []string
}

func (s *seen) see(ctx context.Context, m *performatives.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf("%s %s %s>%s", runtime.OriginOf(ctx), m.Performative(), m.Sender(), m.Receiver()))
}

func (s *seen) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// TestMiddlewareSeesEachMessageOnce: a message passes the chain where it enters, and nowhere else.
func TestMiddlewareSeesEachMessageOnce(t *testing.T) {
	var first, second seen
	h := newHubOf(t, newNode(t, runtime.Options{Name: "hub", Middleware: []runtime.Middleware{
		unchangedBy("first", first.see), unchangedBy("second", second.see),
	}}), noPeerOptions)
	h.spawn("Jules", returning(succeed))
	c := newCaller(t, h, nil)
	for _, to := range []performatives.AgentID{"Jules", "default"} {
		c.say(message(t, "Ann", to, performatives.ActTaskRequest, with(task("debug_code"))))
	}
	c.say(message(t, "Ann", "Jules", performatives.ActTaskRequest, with(task("debug_code"))))
	c.answer(4 + 1) // an acceptance and a result each; the namespace has no such action
	if _, err := h.Delegate(patience.Context(t), "Jules", task("debug_code")); err != nil {
		t.Error(err)
	}
	want := []string{
		"local INFORM_RESULT Jules>Ann/client-1@hub", "local INFORM_RESULT Jules>Ann/client-1@hub", "local INFORM_RESULT Jules>hub", "local TASK_ACCEPT Jules>Ann/client-1@hub",
		"local TASK_ACCEPT Jules>Ann/client-1@hub", "local TASK_ACCEPT Jules>hub", "local TASK_REQUEST hub>Jules",
		"session TASK_REQUEST Ann/client-1@hub>Jules", "session TASK_REQUEST Ann/client-1@hub>Jules", "session TASK_REQUEST Ann/client-1@hub>default",
	}
	got := first.all()
	slices.Sort(got)
	wantLines(t, got, want...)
	got = second.all()
	slices.Sort(got)
	wantLines(t, got, want...)
	if c := h.Middleware(); len(c) != 2 || c[1] != (runtime.MiddlewareCounts{Name: "second", Passed: uint64(len(want))}) {
		t.Errorf("counts %+v", c)
	}
}

// TestMiddlewareOfBothNodes: a message between two nodes that are connected by an uplink enters
// twice.
func TestMiddlewareOfBothNodes(t *testing.T) {
	var near, far seen
	h := newHubOf(t, newNode(t, runtime.Options{Name: "hub", Middleware: []runtime.Middleware{unchangedBy("near", near.see)}}), noPeerOptions)
	o := newOutpostOf(t, newNode(t, runtime.Options{Name: "out", Middleware: []runtime.Middleware{unchangedBy("far", far.see)}}), h)
	if err := o.Spawn(patience.Context(t), "Jules", returning(succeed)); err != nil {
		t.Fatal(err)
	}
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	h.awaitVisible("Jules")
	if _, err := h.Delegate(patience.Context(t), "Jules", task("debug_code")); err != nil {
		t.Error(err)
	}
	without := func(lines []string) []string {
		return slices.DeleteFunc(lines, func(s string) bool {
			return strings.Contains(s, "QUERY_CAPABILITIES") || strings.Contains(s, "INFORM_CAPABILITIES")
		})
	}
	wantLines(t, without(near.all()), "local TASK_REQUEST hub>Jules", "session TASK_ACCEPT Jules>hub", "session INFORM_RESULT Jules>hub")
	wantLines(t, without(far.all()), "uplink TASK_REQUEST hub>Jules", "local TASK_ACCEPT Jules>hub", "local INFORM_RESULT Jules>hub")
}

// refusals are what a middleware may do instead of passing a message on, and what its sender then
// gets.
var refusals = map[string]struct {
	handle handle
	code   performatives.Code
	text   string
	fault  bool
}{
	"refusal": {func(context.Context, *performatives.Message) (*performatives.Message, error) {
		return nil, fmt.Errorf("wrapped: %w", &performatives.Refusal{Code: performatives.CodeRateLimited, Text: "slow down"})
	}, performatives.CodeRateLimited, "slow down", false},
	"refusal without a code": {func(context.Context, *performatives.Message) (*performatives.Message, error) {
		return nil, &performatives.Refusal{Text: "no"}
	}, performatives.CodeForbidden, "no", false},
	"code": {func(context.Context, *performatives.Message) (*performatives.Message, error) {
		return nil, performatives.CodeBusy
	}, performatives.CodeMiddleware, `the middleware "m" failed`, true},
	"error": {func(context.Context, *performatives.Message) (*performatives.Message, error) {
		return nil, errors.New("secret")
	}, performatives.CodeMiddleware, `the middleware "m" failed`, true},
	"panic": {func(context.Context, *performatives.Message) (*performatives.Message, error) {
		panic("secret")
	}, performatives.CodeMiddleware, `the middleware "m" failed`, true},
	"nothing": {func(context.Context, *performatives.Message) (*performatives.Message, error) {
		return nil, nil
	}, performatives.CodeMiddleware, `the middleware "m" failed`, true},
	"another sender": {func(_ context.Context, m *performatives.Message) (*performatives.Message, error) {
		return m.With(func(e *performatives.Envelope) { e.Sender = "secret" })
	}, performatives.CodeMiddleware, `the middleware "m" failed`, true},
	"another act": {func(_ context.Context, m *performatives.Message) (*performatives.Message, error) {
		return m.With(func(e *performatives.Envelope) {
			e.Performative, e.Payload = performatives.ActRequest, performatives.Raw(`{"secret":1}`)
		})
	}, performatives.CodeMiddleware, `the middleware "m" failed`, true},
	"no receiver": {func(_ context.Context, m *performatives.Message) (*performatives.Message, error) {
		return m.With(func(e *performatives.Envelope) { e.Receiver = "" })
	}, performatives.CodeMiddleware, `the middleware "m" failed`, true},
	"another conversation": {func(_ context.Context, m *performatives.Message) (*performatives.Message, error) {
		return m.With(func(e *performatives.Envelope) { e.ConversationID = "secret" })
	}, performatives.CodeMiddleware, `the middleware "m" failed`, true},
	"invalid payload": {func(_ context.Context, m *performatives.Message) (*performatives.Message, error) {
		return m.With(func(e *performatives.Envelope) { e.Payload = performatives.Raw(`{"task_type":7,"secret":1}`) })
	}, performatives.CodeMiddleware, `the middleware "m" failed`, true},
}

// TestMiddlewareRefuses: the sender gets the refusal, or the code of a fault without its text,
// wherever it is; what is refused is counted, published and, if it is a fault, logged.
func TestMiddlewareRefuses(t *testing.T) {
	for name, c := range refusals {
		for _, timeout := range []time.Duration{0, time.Hour} {
			t.Run(fmt.Sprint(name, " ", timeout), func(t *testing.T) { middlewareRefuses(t, c.handle, timeout, c.code, c.text, c.fault) })
		}
	}
}

// requestsOnly returns a middleware that handles tasks, and passes on all else.
func requestsOnly(name string, h handle) runtime.Middleware {
	return runtime.Middleware{Name: name, Handle: func(ctx context.Context, m *performatives.Message) (*performatives.Message, error) {
		if m.Performative() != performatives.ActTaskRequest {
			return m, nil
		}
		return h(ctx, m)
	}}
}

func middlewareRefuses(t *testing.T, h handle, timeout time.Duration, code performatives.Code, text string, fault bool) {
	m := requestsOnly("m", h)
	m.Timeout = timeout
	var behind seen
	var log lockedBuffer
	hub := newHubOf(t, newNode(t, runtime.Options{
		Name: "hub", Middleware: []runtime.Middleware{m, unchangedBy("behind", behind.see)}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}), noPeerOptions)
	stream := listen(t, hub.Node, runtime.KindMiddlewareRefused, events.KindMessageRefused)
	hub.spawn("Jules", returning(succeed))
	_, err := hub.Delegate(patience.Context(t), "Jules", task("debug_code"))
	if r := performatives.RefusalOf(err); r == nil || r.Code != code || r.Text != text || strings.Contains(err.Error(), "secret") {
		t.Errorf("the agent got %v", err)
	}
	c := newCaller(t, hub, nil)
	c.say(message(t, "Ann", "Jules", performatives.ActTaskRequest, with(task("debug_code"))))
	if r := c.answer(1).AsRefusal(); r == nil || r.Code != code || r.Text != text {
		t.Errorf("the peer got %+v", r)
	}
	for _, line := range behind.all() {
		if strings.Contains(line, "TASK_REQUEST") {
			t.Errorf("a refused message went on: %s", line)
		}
	}
	for _, origin := range []string{"local", "session"} {
		await(t, stream, 1, func(e runtime.MiddlewareRefused) bool {
			return e.Middleware == "m" && e.Code == code && e.Fault == fault && e.Origin == origin
		})
	}
	await(t, stream, 2, func(e events.MessageRefused) bool { return e.Refusal.Code == code })
	got := hub.Middleware()[0]
	if fault && (got.Failed != 2 || got.Refused != 0) || !fault && (got.Refused != 2 || got.Failed != 0) {
		t.Errorf("counts %+v", got)
	}
	if lines := strings.Count(log.String(), `level=ERROR msg="middleware failed"`); fault != (lines == 2) || !fault && lines > 0 {
		t.Errorf("logged %d faults:\n%s", lines, log.String())
	}
}

// lockedBuffer is a bytes.Buffer for many goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestMiddlewareRefusesNotice: a refused message that expects no reply is a dead letter.
func TestMiddlewareRefusesNotice(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Hour} {
		n := newNode(t, runtime.Options{Middleware: []runtime.Middleware{{Name: "no", Timeout: timeout, Handle: refusals["refusal"].handle}}})
		stream := listen(t, n, events.KindMessageDeadLettered)
		if err := n.Spawn(patience.Context(t), "Jules", returning(succeed)); err != nil {
			t.Fatal(err)
		}
		if err := n.Send(message(t, "Ann", "Jules", performatives.ActInform)); timeout == 0 && code(err) != performatives.CodeRateLimited {
			t.Errorf("got %v", err)
		}
		await(t, stream, 1, func(e events.DeadLetter) bool { return e.Code == performatives.CodeRateLimited && e.To == "Jules" })
		if c := n.Counts(); c.DeadLetters != 1 || c.Refused != 0 {
			t.Errorf("counts %+v", c)
		}
	}
}

// TestMiddlewareChanges: the receiver gets the changed payload, and the next middleware, too.
func TestMiddlewareChanges(t *testing.T) {
	described := func(by string) handle {
		return func(_ context.Context, m *performatives.Message) (*performatives.Message, error) {
			got, err := performatives.PayloadAs[performatives.TaskRequest](m)
			if err != nil {
				return nil, err
			}
			got.Description += by
			return m.With(func(e *performatives.Envelope) { e.Payload = got })
		}
	}
	n := newNode(t, runtime.Options{Middleware: []runtime.Middleware{requestsOnly("a", described("a")), requestsOnly("b", described("b"))}})
	if err := n.Spawn(patience.Context(t), "Jules", returning(succeed)); err != nil {
		t.Fatal(err)
	}
	got, err := n.Delegate(patience.Context(t), "Jules", performatives.TaskRequest{TaskType: "debug_code", Description: "x"})
	if err != nil || got.Summary != "xab" {
		t.Errorf("got %+v, %v", got, err)
	}
	if c := n.Middleware()[1]; c != (runtime.MiddlewareCounts{Name: "b", Passed: 3, Changed: 1}) {
		t.Errorf("counts %+v", c)
	}
}

// routeTo returns a middleware that routes what is for one agent to another.
func routeTo(from, to performatives.AgentID) runtime.Middleware {
	return runtime.Middleware{Name: "router", Handle: func(_ context.Context, m *performatives.Message) (*performatives.Message, error) {
		if !m.Receiver().Is(from) {
			return m, nil
		}
		return m.With(func(e *performatives.Envelope) { e.Receiver = to })
	}}
}

// routings are the places of a worker that tasks for "team" are routed to, and of who asks.
func routings(t *testing.T, create func() actors.Agent, test func(t *testing.T, asker codons.Party, h *hub)) {
	for _, remoteWorker := range []bool{false, true} {
		for _, remoteAsker := range []bool{false, true} {
			t.Run(fmt.Sprintf("worker of a session %t, asker of a session %t", remoteWorker, remoteAsker), func(t *testing.T) {
				h := newHubOf(t, newNode(t, runtime.Options{Name: "hub", Middleware: []runtime.Middleware{routeTo("team", "Jules")}}), noPeerOptions)
				if remoteWorker {
					connected(t, h, "worker", crew{"Jules": create})
				} else {
					h.spawn("Jules", create)
				}
				asker := codons.Party(h)
				if remoteAsker {
					asker = connected(t, h, "asker", nil)
				}
				test(t, asker, h)
			})
		}
	}
}

// TestMiddlewareRoutes: the agent that a message is routed to works for an asker that knows it by
// another name, wherever they are: with progress, with a receipt for a CANCEL, and with nothing
// that is left over.
func TestMiddlewareRoutes(t *testing.T) {
	t.Run("result", func(t *testing.T) {
		routings(t, returning(reporter), func(t *testing.T, asker codons.Party, h *hub) {
			progress := 0.0
			got, err := delegation.Delegate(patience.Context(t), asker, "team", performatives.TaskRequest{TaskType: "debug_code", Description: "x"},
				delegation.WithProgress(func(u performatives.StatusUpdate) { progress = *u.Progress }))
			if err != nil || got.Summary != "done: x" || progress != 50 {
				t.Errorf("got %+v, %v, %v %%", got, err, progress)
			}
			if n := h.OpenRecords(); n != 0 {
				t.Errorf("%d records are left", n)
			}
			if c := h.Middleware()[0]; c.Routed != 1 || c.Failed != 0 {
				t.Errorf("counts %+v", c)
			}
		})
	})
	t.Run("cancel", func(t *testing.T) {
		started, ended := make(chan struct{}, 1), make(chan error, 1)
		routings(t, returning(newCancellableWorker(started, ended)), func(t *testing.T, asker codons.Party, _ *hub) {
			cancelAcross(t, asker, "team", started, ended)
		})
	})
	t.Run("unknown", func(t *testing.T) {
		for _, remote := range []bool{false, true} {
			h := newHubOf(t, newNode(t, runtime.Options{Name: "hub", Middleware: []runtime.Middleware{routeTo("team", "nobody")}}), noPeerOptions)
			asker := codons.Party(h)
			if remote {
				asker = connected(t, h, "asker", nil)
			}
			if _, err := delegation.Delegate(patience.Context(t), asker, "team", task("debug_code")); !errors.Is(err, performatives.CodeUnknownAgent) {
				t.Errorf("got %v", err)
			}
			if n := h.OpenRecords(); n != 0 {
				t.Errorf("%d records are left", n)
			}
		}
	})
}

// TestMiddlewareRoutesToWorkerThatIsLost: the asker hears of it under the name that it knows.
func TestMiddlewareRoutesToWorkerThatIsLost(t *testing.T) {
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	h := newHubOf(t, newNode(t, runtime.Options{Name: "hub", Middleware: []runtime.Middleware{routeTo("team", "Jules")}}), noPeerOptions)
	o := connected(t, h, "worker", crew{"Jules": returning(newCancellableWorker(started, ended))})
	d, err := delegation.Start(patience.Context(t), h, "team", task("debug_code"))
	if err != nil {
		t.Fatal(err)
	}
	<-started
	o.disconnect()
	if _, err := d.Wait(); !errors.Is(err, performatives.CodeDisconnected) {
		t.Errorf("got %v", err)
	}
	if why := <-ended; why == nil {
		t.Error("the work went on")
	}
}

// TestMiddlewareRoutesStopped: so does one whose worker of this process stops.
func TestMiddlewareRoutesStopped(t *testing.T) {
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	n := newNode(t, runtime.Options{Middleware: []runtime.Middleware{routeTo("team", "Jules")}})
	if err := n.Spawn(patience.Context(t), "Jules", returning(newCancellableWorker(started, ended))); err != nil {
		t.Fatal(err)
	}
	d, err := delegation.Start(patience.Context(t), n, "team", task("debug_code"))
	if err != nil {
		t.Fatal(err)
	}
	<-started
	if err := n.StopAgent(patience.Context(t), "Jules"); err != nil {
		t.Error(err)
	}
	if _, err := d.Wait(); !errors.Is(err, performatives.CodeStopped) {
		t.Errorf("got %v", err)
	}
	if why := <-ended; why == nil {
		t.Error("the work went on")
	}
	if n := n.OpenRecords(); n != 0 {
		t.Errorf("%d records are left", n)
	}
}

// TestMiddlewareRoutesRaw: an agent that handles messages in its Receive gets a routed one, and its
// reply has the name that was asked.
func TestMiddlewareRoutesRaw(t *testing.T) {
	n := newNode(t, runtime.Options{Middleware: []runtime.Middleware{routeTo("team", "Jules")}})
	if err := n.Spawn(patience.Context(t), "Jules", always(scripted{receive: echo})); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		got, err := n.Ask(patience.Context(t), "team", performatives.Raw(`{"n":1}`), runtime.WithAct(performatives.ActRequest))
		if err != nil || got.Sender() != "team" {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

// TestMiddlewareRoutesNotice: a notice goes to the new receiver.
func TestMiddlewareRoutesNotice(t *testing.T) {
	got := make(chan *performatives.Message, 1)
	h := newHubOf(t, newNode(t, runtime.Options{Middleware: []runtime.Middleware{routeTo("team", "Jules")}}), noPeerOptions)
	h.spawn("Jules", always(scripted{receive: func(_ *actors.Context, m *performatives.Message) { got <- m }}))
	m := message(t, "Ann", "team", performatives.ActInform)
	if err := h.Send(m); err != nil {
		t.Fatal(err)
	}
	if r := <-got; r.ID() != m.ID() || r.Receiver() != "Jules" {
		t.Errorf("got %+v", r.Envelope())
	}
	c := newCaller(t, h, nil)
	m = message(t, "Bob", "team", performatives.ActInform)
	c.say(m)
	if r := <-got; r.ID() != m.ID() || r.Receiver() != "Jules" {
		t.Errorf("got %+v", r.Envelope())
	}
}

// TestMiddlewareKeepsReplies: a router that also catches replies to a name does not take them away
// from who asked.
func TestMiddlewareKeepsReplies(t *testing.T) {
	n := newNode(t, runtime.Options{Name: "n1", Middleware: []runtime.Middleware{routeTo("n1", "Jules")}})
	if err := n.Spawn(patience.Context(t), "Jules", returning(reporter)); err != nil {
		t.Fatal(err)
	}
	got, err := n.Delegate(patience.Context(t), "Jules", performatives.TaskRequest{TaskType: "debug_code", Description: "x"})
	if err != nil || got.Summary != "done: x" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestMiddlewareTimeout: a middleware that waits too long, with or without regard for its context,
// costs its message, and neither the next one of the sender nor the end of the node.
func TestMiddlewareTimeout(t *testing.T) {
	for name, heeds := range map[string]bool{"heeds its context": true, "does not": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				waits := func(ctx context.Context, m *performatives.Message) (*performatives.Message, error) {
					if got, _ := performatives.PayloadAs[performatives.TaskRequest](m); got.TaskType == "slow" {
						if heeds {
							<-ctx.Done()
							return nil, ctx.Err()
						}
						<-release
					}
					return m, nil
				}
				slow := requestsOnly("slow", waits)
				slow.Timeout = time.Second
				n := newNode(t, runtime.Options{Middleware: []runtime.Middleware{slow}})
				if err := n.Spawn(patience.Context(t), "Jules", returning(succeed)); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				d, err := delegation.Start(patience.Context(t), n, "Jules", task("slow"))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := n.Delegate(patience.Context(t), "Jules", task("quick")); err != nil {
					t.Error(err)
				}
				_, err = d.Wait()
				if !errors.Is(err, performatives.CodeMiddleware) {
					t.Errorf("got %v", err)
				}
				if after := time.Since(start); after != time.Second {
					t.Errorf("after %v", after)
				}
				close(release)
				synctest.Wait()
				if c := n.Middleware()[0]; c.Failed != 1 || c.Passed != 3 {
					t.Errorf("counts %+v", c)
				}
			})
		})
	}
}

// TestMiddlewareKeepsOrder: what one sender sends in one priority arrives in order, though
// middleware takes a different time for each, and a higher priority does not wait for it.
func TestMiddlewareKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 200
		var calls atomic.Int64
		waits := runtime.Middleware{Name: "waits", Timeout: time.Minute, Handle: func(_ context.Context, m *performatives.Message) (*performatives.Message, error) {
			time.Sleep(time.Duration(calls.Add(1)*7%11) * time.Millisecond)
			return m, nil
		}}
		got := make(chan *performatives.Message, 2*count)
		n := newNode(t, runtime.Options{Middleware: []runtime.Middleware{waits}})
		if err := n.Spawn(patience.Context(t), "Jules", always(scripted{receive: func(_ *actors.Context, m *performatives.Message) { got <- m }})); err != nil {
			t.Fatal(err)
		}
		var sent []performatives.MessageID
		for range count {
			m := message(t, "Ann", "Jules", performatives.ActInform)
			sent = append(sent, m.ID())
			if err := n.Send(m); err != nil {
				t.Fatal(err)
			}
		}
		urgent := message(t, "Ann", "Jules", performatives.ActInform, func(e *performatives.Envelope) { e.Priority = performatives.Urgent })
		if err := n.Send(urgent); err != nil {
			t.Fatal(err)
		}
		var arrived []performatives.MessageID
		overtaken := -1
		for i := range count + 1 {
			if m := <-got; m.ID() == urgent.ID() {
				overtaken = i
			} else {
				arrived = append(arrived, m.ID())
			}
		}
		if !slices.Equal(arrived, sent) {
			t.Errorf("sent %v, arrived %v", sent, arrived)
		}
		if overtaken < 0 || overtaken > count/2 {
			t.Errorf("the urgent message was number %d", overtaken)
		}
	})
}

// TestMiddlewareQueueIsBounded: a sender whose messages wait for middleware is told that it is too
// fast.
func TestMiddlewareQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		n := newNode(t, runtime.Options{Middleware: []runtime.Middleware{{Name: "waits", Timeout: time.Hour, Handle: func(_ context.Context, m *performatives.Message) (*performatives.Message, error) {
			<-release
			return m, nil
		}}}})
		arrived := make(chan struct{}, 2*runtime.WaitingCapacity)
		if err := n.Spawn(patience.Context(t), "Jules", always(scripted{receive: func(*actors.Context, *performatives.Message) { arrived <- struct{}{} }})); err != nil {
			t.Fatal(err)
		}
		taken := 0
		for err := error(nil); ; taken++ {
			if taken == 1 {
				synctest.Wait() // the first one does not wait in the queue
			}
			if err = n.Send(message(t, "Ann", "Jules", performatives.ActInform)); err != nil {
				if code(err) != performatives.CodeBusy {
					t.Errorf("got %v", err)
				}
				break
			}
		}
		if taken != runtime.WaitingCapacity+1 {
			t.Errorf("%d were taken", taken)
		}
		if err := n.Send(message(t, "Bob", "Jules", performatives.ActInform)); err != nil {
			t.Errorf("another sender: %v", err)
		}
		close(release)
		for range taken + 1 {
			<-arrived
		}
	})
}

// TestMiddlewareThatDoesNotReturn: calls that hang are bounded.
func TestMiddlewareThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var calls atomic.Int64
		hangs := requestsOnly("hangs", func(_ context.Context, m *performatives.Message) (*performatives.Message, error) {
			calls.Add(1)
			<-release
			return m, nil
		})
		hangs.Timeout = time.Second
		n := newNode(t, runtime.Options{Middleware: []runtime.Middleware{hangs}})
		if err := n.Spawn(patience.Context(t), "Jules", returning(succeed)); err != nil {
			t.Fatal(err)
		}
		const count = runtime.MaxLate + 10
		for range count {
			if _, err := n.Ask(t.Context(), "Jules", task("debug_code")); code(err) != performatives.CodeMiddleware {
				t.Fatalf("got %v", err)
			}
		}
		if got := calls.Load(); got != runtime.MaxLate {
			t.Errorf("%d calls hang", got)
		}
		close(release)
		synctest.Wait()
		if _, err := n.Delegate(t.Context(), "Jules", task("debug_code")); err != nil {
			t.Errorf("after their return: %v", err)
		}
	})
}

// TestMiddlewareOptions: an invalid middleware is named.
func TestMiddlewareOptions(t *testing.T) {
	pass := func(_ context.Context, m *performatives.Message) (*performatives.Message, error) { return m, nil }
	for want, all := range map[string][]runtime.Middleware{
		"runtime: Options.Middleware[0].Name is empty":             {{Handle: pass}},
		"runtime: Options.Middleware[0] (a): Handle is nil":        {{Name: "a"}},
		"runtime: Options.Middleware[0] (a): Timeout is -1ns":      {{Name: "a", Handle: pass, Timeout: -1}},
		`runtime: Options.Middleware[1]: another has the name "a"`: {{Name: "a", Handle: pass}, {Name: "a", Handle: pass}},
	} {
		if _, err := runtime.New(runtime.Options{Middleware: all}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if n := newNode(t, runtime.Options{}); n.Middleware() != nil {
		t.Errorf("got %v", n.Middleware())
	}
}
