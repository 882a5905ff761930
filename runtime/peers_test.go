package runtime_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// report is a worker that reports progress and then succeeds.
var reporter = worker{func(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
	if err := t.Progress(50, "half"); err != nil {
		return performatives.InformResult{}, err
	}
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "done: " + t.Description}, nil
}}

func returning(a actors.Agent) func() actors.Agent { return func() actors.Agent { return a } }

// directions runs a test in both directions: with the sender on the hub and the agent on
// the outpost, and the reverse.
func directions(t *testing.T, create func() actors.Agent, test func(t *testing.T, asker codons.Party, h *hub, o *outpost)) {
	t.Run("to the peer", func(t *testing.T) {
		h := newHub(t, noPeerOptions)
		o := connected(t, h, "out", crew{"Jules": create})
		test(t, h, h, o)
	})
	t.Run("from the peer", func(t *testing.T) {
		h := newHub(t, noPeerOptions)
		h.spawn("Jules", create)
		o := connected(t, h, "out", nil)
		test(t, o, h, o)
	})
}

func TestDelegateAcross(t *testing.T) {
	directions(t, returning(reporter), func(t *testing.T, asker codons.Party, _ *hub, _ *outpost) {
		accepted, progress := 0, 0.0
		got, err := delegation.Delegate(patience.Context(t), asker, "jules", performatives.TaskRequest{TaskType: "debug_code", Description: "x"},
			delegation.WithAccepted(func(performatives.TaskAccept) { accepted++ }),
			delegation.WithProgress(func(u performatives.StatusUpdate) { progress = *u.Progress }))
		if err != nil || got.Summary != "done: x" || accepted != 1 || progress != 50 {
			t.Errorf("got %+v, %v, accepted %d times, %v %%", got, err, accepted, progress)
		}
	})
}

// newCancellableWorker returns a worker that works until it is cancelled.
func newCancellableWorker(started chan<- struct{}, ended chan<- error) worker {
	return worker{func(ctx context.Context, _ delegation.Task) (performatives.InformResult, error) {
		started <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return performatives.InformResult{}, ctx.Err()
	}}
}

func TestCancelAcross(t *testing.T) {
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	directions(t, returning(newCancellableWorker(started, ended)), func(t *testing.T, asker codons.Party, _ *hub, _ *outpost) {
		cancelAcross(t, asker, "Jules", started, ended)
	})
}

// cancelAcross sends a task and cancels it. The sender gets the receipt, and the handler
// ends.
func cancelAcross(t *testing.T, asker codons.Party, to performatives.AgentID, started <-chan struct{}, ended <-chan error) {
	t.Helper()
	d, err := delegation.Start(patience.Context(t), asker, to, task("debug_code"))
	if err != nil {
		t.Fatal(err)
	}
	<-started
	d.Cancel()
	_, err = d.Wait()
	var end *codons.EndError
	if !errors.As(err, &end) || end.State != "cancelled" {
		t.Errorf("%s: %v, want the receipt", to, err)
	}
	if why := <-ended; !errors.Is(why, codons.ErrCanceled) {
		t.Errorf("%s: the work ended because of %v", to, why)
	}
}

func TestDeadlineAcross(t *testing.T) {
	for name, atHub := range map[string]bool{"to the peer": false, "from the peer": true} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { deadlineAcross(t, atHub) }) })
	}
}

func deadlineAcross(t *testing.T, atHub bool) {
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	h := newHub(t, noPeerOptions)
	agents, asker := crew{"Jules": returning(newCancellableWorker(started, ended))}, codons.Party(h)
	if atHub {
		h.spawn("Jules", agents["Jules"])
		agents = nil
	}
	o := connected(t, h, "out", agents)
	if atHub {
		asker = o
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if _, err := delegation.Delegate(ctx, asker, "Jules", task("debug_code")); !errors.Is(err, performatives.CodeTimeout) {
		t.Errorf("got %v", err)
	}
	<-started
	if why := <-ended; !errors.Is(why, codons.ErrDeadline) && !errors.Is(why, codons.ErrCanceled) { // both come at the same time
		t.Errorf("the work ended because of %v", why)
	}
}

func TestNeedInputAcross(t *testing.T) {
	curious := worker{func(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
		more, err := t.NeedInput(ctx, "which file?")
		return performatives.InformResult{Status: performatives.StatusSuccess, Summary: more.Description}, err
	}}
	directions(t, returning(curious), func(t *testing.T, asker codons.Party, _ *hub, _ *outpost) {
		got, err := delegation.Delegate(patience.Context(t), asker, "Jules", task("debug_code"),
			delegation.WithInput(func(_ context.Context, r performatives.InformResult) (performatives.TaskRequest, bool) {
				return performatives.TaskRequest{TaskType: "debug_code", Description: "main.py, since you ask " + r.RequestForUser()}, true
			}))
		if err != nil || got.Summary != "main.py, since you ask which file?" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestWhisperAcross(t *testing.T) {
	h := newHub(t, noPeerOptions)
	h.spawn("Eliza", always(scripted{topics: []string{"Poetry"}}))
	o := connected(t, h, "out", crew{"Jules": returning(reporter)})
	cs, err := h.Whisper(patience.Context(t), performatives.QueryCapabilities{
		Type: performatives.QuerySpecific, Parameters: performatives.QueryParameters{Capabilities: []string{"debugging"}},
	})
	if err != nil || len(cs) != 2 || cs[0].Agent != "Jules" || !cs[0].Match || cs[1].Match {
		t.Errorf("the hub finds %+v, %v", cs, err)
	}
	// What has no answer is refused, once.
	if _, err := discovery.Whisper(patience.Context(t), h, "Jules", performatives.QueryCapabilities{
		Type: performatives.QueryActionDetails, Parameters: performatives.QueryParameters{ActionName: "none"},
	}); !errors.Is(err, performatives.CodeUnknownAction) {
		t.Errorf("of an action that is none, the hub learns: %v", err)
	}
	told := make(chan *performatives.Message, 2)
	h.spawn("asker", always(scripted{receive: func(_ *actors.Context, m *performatives.Message) { told <- m }}))
	if err := h.Send(message(t, "asker", "Jules", performatives.ActQueryCapabilities, with(performatives.QueryCapabilities{
		Type: performatives.QueryActionDetails, Parameters: performatives.QueryParameters{ActionName: "none"},
	}))); err != nil {
		t.Fatal(err)
	}
	if m := <-told; !errors.Is(m.AsRefusal(), performatives.CodeUnknownAction) || len(told) > 0 {
		t.Errorf("the asker is told %s, and %d more", m.Performative(), len(told))
	}
	answer, err := discovery.Whisper(patience.Context(t), o, "eliza", performatives.QueryCapabilities{Type: performatives.QuerySummary})
	if err != nil || len(answer.Capabilities.Topics) != 1 {
		t.Errorf("the peer learns %+v, %v", answer, err)
	}
	if e, ok := h.Directory().Lookup("jules"); !ok || e.ID != "Jules" || e.Node != "hub" {
		t.Errorf("the directory has %+v, %t", e, ok)
	}
}

// A peer that tells the node anything but that its tools have changed is not asked for them.
func TestPeerWithNews(t *testing.T) {
	h := newHub(t, noPeerOptions)
	c := newCaller(t, h, nil)
	c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("read")))
	c.answer(1)
	for _, ontology := range []string{"weather", performatives.OntologyCapabilityInformation} {
		c.say(message(t, "Jules", "system", performatives.ActInform, func(e *performatives.Envelope) {
			e.Ontology, e.Payload = ontology, performatives.Raw(`{"text":"news"}`)
		}))
	}
	c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("read", "write")))
	if m := c.answer(2); m.Performative() != performatives.ActInformCapabilities {
		t.Errorf("it is told %s, %v", m.Performative(), m.AsRefusal())
	}
}

// An agent that has introduced itself without capabilities is hidden, and answers capability
// queries itself.
func TestHiddenPeerAnswersForItself(t *testing.T) {
	h := newHub(t, noPeerOptions)
	o := newOutpost(t, h, "out", withoutIntroduction)
	if err := o.Spawn(patience.Context(t), "Jules", returning(reporter)); err != nil {
		t.Fatal(err)
	}
	h.spawn("Eliza", always(scripted{receive: echo}))
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	jules, _ := o.System().Lookup("Jules")
	if _, err := jules.Ask(patience.Context(t), message(t, "Jules", "system", performatives.ActQueryCapabilities, offers())); err != nil {
		t.Fatal(err)
	}
	if ids := h.Directory().IDs(); len(ids) != 1 {
		t.Errorf("visible are %v", ids)
	}
	got, err := discovery.Whisper(patience.Context(t), h, "Jules", performatives.QueryCapabilities{Type: performatives.QuerySummary})
	if err != nil || len(got.Capabilities.Topics) != 1 {
		t.Errorf("asked itself: %+v, %v", got, err)
	}
}

// handshakeWorker is a worker that requires a handshake.
type handshakeWorker struct{ worker }

func (handshakeWorker) RequiresHandshake() bool { return true }

func TestHandshakeAcross(t *testing.T) {
	directions(t, returning(handshakeWorker{reporter}), func(t *testing.T, asker codons.Party, _ *hub, _ *outpost) {
		if _, err := delegation.Delegate(patience.Context(t), asker, "Jules", task("debug_code")); !errors.Is(err, performatives.CodeHandshakeRequired) {
			t.Errorf("a stranger gets %v", err)
		}
		theirs, err := discovery.Handshake(patience.Context(t), asker, "Jules")
		if err != nil || len(theirs.Topics) != 1 {
			t.Fatalf("Handshake = %+v, %v", theirs, err)
		}
		if _, err := delegation.Delegate(patience.Context(t), asker, "Jules", task("debug_code")); err != nil {
			t.Errorf("an acquaintance gets %v", err)
		}
	})
}

// publisher publishes numbers.
type publisher struct {
	scripted
	numbers *subscribe.Topic[int]
}

func (p *publisher) ConsiderSubscription(context.Context, subscribe.Subscribing) (subscribe.Feed, error) {
	return p.numbers.Feed(), nil
}

func TestSubscribeAcross(t *testing.T) {
	numbers := subscribe.NewTopic[int](subscribe.TopicOptions{})
	directions(t, returning(&publisher{numbers: numbers, scripted: scripted{topics: []string{"Numbers"}}}), func(t *testing.T, asker codons.Party, h *hub, _ *outpost) {
		stream, err := subscribe.Subscribe[int](patience.Context(t), asker, "Jules", subscribe.Subscription{Topic: "numbers"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			numbers.Publish(i)
			if e, err := stream.Next(patience.Context(t)); err != nil || e.Value != i || e.Lost > 0 {
				t.Fatalf("got %+v, %v, want %d", e, err, i)
			}
		}
		if err := stream.Unsubscribe(); err != nil || numbers.Subscribers() != 0 {
			t.Errorf("Unsubscribe = %v, %d are left", err, numbers.Subscribers())
		}
	})
}

// bidder bids its price.
type bidder struct {
	worker
	price float64
}

func (b bidder) ConsiderCall(context.Context, contractnet.Called) (contractnet.Proposal, error) {
	return contractnet.Proposal{Cost: b.price}, nil
}

func (b bidder) PerformAward(context.Context, contractnet.Awarded) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess}, nil
}

func TestContractNetAcross(t *testing.T) {
	h := newHub(t, noPeerOptions)
	h.spawn("Ada", returning(bidder{reporter, 3}))
	o := connected(t, h, "out", crew{"Bob": returning(bidder{reporter, 2})})
	bidders := []performatives.AgentID{"Ada", "Bob"}
	for name, party := range map[string]codons.Party{"the hub": h, "the peer": o} {
		all, err := contractnet.CallForProposals(patience.Context(t), party, bidders, contractnet.Call{Task: task("paint")})
		if err != nil || len(all.Awards) != 1 || all.Awards[0].Bidder != "Bob" || len(all.Lost) != 1 {
			t.Errorf("%s awards %+v, %v", name, all, err)
		}
	}
	if counts := h.Counts(); counts.DeadLetters != 0 {
		t.Errorf("the hub counts %+v", counts)
	}
}

// TestRefusedCopyAcross has a full mailbox on the other node refuse repetitions of a request that
// its agent considers. The caller gets the result, and the task is performed once.
func TestRefusedCopyAcross(t *testing.T) {
	for _, far := range []bool{true, false} {
		performed := atomic.Int32{}
		considering, decide := make(chan struct{}, 1), make(chan struct{})
		jules := &heldWorker{
			scripted: scripted{topics: []string{"x"}},
			consider: func() { considering <- struct{}{}; <-decide }, // on the actor of the agent
			perform:  func() { performed.Add(1) },
		}
		h := newHub(t, noPeerOptions)
		o := connected(t, h, "out", nil)
		caller, receiver := codons.Party(o), h.Node
		if far {
			caller, receiver = h, o.Node
		}
		if err := receiver.Spawn(patience.Context(t), "Jules", returning(jules), runtime.WithCapacity(1)); err != nil {
			t.Fatal(err)
		}
		if far {
			h.awaitVisible("Jules")
		}
		refusals := listen(t, receiver, events.KindMessageRefused)
		dropped := listen(t, nodeOf(h, o, far), events.KindMessageDeadLettered)
		d, err := delegation.Start(patience.Context(t), caller, "Jules", task("debug_code"), codons.WithRetry(codons.Retry{First: 20 * time.Millisecond}))
		if err != nil {
			t.Fatal(err)
		}
		<-considering
		for receiver.Send(message(t, "x", "Jules", performatives.ActInform)) == nil { // until the mailbox is full
			continue
		}
		await(t, refusals, 2, func(e events.MessageRefused) bool { return e.Refusal.Code == performatives.CodeBusy })
		await(t, dropped, 2, func(e events.DeadLetter) bool { return e.Code == machine.DropUndeliverable })
		close(decide)
		if _, err := d.Wait(); err != nil || performed.Load() != 1 {
			t.Errorf("far %v: got %v, performed %d times", far, err, performed.Load())
		}
	}
}

// nodeOf returns the node of the caller.
func nodeOf(h *hub, o *outpost, far bool) *runtime.Node {
	if far {
		return h.Node
	}
	return o.Node
}

// heldWorker is a worker of functions.
type heldWorker struct {
	scripted
	consider, perform func()
}

func (w *heldWorker) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	w.consider()
	return delegation.Accept()
}

func (w *heldWorker) PerformTask(context.Context, delegation.Task) (performatives.InformResult, error) {
	w.perform()
	return performatives.InformResult{Status: performatives.StatusSuccess}, nil
}
