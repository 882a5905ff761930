package codons_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// host shakes hands as a function says.
type host struct {
	plain
	consider func(context.Context, codons.Greeting) error
}

func (h *host) ConsiderHandshake(ctx context.Context, g codons.Greeting) error {
	return h.consider(ctx, g)
}

func kindHandshake() kind {
	return kind{
		name: "handshake", opening: p.ActQueryCapabilities, answer: p.ActInformCapabilities,
		good: p.Capabilities{Topics: []string{}, Actions: []p.Action{}},
		agent: func(h handle) actors.Agent {
			return &host{consider: func(ctx context.Context, _ codons.Greeting) error {
				return h(ctx, func() error { return nil })
			}}
		},
		start: startHandshake,
	}
}

// startHandshake is a handshake without the wait.
func startHandshake(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*ongoing, error) {
	return inBackground(ctx, func(ctx context.Context) (p.Capabilities, error) {
		return codons.Handshake(ctx, party, to, opts...)
	})
}

// reserved is an agent with all the roles of this file's neighbours that requires a
// handshake for each.
type reserved struct {
	*worker
	*observatory
	*council
	*sprinkler
	*shop
	*host
}

func (*reserved) Describe() p.Capabilities { return p.Capabilities{Topics: []string{"Reserve"}} }

func (*reserved) RequiresHandshake() bool { return true }

func newReserved() *reserved {
	return &reserved{
		&worker{},
		&observatory{truth: func(codons.AskedIf) (bool, error) { return true, nil }, value: func(codons.AskedRef) (any, error) { return 1, nil }},
		&council{consider: thrifty}, &sprinkler{},
		&shop{func(context.Context, codons.Requested) (any, error) { return bill{1}, nil }},
		&host{consider: func(context.Context, codons.Greeting) error { return nil }},
	}
}

// everything asks Reserved for each thing that it does.
func everything(ctx context.Context, party codons.Party) map[string]error {
	errs := map[string]error{}
	_, errs["delegate"] = codons.Delegate(ctx, party, "Reserved", task())
	_, errs["request"] = codons.Request[bill](ctx, party, "Reserved", order{"tea"})
	_, errs["query-if"] = codons.QueryIf(ctx, party, "Reserved", "x")
	_, errs["query-ref"] = codons.QueryRef[int](ctx, party, "Reserved", "x")
	_, errs["propose"] = codons.Propose(ctx, party, "Reserved", plan{"a bench"})
	_, errs["request-when"] = codons.RequestWhen[bill](ctx, party, "Reserved", sowing())
	return errs
}

func wantAll(t *testing.T, errs map[string]error, want func(error) bool) {
	t.Helper()
	for name, err := range errs {
		if !want(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func isStranger(err error) bool { return isCode(err, p.CodeHandshakeRequired) }

func isNil(err error) bool { return err == nil }

func TestHandshakeOpensTheDoor(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var greeted p.Capabilities
		r := newReserved()
		r.host.consider = func(_ context.Context, g codons.Greeting) error {
			greeted = g.Capabilities
			return nil
		}
		jules := w.spawn("Reserved", r)
		wantAll(t, everything(t.Context(), w.eddy), isStranger)
		theirs, err := codons.Handshake(t.Context(), w.eddy, "reserved")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"Reserve"}, theirs.Topics); diff != "" {
			t.Errorf("what the peer can do (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"Debugging", "Unit Testing"}, greeted.Topics); diff != "" {
			t.Errorf("what the peer was told (-want +got):\n%s", diff)
		}
		if !w.eddy.Knows("Reserved") || !jules.Knows("Eddy") {
			t.Error("one does not know the other")
		}
		wantAll(t, everything(t.Context(), w.eddy), isNil)
		wantAll(t, everything(t.Context(), w.spawn("Eliza", plain{})), isStranger)
		wantAll(t, everything(t.Context(), jules), isNil) // itself
		w.settled(0)
	})
}

// TestHandshakeWorksBothWays has the one that asks require it.
func TestHandshakeWorksBothWays(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.spawn("Reserved", newReserved())
		if _, err := codons.Handshake(t.Context(), r, "Eddy"); err != nil {
			t.Fatal(err)
		}
		wantAll(t, everything(t.Context(), w.eddy), isNil)
	})
}

func TestHandshakeIsForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, w *world, r *reserved, self actors.Self)
		want func(error) bool
	}{
		"by nobody": {func(*testing.T, *world, *reserved, actors.Self) {}, isNil},
		"when its peer stops": {func(t *testing.T, w *world, _ *reserved, _ actors.Self) {
			if err := w.StopAgent(t.Context(), "Eliza"); err != nil {
				t.Error(err)
			}
			w.spawn("Eliza", plain{})
		}, isStranger},
		"on purpose": {func(_ *testing.T, _ *world, _ *reserved, self actors.Self) { self.Forget("ELIZA") }, isStranger},
		"when another is refused": {func(t *testing.T, w *world, r *reserved, _ actors.Self) {
			r.host.consider = func(context.Context, codons.Greeting) error { return &p.Refusal{Code: p.CodeForbidden} }
			eliza, _ := w.Lookup("Eliza")
			_, err := codons.Handshake(t.Context(), eliza, "Reserved")
			wantEnd(t, err, "refused", p.CodeForbidden)
			if eliza.Knows("Reserved") {
				t.Error("who was refused takes the peer for one that has shaken hands")
			}
		}, isStranger},
		"not when another fails": {func(t *testing.T, w *world, r *reserved, _ actors.Self) {
			r.host.consider = func(context.Context, codons.Greeting) error { panic("oh") }
			eliza, _ := w.Lookup("Eliza")
			_, err := codons.Handshake(t.Context(), eliza, "Reserved")
			wantEnd(t, err, "failed", p.CodeInternal)
		}, isNil},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				r := newReserved()
				self := w.spawn("Reserved", r)
				if _, err := codons.Handshake(t.Context(), w.spawn("Eliza", plain{}), "Reserved"); err != nil {
					t.Fatal(err)
				}
				c.end(t, w, r, self)
				eliza, _ := w.Lookup("Eliza")
				wantAll(t, everything(t.Context(), eliza), c.want)
			})
		})
	}
}

// TestHandshakeThatFailsMakesNobodyKnown holds for both sides.
func TestHandshakeThatFailsMakesNobodyKnown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Host", &host{consider: func(ctx context.Context, _ codons.Greeting) error { <-ctx.Done(); return nil }})
		ctx, cancel := context.WithCancel(t.Context())
		u, _ := startHandshake(ctx, w.eddy, "Host")
		synctest.Wait()
		cancel()
		_, err := u.wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		self, _ := w.Lookup("Host")
		if w.eddy.Knows("Host") || self.Knows("Eddy") {
			t.Error("a handshake that was withdrawn counts")
		}
		if _, err := codons.Handshake(t.Context(), w.eddy, "Nobody"); !isCode(err, p.CodeUnknownAgent) || w.eddy.Knows("Nobody") {
			t.Errorf("got %v", err)
		}
		w.settled(0)
	})
}

// TestStrangersMay ask what an agent can do, and withdraw what they never began.
func TestStrangersMay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Reserved", newReserved())
		a := w.puppet("puppet")
		if got, err := codons.Whisper(t.Context(), a.Self, "Reserved", summary); err != nil || got.Capabilities == nil {
			t.Errorf("got %+v, %v", got, err)
		}
		a.say(p.Envelope{Receiver: "Reserved", Protocol: "request", InReplyTo: "r-1", ConversationID: "c", Payload: p.Cancel{}})
		a.next(p.ActInform)
		// A question without the asker's capabilities is the Whispering Wind's, and no handshake.
		a.say(p.Envelope{Receiver: "Reserved", Payload: summary})
		a.next(p.ActInformCapabilities)
		a.say(p.Envelope{Receiver: "Reserved", Protocol: "handshake", Payload: summary})
		if r := a.next(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeInvalidPayload {
			t.Errorf("got %v", r)
		}
		a.say(p.Envelope{Receiver: "Reserved", Payload: task()})
		if r := a.next(p.ActTaskReject).AsRefusal(); r.Code != p.CodeHandshakeRequired {
			t.Errorf("got %v", r)
		}
		// One with them is a handshake, whether it says so or not.
		a.say(p.Envelope{Receiver: "Reserved", Payload: p.QueryCapabilities{Type: p.QuerySummary, Capabilities: &p.Capabilities{}}})
		a.next(p.ActInformCapabilities)
		a.say(p.Envelope{Receiver: "Reserved", Payload: task()})
		a.next(p.ActTaskAccept)
		a.next(p.ActInformResult)
	})
}

// TestHandshakeAnswersWithoutCapabilities come from a peer that keeps them to itself.
func TestHandshakeAnswersWithoutCapabilities(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.puppet("puppet")
		w.net.intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActQueryCapabilities {
				a.got <- m
			}
			return m.Performative() == p.ActQueryCapabilities
		})
		u, _ := startHandshake(t.Context(), w.eddy, "puppet")
		a.reply(a.next(p.ActQueryCapabilities), p.InformCapabilities{})
		_, err := u.wait()
		wantEnd(t, err, "answered", p.CodeInvalidPayload)
		if w.eddy.Knows("puppet") {
			t.Error("that counts as a handshake")
		}
	})
}

// recluse is an agent of raw messages that requires a handshake.
type recluse struct{ *puppet }

func (recluse) RequiresHandshake() bool { return true }

// TestReceiversAreGuarded holds for raw messages, but for answers to the agent's own.
func TestReceiversAreGuarded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.lawless.Store(true)
		r := &puppet{t: t, got: make(chan *p.Message, 16)}
		r.Self = w.spawn("Recluse", recluse{r})
		a := w.puppet("puppet")
		before := w.Counts()
		a.say(p.Envelope{Receiver: "Recluse", Performative: p.ActSubscribe, Payload: p.Raw(`{}`)})
		if got := a.next(p.ActRefuse).AsRefusal(); got.Code != p.CodeHandshakeRequired {
			t.Errorf("got %v", got)
		}
		a.say(p.Envelope{Receiver: "Recluse", Performative: p.ActInform, Payload: p.Raw(`{}`)})
		r.silence()
		if n := w.Counts(); n.DeadLetters != before.DeadLetters+1 || n.Refused != before.Refused+1 {
			t.Errorf("before %+v, after %+v", before, n)
		}
		question := r.say(p.Envelope{Receiver: "puppet", Performative: p.ActSubscribe, Payload: p.Raw(`{}`)})
		answer, err := a.next(p.ActSubscribe).ReplyAs(a.Stamp(), p.ActInform, p.Raw(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		a.send(answer)
		if !r.next(p.ActInform).Answers(question) {
			t.Error("another answer")
		}
		if _, err := codons.Handshake(t.Context(), a.Self, "Recluse"); err != nil {
			t.Fatal(err)
		}
		a.say(p.Envelope{Receiver: "Recluse", Performative: p.ActInform, Payload: p.Raw(`{}`)})
		r.next(p.ActInform)
	})
}

// TestHandshakesCross has each ask the other, and one of the two come to nothing.
func TestHandshakesCross(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := newReserved()
		r.host.consider = func(ctx context.Context, _ codons.Greeting) error { <-ctx.Done(); return context.Cause(ctx) }
		self := w.spawn("Reserved", r)
		u, _ := startHandshake(t.Context(), w.eddy, "Reserved")
		synctest.Wait()
		if _, err := codons.Handshake(t.Context(), self, "Eddy"); err != nil {
			t.Fatal(err)
		}
		if _, err := u.wait(); err == nil {
			t.Fatal("both came to something")
		}
		if !w.eddy.Knows("Reserved") || !self.Knows("Eddy") {
			t.Error("one has forgotten the other")
		}
		w.settled(0)
	})
}

// TestHandshakeMeetsNoRoom is no refusal, on either side.
func TestHandshakeMeetsNoRoom(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := newReserved()
		r.worker.max = 1
		self := w.spawn("Reserved", r)
		if _, err := codons.Handshake(t.Context(), w.eddy, "Reserved"); err != nil {
			t.Fatal(err)
		}
		hold := make(chan struct{})
		r.host.consider = func(context.Context, codons.Greeting) error { <-hold; return nil }
		u, _ := startHandshake(t.Context(), w.spawn("Eliza", plain{}), "Reserved")
		synctest.Wait()
		_, err := codons.Handshake(t.Context(), w.eddy, "Reserved")
		wantEnd(t, err, "refused", p.CodeBusy)
		if !w.eddy.Knows("Reserved") || !self.Knows("Eddy") {
			t.Error("one has forgotten the other")
		}
		close(hold)
		if _, err := u.wait(); err != nil {
			t.Error(err)
		}
		w.settled(0)
	})
}

// TestHandshakeLetsThePeerAskFirst has it know more of whom it shakes hands with.
func TestHandshakeLetsThePeerAskFirst(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		self := w.spawn("Reserved", newReserved())
		w.spawn("Host", &host{consider: func(ctx context.Context, g codons.Greeting) error {
			_, err := codons.QueryIf(ctx, g.Agent, g.Message.Sender(), "x")
			return err
		}})
		if _, err := codons.Handshake(t.Context(), self, "Host"); err != nil {
			t.Error(err)
		}
		w.settled(0)
	})
}

// reservedPorch takes deliveries of those that have shaken hands.
type reservedPorch struct{ *porch }

func (reservedPorch) RequiresHandshake() bool { return true }

// TestStrangersDeliver only what the agent itself has had them recruited for.
func TestStrangersDeliver(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		third := &porch{}
		self := w.spawn("Porch", reservedPorch{third})
		jules := w.spawn("Jules", doing("done"))
		w.spawn("Broker", knows("Jules"))
		got, err := codons.Recruit(t.Context(), self, "Broker", debuggers(""))
		if err != nil {
			t.Error(err)
		}
		wantLines(t, brought(got.Deliveries), "Jules: done")
		_, err = codons.Recruit(t.Context(), w.eddy, "Broker", toPorch(""))
		wantEnd(t, err, "failed", p.CodeHandshakeRequired)
		wantLines(t, brought(third.deliveries()))
		if _, err := codons.Handshake(t.Context(), jules, "Porch"); err != nil {
			t.Fatal(err)
		}
		if _, err := codons.Recruit(t.Context(), w.eddy, "Broker", toPorch("")); err != nil {
			t.Error(err)
		}
		wantLines(t, brought(third.deliveries()), "Jules: done")
		w.settled(0)
	})
}

// TestHandshakeOutlivesARestart of the agent that requires it.
func TestHandshakeOutlivesARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := newReserved()
		r.worker.consider = func(context.Context, codons.Task) codons.Decision { panic("oh") }
		self := w.spawn("Reserved", r)
		if _, err := codons.Handshake(t.Context(), w.eddy, "Reserved"); err != nil {
			t.Fatal(err)
		}
		_, _ = codons.Delegate(t.Context(), w.eddy, "Reserved", task())
		time.Sleep(time.Minute) // it has restarted by then
		if _, err := codons.QueryIf(t.Context(), w.eddy, "Reserved", "x"); err != nil || !self.Knows("Eddy") {
			t.Errorf("got %v", err)
		}
		_, err := codons.QueryIf(t.Context(), w.spawn("Eliza", plain{}), "Reserved", "x")
		wantEnd(t, err, "refused", p.CodeHandshakeRequired)
	})
}
