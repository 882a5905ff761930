package discovery_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/mediation"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/codons/request"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// reserved is an agent with many roles that requires a handshake.
type reserved struct {
	*kit.Worker
	*kit.Observatory
	*kit.Council
	*kit.Sprinkler
	*kit.Shop
	*kit.Host
}

func (*reserved) Describe() p.Capabilities { return p.Capabilities{Topics: []string{"Reserve"}} }

func (*reserved) RequiresHandshake() bool { return true }

func newReserved() *reserved {
	return &reserved{
		&kit.Worker{},
		&kit.Observatory{Truth: func(query.AskedIf) (bool, error) { return true, nil }, Value: func(query.AskedRef) (any, error) { return 1, nil }},
		&kit.Council{Consider: kit.Thrifty}, &kit.Sprinkler{},
		&kit.Shop{Handle: func(context.Context, request.Requested) (any, error) { return kit.Bill{Price: 1}, nil }},
		&kit.Host{Consider: func(context.Context, discovery.Greeting) error { return nil }},
	}
}

// askAll begins a conversation of each role with Reserved, and returns the errors.
func askAll(ctx context.Context, party codons.Party) map[string]error {
	errs := map[string]error{}
	_, errs["delegate"] = delegation.Delegate(ctx, party, "Reserved", kit.Task())
	_, errs["request"] = request.Request[kit.Bill](ctx, party, "Reserved", kit.Order{Item: "tea"})
	_, errs["query-if"] = query.If(ctx, party, "Reserved", "x")
	_, errs["query-ref"] = query.Ref[int](ctx, party, "Reserved", "x")
	_, errs["propose"] = approval.Propose(ctx, party, "Reserved", kit.Plan{Build: "a bench"})
	_, errs["request-when"] = request.AskWhen[kit.Bill](ctx, party, "Reserved", kit.Sowing())
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

func isHandshakeRequired(err error) bool { return kit.IsCode(err, p.CodeHandshakeRequired) }

func isNil(err error) bool { return err == nil }

func TestHandshake(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var greeted p.Capabilities
		r := newReserved()
		r.Host.Consider = func(_ context.Context, g discovery.Greeting) error {
			greeted = g.Capabilities
			return nil
		}
		jules := w.Add("Reserved", r)
		wantAll(t, askAll(t.Context(), w.Eddy), isHandshakeRequired)
		theirs, err := discovery.Handshake(t.Context(), w.Eddy, "reserved")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"Reserve"}, theirs.Topics); diff != "" {
			t.Errorf("capabilities of the peer (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"Debugging", "Unit Testing"}, greeted.Topics); diff != "" {
			t.Errorf("capabilities sent to the peer (-want +got):\n%s", diff)
		}
		if !w.Eddy.Knows("Reserved") || !jules.Knows("Eddy") {
			t.Error("one does not know the other")
		}
		wantAll(t, askAll(t.Context(), w.Eddy), isNil)
		wantAll(t, askAll(t.Context(), w.Add("Eliza", kit.Plain{})), isHandshakeRequired)
		wantAll(t, askAll(t.Context(), jules), isNil) // itself
		w.Settled(0)
	})
}

// The agent that requires handshakes is the initiator.
func TestHandshakeByTheRequiringAgent(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		r := w.Add("Reserved", newReserved())
		if _, err := discovery.Handshake(t.Context(), r, "Eddy"); err != nil {
			t.Fatal(err)
		}
		wantAll(t, askAll(t.Context(), w.Eddy), isNil)
	})
}

func TestHandshakeIsForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, w *kit.World, r *reserved, self actors.Self)
		want func(error) bool
	}{
		"nothing happens": {func(*testing.T, *kit.World, *reserved, actors.Self) {}, isNil},
		"the peer stops": {func(t *testing.T, w *kit.World, _ *reserved, _ actors.Self) {
			if err := w.StopAgent(t.Context(), "Eliza"); err != nil {
				t.Error(err)
			}
			w.Add("Eliza", kit.Plain{})
		}, isHandshakeRequired},
		"Forget": {func(_ *testing.T, _ *kit.World, _ *reserved, self actors.Self) { self.Forget("ELIZA") }, isHandshakeRequired},
		"a further handshake is refused": {func(t *testing.T, w *kit.World, r *reserved, _ actors.Self) {
			r.Host.Consider = func(context.Context, discovery.Greeting) error { return &p.Refusal{Code: p.CodeForbidden} }
			eliza, _ := w.Lookup("Eliza")
			_, err := discovery.Handshake(t.Context(), eliza, "Reserved")
			kit.WantEnd(t, err, "refused", p.CodeForbidden)
			if eliza.Knows("Reserved") {
				t.Error("the refused agent still knows the peer")
			}
		}, isHandshakeRequired},
		"a further handshake fails": {func(t *testing.T, w *kit.World, r *reserved, _ actors.Self) {
			r.Host.Consider = func(context.Context, discovery.Greeting) error { panic("oh") }
			eliza, _ := w.Lookup("Eliza")
			_, err := discovery.Handshake(t.Context(), eliza, "Reserved")
			kit.WantEnd(t, err, "failed", p.CodeInternal)
		}, isNil},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				r := newReserved()
				self := w.Add("Reserved", r)
				if _, err := discovery.Handshake(t.Context(), w.Add("Eliza", kit.Plain{}), "Reserved"); err != nil {
					t.Fatal(err)
				}
				c.end(t, w, r, self)
				eliza, _ := w.Lookup("Eliza")
				wantAll(t, askAll(t.Context(), eliza), c.want)
			})
		})
	}
}

// After a failed handshake neither side knows the other.
func TestFailedHandshake(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Host", &kit.Host{Consider: func(ctx context.Context, _ discovery.Greeting) error { <-ctx.Done(); return nil }})
		ctx, cancel := context.WithCancel(t.Context())
		u, _ := kit.StartHandshake(ctx, w.Eddy, "Host")
		synctest.Wait()
		cancel()
		_, err := u.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		self, _ := w.Lookup("Host")
		if w.Eddy.Knows("Host") || self.Knows("Eddy") {
			t.Error("a handshake that was withdrawn counts")
		}
		if _, err := discovery.Handshake(t.Context(), w.Eddy, "Nobody"); !kit.IsCode(err, p.CodeUnknownAgent) || w.Eddy.Knows("Nobody") {
			t.Errorf("got %v", err)
		}
		w.Settled(0)
	})
}

// A query for capabilities and a CANCEL pass without a handshake.
func TestMessagesThatNeedNoHandshake(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Reserved", newReserved())
		a := w.Puppet("puppet")
		if got, err := discovery.Whisper(t.Context(), a.Self, "Reserved", kit.Summary); err != nil || got.Capabilities == nil {
			t.Errorf("got %+v, %v", got, err)
		}
		a.Say(p.Envelope{Receiver: "Reserved", Protocol: "request", InReplyTo: "r-1", ConversationID: "c", Payload: p.Cancel{}})
		a.Next(p.ActInform)
		// A query without capabilities is the Whispering Wind's, and no handshake.
		a.Say(p.Envelope{Receiver: "Reserved", Payload: kit.Summary})
		a.Next(p.ActInformCapabilities)
		a.Say(p.Envelope{Receiver: "Reserved", Protocol: "handshake", Payload: kit.Summary})
		if r := a.Next(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeInvalidPayload {
			t.Errorf("got %v", r)
		}
		a.Say(p.Envelope{Receiver: "Reserved", Payload: kit.Task()})
		if r := a.Next(p.ActTaskReject).AsRefusal(); r.Code != p.CodeHandshakeRequired {
			t.Errorf("got %v", r)
		}
		// A query with capabilities is a handshake, also without the protocol's name.
		a.Say(p.Envelope{Receiver: "Reserved", Payload: p.QueryCapabilities{Type: p.QuerySummary, Capabilities: &p.Capabilities{}}})
		a.Next(p.ActInformCapabilities)
		a.Say(p.Envelope{Receiver: "Reserved", Payload: kit.Task()})
		a.Next(p.ActTaskAccept)
		a.Next(p.ActInformResult)
	})
}

// An answer without the capabilities of the peer is not valid.
func TestHandshakeAnswerWithoutCapabilities(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Puppet("puppet")
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActQueryCapabilities {
				a.Got <- m
			}
			return m.Performative() == p.ActQueryCapabilities
		})
		u, _ := kit.StartHandshake(t.Context(), w.Eddy, "puppet")
		a.Reply(a.Next(p.ActQueryCapabilities), p.InformCapabilities{})
		_, err := u.Wait()
		kit.WantEnd(t, err, "answered", p.CodeInvalidPayload)
		if w.Eddy.Knows("puppet") {
			t.Error("an invalid answer counts as a handshake")
		}
	})
}

// guardedReceiver is an agent with a Receive that requires a handshake.
type guardedReceiver struct{ *kit.Puppet }

func (guardedReceiver) RequiresHandshake() bool { return true }

// Messages to a Receive are guarded, except replies to the agent's own requests.
func TestReceiveIsGuarded(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Lawless.Store(true)
		r := &kit.Puppet{T: t, Got: make(chan *p.Message, 16)}
		r.Self = w.Add("Guarded", guardedReceiver{r})
		a := w.Puppet("puppet")
		before := w.Counts()
		a.Say(p.Envelope{Receiver: "Guarded", Performative: p.ActSubscribe, Payload: p.Raw(`{}`)})
		if got := a.Next(p.ActRefuse).AsRefusal(); got.Code != p.CodeHandshakeRequired {
			t.Errorf("got %v", got)
		}
		a.Say(p.Envelope{Receiver: "Guarded", Performative: p.ActInform, Payload: p.Raw(`{}`)})
		r.Silence()
		if n := w.Counts(); n.DeadLetters != before.DeadLetters+1 || n.Refused != before.Refused+1 {
			t.Errorf("before %+v, after %+v", before, n)
		}
		question := r.Say(p.Envelope{Receiver: "puppet", Performative: p.ActSubscribe, Payload: p.Raw(`{}`)})
		answer, err := a.Next(p.ActSubscribe).ReplyAs(a.Stamp(), p.ActInform, p.Raw(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		a.Post(answer)
		if !r.Next(p.ActInform).Answers(question) {
			t.Error("not the answer to the question")
		}
		if _, err := discovery.Handshake(t.Context(), a.Self, "Guarded"); err != nil {
			t.Fatal(err)
		}
		a.Say(p.Envelope{Receiver: "Guarded", Performative: p.ActInform, Payload: p.Raw(`{}`)})
		r.Next(p.ActInform)
	})
}

// Each agent asks the other; one of the two handshakes fails.
func TestCrossingHandshakes(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		r := newReserved()
		r.Host.Consider = func(ctx context.Context, _ discovery.Greeting) error { <-ctx.Done(); return context.Cause(ctx) }
		self := w.Add("Reserved", r)
		u, _ := kit.StartHandshake(t.Context(), w.Eddy, "Reserved")
		synctest.Wait()
		if _, err := discovery.Handshake(t.Context(), self, "Eddy"); err != nil {
			t.Fatal(err)
		}
		if _, err := u.Wait(); err == nil {
			t.Fatal("both handshakes succeeded")
		}
		if !w.Eddy.Knows("Reserved") || !self.Knows("Eddy") {
			t.Error("one has forgotten the other")
		}
		w.Settled(0)
	})
}

// A busy refusal of a further handshake ends an earlier one on neither side.
func TestBusyRefusalKeepsTheHandshake(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		r := newReserved()
		r.Worker.Max = 1
		self := w.Add("Reserved", r)
		if _, err := discovery.Handshake(t.Context(), w.Eddy, "Reserved"); err != nil {
			t.Fatal(err)
		}
		hold := make(chan struct{})
		r.Host.Consider = func(context.Context, discovery.Greeting) error { <-hold; return nil }
		u, _ := kit.StartHandshake(t.Context(), w.Add("Eliza", kit.Plain{}), "Reserved")
		synctest.Wait()
		_, err := discovery.Handshake(t.Context(), w.Eddy, "Reserved")
		kit.WantEnd(t, err, "refused", p.CodeBusy)
		if !w.Eddy.Knows("Reserved") || !self.Knows("Eddy") {
			t.Error("one has forgotten the other")
		}
		close(hold)
		if _, err := u.Wait(); err != nil {
			t.Error(err)
		}
		w.Settled(0)
	})
}

// The peer may ask the initiator before it accepts.
func TestPeerAsksDuringTheHandshake(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		self := w.Add("Reserved", newReserved())
		w.Add("Host", &kit.Host{Consider: func(ctx context.Context, g discovery.Greeting) error {
			_, err := query.If(ctx, g.Agent, g.Message.Sender(), "x")
			return err
		}})
		if _, err := discovery.Handshake(t.Context(), self, "Host"); err != nil {
			t.Error(err)
		}
		w.Settled(0)
	})
}

// guardedPorch is a receiver of deliveries that requires a handshake.
type guardedPorch struct{ *kit.Porch }

func (guardedPorch) RequiresHandshake() bool { return true }

// An agent that is not known may deliver what it was recruited for on the receiver's own behalf.
func TestDeliveryNeedsAHandshake(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		third := &kit.Porch{}
		self := w.Add("Porch", guardedPorch{third})
		jules := w.Add("Jules", kit.Doing("done"))
		w.Add("Broker", kit.Knows("Jules"))
		got, err := mediation.Recruit(t.Context(), self, "Broker", kit.Debuggers(""))
		if err != nil {
			t.Error(err)
		}
		kit.WantLines(t, kit.Brought(got.Deliveries), "Jules: done")
		_, err = mediation.Recruit(t.Context(), w.Eddy, "Broker", kit.ToPorch(""))
		kit.WantEnd(t, err, "failed", p.CodeHandshakeRequired)
		kit.WantLines(t, kit.Brought(third.Deliveries()))
		if _, err := discovery.Handshake(t.Context(), jules, "Porch"); err != nil {
			t.Fatal(err)
		}
		if _, err := mediation.Recruit(t.Context(), w.Eddy, "Broker", kit.ToPorch("")); err != nil {
			t.Error(err)
		}
		kit.WantLines(t, kit.Brought(third.Deliveries()), "Jules: done")
		w.Settled(0)
	})
}

// A handshake remains valid when the agent that requires it restarts.
func TestHandshakeSurvivesARestart(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		r := newReserved()
		r.Worker.Consider = func(context.Context, delegation.Task) delegation.Decision { panic("oh") }
		self := w.Add("Reserved", r)
		if _, err := discovery.Handshake(t.Context(), w.Eddy, "Reserved"); err != nil {
			t.Fatal(err)
		}
		_, _ = delegation.Delegate(t.Context(), w.Eddy, "Reserved", kit.Task())
		time.Sleep(time.Minute) // the restart is done
		if _, err := query.If(t.Context(), w.Eddy, "Reserved", "x"); err != nil || !self.Knows("Eddy") {
			t.Errorf("got %v", err)
		}
		_, err := query.If(t.Context(), w.Add("Eliza", kit.Plain{}), "Reserved", "x")
		kit.WantEnd(t, err, "refused", p.CodeHandshakeRequired)
	})
}
