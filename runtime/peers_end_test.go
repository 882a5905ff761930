package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
)

// When a connection is lost, pending requests fail at once, and tasks for the lost agents
// stop.
func TestDisconnectInMidTask(t *testing.T) {
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	directions(t, returning(newCancellableWorker(started, ended)), func(t *testing.T, asker codons.Party, _ *hub, o *outpost) {
		d, err := delegation.Start(context.Background(), asker, "Jules", task("debug_code"))
		if err != nil {
			t.Fatal(err)
		}
		<-started
		o.disconnect()
		_, err = d.Wait()
		var end *codons.EndError
		if !errors.As(err, &end) || end.State != "failed" || !errors.Is(err, performatives.CodeDisconnected) {
			t.Errorf("the asker is told %v", err)
		}
		if why := <-ended; !errors.Is(why, codons.ErrPeerLost) {
			t.Errorf("the work ended because of %v", why)
		}
	})
}

func TestDisconnectBeforeAcceptance(t *testing.T) {
	h := newHub(t, noPeerOptions)
	jules := newCaller(t, h, nil)
	jules.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("debug_code")))
	h.awaitVisible("Jules")
	jules.answer(1) // which other goroutines may see earlier
	d, err := delegation.Start(context.Background(), h, "Jules", task("debug_code"))
	if err != nil {
		t.Fatal(err)
	}
	if m := jules.answer(2); m.Performative() != performatives.ActTaskRequest {
		t.Fatalf("got %s", m.Performative())
	}
	jules.cut()
	if _, err = d.Wait(); !errors.Is(err, performatives.CodeDisconnected) {
		t.Errorf("the asker is told %v", err)
	}
	h.awaitStopped("Jules", 1)
	if _, err := h.Delegate(patience.Context(t), "Jules", task("debug_code")); !errors.Is(err, performatives.CodeStopped) {
		t.Errorf("while it is away: %v", err)
	}
	if _, ok := h.Directory().Lookup("Jules"); ok {
		t.Error("it can still be found")
	}
}

// TestResultBeforeDisconnect has a worker send its result, in the lowest band, and close its
// connection at once.
func TestResultBeforeDisconnect(t *testing.T) {
	h := newHub(t, noPeerOptions)
	for i := range 20 {
		jules := newCaller(t, h, nil)
		jules.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("debug_code")))
		jules.answer(1)
		d, err := delegation.Start(context.Background(), h, "Jules", task("debug_code"), codons.WithPriority(performatives.Urgent))
		if err != nil {
			t.Fatal(err)
		}
		request := jules.answer(2)
		jules.say(message(t, "Jules", request.Sender(), performatives.ActInformResult, func(e *performatives.Envelope) {
			e.ConversationID, e.InReplyTo, e.Priority = request.ConversationID(), request.ReplyWith(), performatives.Low
			e.Payload = performatives.InformResult{Status: performatives.StatusSuccess, Summary: "done"}
		}))
		if err := jules.session.Stop(patience.Context(t)); err != nil {
			t.Fatal(err)
		}
		if r, err := d.Wait(); err != nil || r.Summary != "done" {
			t.Fatalf("run %d: got %+v, %v", i, r, err)
		}
		h.awaitStopped("Jules", i+1)
	}
}

// TestDisconnectBetweenRounds disconnects a peer whose request was answered, and whose conversation
// awaits a further one.
func TestDisconnectBetweenRounds(t *testing.T) {
	h := newHubOf(t, newNode(t, reviewing()), noPeerOptions)
	h.spawn("Rev", func() actors.Agent { return strictReviewer{} })
	stream := listen(t, h.Node, lifecycle.KindTransition)
	c := newCaller(t, h, nil)
	c.say(message(t, "Ada", "Rev", performatives.ActRequest, with(review{"a.go"}), func(e *performatives.Envelope) {
		e.Protocol, e.MessageType = "code-review", "REVIEW_REQUEST"
	}))
	if m := c.answer(1); m.MessageType() != "REVIEW_COMMENTS" {
		t.Fatalf("got %s %s", m.Performative(), m.MessageType())
	}
	c.cut()
	await(t, stream, 1, func(e lifecycle.Transition) bool { return e.Agent == "Rev" && e.Ended && e.On == machine.PeerLost() })
}

// TestUplinkLostBetweenRounds loses the connection to a node whose agent revises a change that was
// reviewed here. No request is under way. A task between two agents of that node goes on.
func TestUplinkLostBetweenRounds(t *testing.T) {
	h := newHubOf(t, newNode(t, reviewing()), noPeerOptions)
	o := newOutpostOf(t, newNode(t, runtime.Options{Name: "outpost", Codons: reviewing().Codons}), h)
	if err := o.Spawn(patience.Context(t), "Rev", func() actors.Agent { return strictReviewer{} }); err != nil {
		t.Fatal(err)
	}
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	h.awaitVisible("Rev")
	stream := listen(t, o.Node, lifecycle.KindTransition)
	revising := make(chan struct{})
	asked, err := codeReview.Start(patience.Context(t), h, "Rev", review{"a.go"}, codons.On("revise", func(ctx context.Context, _ codons.Turn[verdict]) (codons.Command, error) {
		close(revising)
		<-ctx.Done()
		return codons.Command{}, context.Cause(ctx)
	}))
	if err != nil {
		t.Fatal(err)
	}
	<-revising
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	if err := o.Spawn(patience.Context(t), "Local", returning(newCancellableWorker(started, ended))); err != nil {
		t.Fatal(err)
	}
	local, err := delegation.Start(patience.Context(t), o, "Local", task("debug_code"))
	if err != nil {
		t.Fatal(err)
	}
	<-started
	o.disconnect()
	await(t, stream, 1, func(e lifecycle.Transition) bool { return e.Agent == "Rev" && e.Ended && e.On == machine.PeerLost() })
	if _, err := asked.Wait(); !errors.Is(err, performatives.CodeDisconnected) {
		t.Errorf("the asker is told %v", err)
	}
	local.Cancel()
	if why := <-ended; !errors.Is(why, codons.ErrCanceled) {
		t.Errorf("the task of the node itself ended because of %v", why)
	}
}

// Both sides of a subscription end when its connection is lost.
func TestDisconnectEndsSubscriptions(t *testing.T) {
	numbers := subscribe.NewTopic[int](subscribe.TopicOptions{})
	directions(t, returning(&publisher{numbers: numbers, scripted: scripted{topics: []string{"Numbers"}}}), func(t *testing.T, asker codons.Party, h *hub, o *outpost) {
		publisher, subscriber := h.Node, o.Node
		if asker == codons.Party(h) {
			publisher, subscriber = o.Node, h.Node
		}
		here, there := listen(t, subscriber, lifecycle.KindTransition), listen(t, publisher, lifecycle.KindTransition)
		if _, err := subscribe.Subscribe[int](patience.Context(t), asker, "Jules", subscribe.Subscription{Topic: "numbers"}); err != nil {
			t.Fatal(err)
		}
		o.disconnect()
		await(t, here, 1, func(e lifecycle.Transition) bool { return e.Ended && e.Peer == "Jules" })
		await(t, there, 1, func(e lifecycle.Transition) bool { return e.Ended && e.Agent == "Jules" })
	})
}

func TestReconnectAndGoOn(t *testing.T) {
	h := newHub(t, noPeerOptions)
	o := connected(t, h, "out", crew{"Jules": returning(reporter)})
	for i := range 3 {
		if _, err := h.Delegate(patience.Context(t), "Jules", task("debug_code")); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		o.disconnect()
		h.awaitStopped("Jules", i+1)
		if err := o.up.Connect(patience.Context(t)); err != nil {
			t.Fatal(err)
		}
		h.awaitVisibleAgain("Jules", i+1)
	}
}

func TestUplinkRuns(t *testing.T) {
	h := newHub(t, noPeerOptions)
	dials := 0
	o := newOutpost(t, h, "out", func(o *runtime.UplinkOptions) {
		o.Backoff = actors.Backoff{Min: time.Millisecond, Max: time.Millisecond}
		dial := o.Dial
		o.Dial = func(ctx context.Context, handler wire.Handler) (*wire.Session, error) {
			if dials++; dials == 2 {
				return nil, errors.New("as the test wants it")
			}
			return dial(ctx, handler)
		}
	})
	if err := o.Spawn(patience.Context(t), "Jules", returning(reporter)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(patience.Context(t))
	ran := make(chan error)
	go func() { ran <- o.up.Run(ctx) }()
	h.awaitVisible("Jules")
	o.disconnect()
	h.awaitVisibleAgain("Jules", 1)
	cancel()
	if err := <-ran; err != nil || dials != 3 {
		t.Errorf("Run = %v after %d dials", err, dials)
	}
	if !o.up.Connected() {
		t.Error("the session is for Stop to end")
	}
}

// attempts is a logger's handler that sends the attempt of each record about an uplink that was
// ended.
type attempts chan int64

func (attempts) Enabled(context.Context, slog.Level) bool { return true }
func (a attempts) WithAttrs([]slog.Attr) slog.Handler     { return a }
func (a attempts) WithGroup(string) slog.Handler          { return a }

func (a attempts) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "uplink ended by the far node" {
		r.Attrs(func(at slog.Attr) bool {
			if at.Key == "attempt" {
				select {
				case a <- at.Value.Int64():
				default:
				}
			}
			return true
		})
	}
	return nil
}

// Two nodes whose agents have one name end each other's sessions. Each waits longer before each
// attempt.
func TestUplinksOfOneName(t *testing.T) {
	h := newHub(t, noPeerOptions)
	ended := make(attempts, 1)
	ctx, cancel := context.WithCancel(patience.Context(t))
	running := new(sync.WaitGroup)
	for range 2 {
		n := newNode(t, runtime.Options{Name: "out", Logger: slog.New(ended)})
		o := newOutpostOf(t, n, h, func(o *runtime.UplinkOptions) {
			o.Backoff = actors.Backoff{Min: time.Millisecond, Max: time.Millisecond}
		})
		if err := o.Spawn(patience.Context(t), "Jules", returning(reporter)); err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := o.up.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
	for at := int64(0); at < 3; {
		select {
		case at = <-ended:
		case <-patience.Context(t).Done():
			t.Fatalf("the latest session was attempt %d", at)
		}
	}
	cancel()
	running.Wait()
}

// An uplink that is stopped during an attempt to connect keeps no session.
func TestUplinkStopsDuringAnAttempt(t *testing.T) {
	h := newHub(t, noPeerOptions)
	var o *outpost
	var late *wire.Session
	o = newOutpost(t, h, "out", func(u *runtime.UplinkOptions) {
		dial := u.Dial
		u.Dial = func(ctx context.Context, handler wire.Handler) (s *wire.Session, err error) {
			if err := o.up.Stop(ctx); err != nil {
				t.Errorf("Uplink.Stop: %v", err)
			}
			late, err = dial(ctx, handler)
			return late, err
		}
	})
	if err := o.up.Connect(patience.Context(t)); !errors.Is(err, runtime.ErrUplinkStopped) || o.up.Connected() {
		t.Errorf("it is connected: %t, %v", o.up.Connected(), err)
	}
	select {
	case <-late.Done():
	case <-patience.Context(t).Done():
		t.Error("the session goes on")
	}
}

func TestUplinkWithoutSession(t *testing.T) {
	h := newHub(t, noPeerOptions)
	h.spawn("Jules", returning(reporter))
	o := newOutpost(t, h, "out")
	if _, err := o.Delegate(patience.Context(t), "Jules", task("debug_code")); !errors.Is(err, performatives.CodeStopped) {
		t.Errorf("not connected: %v", err)
	}
	if _, err := o.Node.Uplink(runtime.UplinkOptions{Dial: func(context.Context, wire.Handler) (*wire.Session, error) { return nil, nil }}); !errors.Is(err, runtime.ErrUplink) {
		t.Errorf("a second uplink: %v", err)
	}
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	if err := o.up.Connect(patience.Context(t)); !errors.Is(err, runtime.ErrConnected) {
		t.Errorf("a second session: %v", err)
	}
	if _, err := o.Delegate(patience.Context(t), "Nobody", task("debug_code")); !errors.Is(err, performatives.CodeUnknownAgent) {
		t.Errorf("nobody has that name: %v", err)
	}
	if err := o.up.Stop(patience.Context(t)); err != nil {
		t.Error(err)
	}
	if err := o.up.Connect(patience.Context(t)); !errors.Is(err, runtime.ErrUplinkStopped) {
		t.Errorf("after Stop: %v", err)
	}
}

func TestSecondSessionReplacesTheFirst(t *testing.T) {
	h := newHub(t, noPeerOptions)
	first := newCaller(t, h, nil)
	first.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("debug_code")))
	h.awaitVisible("Jules")
	d, err := delegation.Start(context.Background(), h, "Jules", task("debug_code"))
	if err != nil {
		t.Fatal(err)
	}
	first.answer(2)
	second := newCaller(t, h, nil)
	second.say(message(t, "jules", "system", performatives.ActQueryCapabilities, offers("debug_code")))
	if _, err = d.Wait(); !errors.Is(err, performatives.CodeDisconnected) {
		t.Errorf("the asker is told %v", err)
	}
	second.answer(1)
	first.AwaitEnd(t, 1)
	first.cut() // the old session cleans up
	_, err = delegation.Start(context.Background(), h, "Jules", task("debug_code"))
	if err != nil {
		t.Fatal(err)
	}
	if m := second.answer(2); m.Performative() != performatives.ActTaskRequest {
		t.Errorf("the second session gets %s", m.Performative())
	}
	if got := len(first.Received()); got != 2 {
		t.Errorf("the first session got %d messages", got)
	}
}

// strict is an authenticator whose peers authenticate as they connect.
type strict struct{}

func (strict) Authenticate(context.Context, wire.Credentials) (wire.Identity, error) {
	return wire.Identity{}, wire.ErrNoCredentials
}

// With authentication, only the same principal takes over an id, at the same node and at another
// one.
func TestReplacementNeedsEqualProof(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	strictly := func(o *wire.Options) { o.Auth, o.Anonymous = strict{}, false }
	nodes := newCluster(t, 2)
	for i, h := range []*hub{newHubOf(t, nodes[0], noPeerOptions, strictly), newHubOf(t, nodes[1], noPeerOptions, strictly)} {
		if i == 0 {
			owner := newCaller(t, h, &wire.Identity{Name: "Jules"})
			owner.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("debug_code")))
			owner.answer(1)
			isAt(t, nodes[1], "Jules", "n1")
		}
		for _, other := range []wire.Identity{{Method: "none"}, {Name: "admin", Agents: []performatives.AgentID{"*"}}} {
			thief := newCaller(t, h, &other)
			thief.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("debug_code")))
			if r := thief.answer(1).AsRefusal(); r == nil || r.Code != performatives.CodeForbidden {
				t.Errorf("at %s, %+v is told %v", h.Name(), other, r)
			}
		}
		isAt(t, h.Node, "Jules", "n1")
		if i == 1 {
			again := newCaller(t, h, &wire.Identity{Name: "jules"})
			again.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("debug_code")))
			if m := again.answer(1); m.AsRefusal() != nil {
				t.Errorf("the owner is told %v", m.AsRefusal())
			}
			isAt(t, nodes[0], "Jules", "n2")
		}
	}
}

func TestReservedNames(t *testing.T) {
	h := newHub(t, runtime.PeerOptions{MaxAgents: 2})
	h.spawn("Eliza", always(scripted{receive: echo}))
	c := newCaller(t, h, nil)
	n := 0
	for _, name := range []performatives.AgentID{"eliza", "Hub", "SYSTEM", "default"} {
		c.say(message(t, name, "Eliza", performatives.ActRequest))
		n++
		if r := c.answer(n).AsRefusal(); r == nil || r.Code != performatives.CodeForbidden {
			t.Errorf("%s is told %v", name, r)
		}
	}
	for i := range 2 {
		c.say(message(t, performatives.AgentID(fmt.Sprint("a", i)), "Eliza", performatives.ActRequest))
		n++
		if r := c.answer(n).AsRefusal(); r != nil {
			t.Errorf("agent %d: %v", i, r)
		}
	}
	c.say(message(t, "a2", "Eliza", performatives.ActRequest))
	if r := c.answer(n + 1).AsRefusal(); r == nil || r.Code != performatives.CodeBusy {
		t.Errorf("the third agent of a connection is told %v", r)
	}
}

// Many sessions that replace one another as the same agent leave only the last one, and
// no other state.
func TestReplacementRace(t *testing.T) { synctest.Test(t, replacementRace) }

func replacementRace(t *testing.T) {
	h := newHub(t, noPeerOptions)
	h.spawn("Eliza", always(scripted{receive: echo}))
	for range 20 {
		var callers []*caller
		for range 4 {
			callers = append(callers, newCaller(t, h, nil))
		}
		done := make(chan struct{})
		for _, c := range callers {
			go func() {
				defer func() { done <- struct{}{} }()
				for range 3 {
					m := message(t, "Jules", "Eliza", performatives.ActRequest)
					if c.session.Send(m) != nil {
						return // the session was replaced
					}
				}
			}()
		}
		for range callers {
			<-done
		}
		for _, c := range callers {
			c.cut()
		}
	}
	last := newCaller(t, h, nil)
	last.say(message(t, "Jules", "Eliza", performatives.ActRequest))
	if m := last.answer(1); m.Performative() != performatives.ActInform {
		t.Errorf("the last is told %s", m.Performative())
	}
	synctest.Wait()                     // the earlier sessions have ended
	if n := h.Counts().Remote; n != 1 { // Jules
		t.Errorf("%d agents are registered", n)
	}
}

// An unanswered request gets FAILURE after its deadline.
func TestUnansweredRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, runtime.PeerOptions{Grace: time.Second, Patience: time.Hour})
		h.spawn("Silent", always(scripted{receive: func(*actors.Context, *performatives.Message) {}}))
		c := newCaller(t, h, nil)
		start := time.Now()
		c.say(message(t, "Jules", "Silent", performatives.ActRequest, func(e *performatives.Envelope) { e.ReplyBy = start.Add(time.Minute) }))
		c.say(message(t, "Jules", "Silent", performatives.ActRequest))
		time.Sleep(time.Minute - time.Second)
		if n := len(c.Received()); n != 0 {
			t.Errorf("%d answers before the deadline", n)
		}
		time.Sleep(4 * time.Second)
		if r := c.answer(1).AsRefusal(); r == nil || r.Code != performatives.CodeTimeout || r.From != "Silent" {
			t.Errorf("told %v", r)
		}
		time.Sleep(time.Hour)
		if r := c.answer(2).AsRefusal(); r == nil || r.Code != performatives.CodeTimeout {
			t.Errorf("told %v", r)
		}
		time.Sleep(time.Hour)
		if n := len(c.Received()); n != 2 {
			t.Errorf("%d answers", n)
		}
	})
}

// TestExpiredRequestLosesNoPeer has one request of a peer expire while an agent works on another
// one.
func TestExpiredRequestLosesNoPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, noPeerOptions)
		started, ended := make(chan struct{}, 1), make(chan error, 1)
		h.spawn("Worker", returning(newCancellableWorker(started, ended)))
		h.spawn("Silent", always(scripted{receive: func(*actors.Context, *performatives.Message) {}}))
		c := newCaller(t, h, nil)
		for to, in := range map[performatives.AgentID]time.Duration{"Worker": time.Hour, "Silent": 2 * time.Second} {
			c.say(message(t, "Jules", to, performatives.ActTaskRequest, with(task("debug_code")), func(e *performatives.Envelope) {
				e.ReplyBy = time.Now().Add(in)
				if to == "Silent" {
					e.Performative, e.Payload = performatives.ActRequest, nil
				}
			}))
		}
		<-started
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(ended) > 0 {
			t.Errorf("the work ended because of %v", <-ended)
		}
		if last := c.Received(); len(last) != 2 || last[1].AsRefusal() == nil || last[1].AsRefusal().Code != performatives.CodeTimeout {
			t.Errorf("received %v", last)
		}
		c.cut()
		if why := <-ended; !errors.Is(why, codons.ErrPeerLost) {
			t.Errorf("the work ended because of %v", why)
		}
	})
}

// At the deadline and the grace after it, to the point, the asker gets FAILURE (timeout) and
// the worker gets CANCEL: an agent of the node, and one of another session. That a request
// with a later deadline came before changes nothing.
func TestDeadlineToThePoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, noPeerOptions)
		heard := make(chan *performatives.Message, 3)
		h.spawn("Local", always(scripted{receive: func(_ *actors.Context, m *performatives.Message) { heard <- m }}))
		far := newCaller(t, h, nil)
		far.say(message(t, "Far", "system", performatives.ActQueryCapabilities, offers("debug_code")))
		far.answer(1)
		c := newCaller(t, h, nil)
		ask := func(to performatives.AgentID, in time.Duration) *performatives.Message {
			m := message(t, "Jules", to, performatives.ActRequest, func(e *performatives.Envelope) { e.ReplyBy = time.Now().Add(in) })
			c.say(m)
			return m
		}
		ask("Local", time.Hour)
		synctest.Wait()
		local, remote := ask("Local", 2*time.Second), ask("Far", 2*time.Second)
		synctest.Wait()
		<-heard
		<-heard
		time.Sleep(2*time.Second - time.Millisecond)
		synctest.Wait()
		if n := len(c.Received()) + len(heard); n != 0 {
			t.Errorf("%d messages before the deadline", n)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		for i, m := range c.Received() {
			if r := m.AsRefusal(); r == nil || r.Code != performatives.CodeTimeout {
				t.Errorf("answer %d: %v", i, m)
			}
		}
		if n := len(c.Received()); n != 2 {
			t.Errorf("%d answers", n)
		}
		withdrawn := func(m, of *performatives.Message) {
			t.Helper()
			if m.Performative() != performatives.ActCancel || m.ConversationID() != of.ConversationID() || m.Sender().Name() != "Jules" {
				t.Errorf("the worker gets %v", m)
			}
		}
		if len(heard) != 1 {
			t.Fatalf("the agent of the node gets %d messages", len(heard))
		}
		withdrawn(<-heard, local)
		if n := len(far.Received()); n != 3 {
			t.Fatalf("the agent of the session gets %d messages", n)
		}
		withdrawn(far.answer(3), remote)
	})
}

// Stop waits for running handlers for most of its time limit, in virtual time.
func TestNodeStopsWithPeers(t *testing.T) { synctest.Test(t, nodeStopsWithPeers) }

func nodeStopsWithPeers(t *testing.T) {
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	h := newHub(t, noPeerOptions)
	h.spawn("Jules", returning(newCancellableWorker(started, ended)))
	h.spawn("Silent", always(scripted{receive: func(*actors.Context, *performatives.Message) {}}))
	c := newCaller(t, h, nil)
	c.say(message(t, "Eddy", "Jules", performatives.ActTaskRequest, with(task("debug_code"))))
	<-started
	received := listen(t, h.Node, events.KindMessageReceived)
	c.say(message(t, "Eddy", "Silent", performatives.ActRequest))
	await(t, received, 1, func(e events.MessageReceived) bool { return e.Agent == "Silent" })
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := h.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	refusals := 0
	for _, m := range c.Await(t, 3) { // the acceptance and two final messages
		if r := m.AsRefusal(); r != nil {
			refusals++
			if r.Code != performatives.CodeStopped {
				t.Errorf("told %v", r)
			}
		}
	}
	if refusals != 2 {
		t.Errorf("%d of 2 requests were answered", refusals)
	}
	c.say(message(t, "Eddy", "Silent", performatives.ActRequest))
	if r := c.answer(4).AsRefusal(); r == nil || r.Code != performatives.CodeStopped {
		t.Errorf("after the stop: %v", r)
	}
}

func TestServerStopsBeforeNode(t *testing.T) {
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	h := newHub(t, noPeerOptions)
	h.spawn("Jules", returning(newCancellableWorker(started, ended)))
	o := connected(t, h, "out", nil)
	d, err := delegation.Start(context.Background(), o, "Jules", task("debug_code"))
	if err != nil {
		t.Fatal(err)
	}
	<-started
	h.stopServer()
	if _, err := d.Wait(); !errors.Is(err, performatives.CodeDisconnected) {
		t.Errorf("told %v", err)
	}
	if why := <-ended; !errors.Is(why, codons.ErrPeerLost) {
		t.Errorf("the work ended because of %v", why)
	}
}

// A stopped agent is no longer found on the far node, and its place is available there.
func TestUplinkWithdrawsStoppedAgents(t *testing.T) {
	h := newHub(t, runtime.PeerOptions{MaxAgents: 2})
	o := connected(t, h, "out", nil)
	for i := range 6 {
		id := performatives.AgentID(fmt.Sprint("worker", i))
		if err := o.Spawn(patience.Context(t), id, newActionWorker("debug_code")); err != nil {
			t.Fatal(err)
		}
		h.awaitVisible(id)
		if got, err := delegation.Delegate(patience.Context(t), h, id, task("debug_code")); err != nil || got.Summary != string(id) {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
		if err := o.StopAgent(patience.Context(t), id); err != nil {
			t.Fatal(err)
		}
		await(t, h.events, 2, func(e events.AgentAnnounced) bool { return e.Agent == id })
		if slices.Contains(h.Directory().IDs(), id) {
			t.Errorf("%s can still be found", id)
		}
	}
}

// A peer may announce and withdraw capabilities any number of times.
func TestAnnounceAndWithdraw(t *testing.T) { synctest.Test(t, announceAndWithdraw) }

func announceAndWithdraw(t *testing.T) {
	h := newHub(t, runtime.PeerOptions{MaxAgents: 1})
	c := newCaller(t, h, nil)
	for i := range 50 {
		c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("debug_code")))
		c.answer(2*i + 1)
		if !slices.Contains(h.Directory().IDs(), "Jules") {
			t.Fatalf("round %d: it cannot be found", i)
		}
		c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers()))
		c.answer(2*i + 2)
		if slices.Contains(h.Directory().IDs(), "Jules") {
			t.Fatalf("round %d: it can still be found", i)
		}
	}
	c.say(message(t, "Jules", "system", performatives.ActQueryRef, with(performatives.QueryRef{Reference: "agents"})))
	c.answer(101) // which makes it an agent that has not withdrawn
	c.say(message(t, "Eddy", "system", performatives.ActQueryRef, with(performatives.QueryRef{Reference: "agents"})))
	if r := c.answer(102).AsRefusal(); r == nil || r.Code != performatives.CodeBusy {
		t.Errorf("one too many is told %v", r)
	}
	synctest.Wait()
	if n := h.Counts().Remote; n != 1 { // Jules
		t.Errorf("%d agents are registered", n)
	}
}

// A reply that an agent sends over its next connection, after the request has failed with
// the old one, is a dead letter.
func TestAnswerOverTheNextConnection(t *testing.T) {
	working, release := make(chan struct{}), make(chan struct{})
	h := newHub(t, noPeerOptions)
	o := connected(t, h, "out", crew{"Jules": always(scripted{topics: []string{"x"}, receive: func(c *actors.Context, m *performatives.Message) {
		if m.Performative() == performatives.ActRequest {
			working <- struct{}{}
			<-release
			echo(c, m)
		}
	}})})
	told := make(chan *performatives.Message, 10)
	h.spawn("asker", always(scripted{receive: func(_ *actors.Context, m *performatives.Message) { told <- m }}))
	dead := listen(t, o.Node, events.KindMessageDeadLettered) // its record has ended, too
	first, second := message(t, "asker", "Jules", performatives.ActRequest), message(t, "asker", "Jules", performatives.ActRequest)
	if err := h.Send(first); err != nil {
		t.Fatal(err)
	}
	<-working
	o.disconnect()
	if m := <-told; m.InReplyTo() != string(first.ID()) || m.Performative() != performatives.ActFailure {
		t.Errorf("the asker is told %s %s", m.Performative(), m.InReplyTo())
	}
	h.awaitStopped("Jules", 1)
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	h.awaitVisibleAgain("Jules", 1)
	release <- struct{}{}
	late := await(t, dead, 1, func(e events.DeadLetter) bool {
		m, ok := e.Message.(*performatives.Message)
		return ok && m.InReplyTo() == string(first.ID())
	})[0]
	if late.Code != performatives.CodeConversationEnded {
		t.Errorf("it is a dead letter because of %v", late.Code)
	}
	if err := h.Send(second); err != nil {
		t.Fatal(err)
	}
	<-working
	release <- struct{}{}
	if m := <-told; m.InReplyTo() != string(second.ID()) || m.Performative() != performatives.ActInform {
		t.Errorf("the asker is told %s %s", m.Performative(), m.InReplyTo())
	}
}

// Each receiver of a broadcast request replies separately. The loss of one receiver,
// which fails with a refusal, does not suppress the replies of the others.
func TestLossOfOneReceiverOfABroadcast(t *testing.T) {
	h := newHub(t, noPeerOptions)
	callers := make(map[performatives.AgentID]*caller)
	for _, id := range []performatives.AgentID{"Ann", "Bob", "Cid"} {
		c := newCaller(t, h, nil)
		c.say(message(t, id, "system", performatives.ActQueryCapabilities, offers("bid")))
		h.awaitVisible(id)
		c.answer(1)
		callers[id] = c
	}
	ann, bob, cid := callers["Ann"], callers["Bob"], callers["Cid"]
	call := message(t, "Ann", "", performatives.ActQueryCapabilities, with(performatives.QueryCapabilities{Type: performatives.QuerySummary}),
		func(e *performatives.Envelope) { e.Protocol = "roll-call" }) // the node answers only the Whispering Wind for them
	ann.say(call)
	bob.answer(2)
	asked := cid.answer(2)
	bob.cut()
	if m := ann.answer(2); m.Sender() != "Bob" || m.Performative() != performatives.ActFailure || m.InReplyTo() != string(call.ID()) {
		t.Fatalf("told %s by %q", m.Performative(), m.Sender())
	}
	answer, err := asked.ReplyFrom("Cid", performatives.Stamp{ID: "bid", Time: time.Now()}, performatives.ActInformCapabilities, performatives.Raw(`{"n":2}`))
	if err != nil {
		t.Fatal(err)
	}
	cid.say(answer)
	if m := ann.answer(3); m.Sender() != "Cid" || m.ID() != answer.ID() {
		t.Errorf("told %s by %q", m.Performative(), m.Sender())
	}
}

// An agent beyond an uplink also gets FAILURE when a peer of the other node disconnects.
func TestLossOfAPeerBehindAnUplink(t *testing.T) {
	h := newHub(t, noPeerOptions)
	o := connected(t, h, "outpost", nil)
	c := newCaller(t, newHubOf(t, o.Node, noPeerOptions), nil)
	c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("debug_code")))
	h.awaitVisible("Jules")
	c.answer(1)
	d, err := delegation.Start(patience.Context(t), h, "Jules", task("debug_code"))
	if err != nil {
		t.Fatal(err)
	}
	if m := c.answer(2); m.Performative() != performatives.ActTaskRequest {
		t.Fatalf("got %s", m.Performative())
	}
	c.cut()
	if _, err = d.Wait(); !errors.Is(err, performatives.CodeDisconnected) {
		t.Errorf("the asker is told %v", err)
	}
}

// TestWithdrawnRequestSentAgain has a peer send its request again after the request was withdrawn:
// by the end of the session, or by its own CANCEL. It gets the end: FAILURE, or the receipt.
func TestWithdrawnRequestSentAgain(t *testing.T) {
	for name, reconnect := range map[string]bool{"by the end of the session": true, "by CANCEL": false} {
		t.Run(name, func(t *testing.T) {
			started, ended := make(chan struct{}, 1), make(chan error, 1)
			h := newHub(t, noPeerOptions)
			h.spawn("Jules", returning(newCancellableWorker(started, ended)))
			stream := listen(t, h.Node, lifecycle.KindTransition)
			request := message(t, "Ada", "Jules", performatives.ActTaskRequest, with(task("debug_code")))
			owner := func() *caller {
				c := newCaller(t, h, nil)
				c.say(message(t, "Ada", "system", performatives.ActQueryCapabilities, offers()))
				c.answer(1)
				return c
			}
			c := owner()
			c.say(request)
			c.answer(2) // TASK_ACCEPT
			<-started
			answers := 2
			if reconnect {
				c.cut()
			} else {
				c.say(message(t, "Ada", "Jules", performatives.ActCancel, func(e *performatives.Envelope) {
					e.ConversationID, e.InReplyTo, e.Payload = request.ConversationID(), string(request.ID()), performatives.Cancel{}
				}))
				answers++
				c.answer(answers)
			}
			if err := <-ended; err == nil {
				t.Error("the handler was not cancelled")
			}
			await(t, stream, 1, func(e lifecycle.Transition) bool { return e.Role == machine.Responder && e.Ended })
			if reconnect {
				c, answers = owner(), 1
			}
			c.say(request)
			m := c.answer(answers + 1)
			if m.ConversationID() != request.ConversationID() || m.Performative() == performatives.ActFailure != reconnect || !reconnect && m.Performative() != performatives.ActInform {
				t.Errorf("got %s, %+v", m.Performative(), m.AsRefusal())
			}
			if r := m.AsRefusal(); reconnect && (r.Code != performatives.CodeDisconnected || !strings.Contains(r.Text, "given up")) {
				t.Errorf("got %v", r)
			}
			select {
			case <-started:
				t.Error("it is performed again")
			default:
			}
		})
	}
}

// What a worker has not answered when its id connects to another node is lost: the asker is told
// once, and neither connection of the worker gets a CANCEL.
func TestWorkOfAnIDThatConnectsToAnotherNode(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := newCluster(t, 2)
	hubs := []*hub{newHubOf(t, nodes[0], noPeerOptions), newHubOf(t, nodes[1], noPeerOptions)}
	for at, h := range hubs {
		name := performatives.AgentID(fmt.Sprint("Ext", at))
		asker, worker, again := newCaller(t, h, nil), newCaller(t, hubs[0], nil), newCaller(t, hubs[1], nil)
		register := func(c *caller) {
			c.say(message(t, name, "system", performatives.ActQueryCapabilities, offers("hold")))
			c.answer(1)
		}
		register(worker)
		isAt(t, nodes[1], name, "n1")
		asker.say(message(t, performatives.AgentID(fmt.Sprint("Asker", at)), name, performatives.ActRequest))
		request := worker.answer(2)
		register(again)
		if f, ok := asker.answer(1).Payload().(performatives.Failure); !ok || f.ErrorCode != performatives.CodeDisconnected {
			t.Errorf("an asker at n%d is told %+v", at+1, asker.answer(1))
		}
		isAt(t, nodes[0], name, "n2")
		again.say(message(t, name, request.Sender(), performatives.ActInform, func(e *performatives.Envelope) {
			e.ConversationID, e.InReplyTo = request.ConversationID(), string(request.ID())
		}))
		again.say(message(t, name, "system", performatives.ActQueryCapabilities, offers("hold")))
		again.answer(2)
		if got := again.Await(t, 2); len(got) != 2 {
			t.Errorf("the second connection gets %v", got[1:])
		}
		if got := asker.Await(t, 1); len(got) != 1 {
			t.Errorf("the asker is told %v", got)
		}
	}
}
