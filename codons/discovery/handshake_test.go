package discovery_test

import (
	"context"
	"errors"
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
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// host answers handshakes by a function.
type host struct {
	kit.Plain
	consider func(context.Context, discovery.Greeting) error
}

func (h *host) ConsiderHandshake(ctx context.Context, g discovery.Greeting) error {
	return h.consider(ctx, g)
}

func startHandshake(ctx context.Context, party codons.Party, to p.AgentID) *kit.Ongoing {
	u, _ := kit.InBackground(ctx, func(ctx context.Context) (p.Capabilities, error) {
		return discovery.Handshake(ctx, party, to)
	})
	return u
}

// reserved is an agent with many roles that requires a handshake.
type reserved struct {
	*kit.Worker
	*host
}

func (*reserved) Describe() p.Capabilities { return p.Capabilities{Topics: []string{"Reserve"}} }

func (*reserved) RequiresHandshake() bool { return true }

func (*reserved) HandleRequest(context.Context, request.Requested) (any, error) {
	return p.Raw(`{}`), nil
}

func (*reserved) HandleQueryIf(context.Context, query.AskedIf) (bool, error) { return true, nil }

func (*reserved) HandleQueryRef(context.Context, query.AskedRef) (any, error) { return 1, nil }

func (*reserved) ConsiderProposal(context.Context, approval.Proposed) (approval.Verdict, error) {
	return approval.Verdict{Accepted: true}, nil
}

func (*reserved) ConsiderWhen(context.Context, request.RequestedWhen) error { return nil }

func (*reserved) AwaitCondition(context.Context, request.RequestedWhen) error { return nil }

func (*reserved) PerformWhen(context.Context, request.RequestedWhen) (any, error) {
	return p.Raw(`{}`), nil
}

func newReserved() *reserved {
	return &reserved{&kit.Worker{}, &host{consider: func(context.Context, discovery.Greeting) error { return nil }}}
}

// askAll begins a conversation of each role with Reserved, and returns the errors.
func askAll(ctx context.Context, party codons.Party) map[string]error {
	errs := map[string]error{}
	_, errs["delegate"] = delegation.Delegate(ctx, party, "Reserved", kit.Task())
	_, errs["request"] = request.Request[p.Raw](ctx, party, "Reserved", p.Raw(`{"item":"tea"}`))
	_, errs["query-if"] = query.If(ctx, party, "Reserved", "x")
	_, errs["query-ref"] = query.Ref[int](ctx, party, "Reserved", "x")
	_, errs["propose"] = approval.Propose(ctx, party, "Reserved", map[string]string{"build": "a bench"})
	_, errs["request-when"] = request.AskWhen[p.Raw](ctx, party, "Reserved", request.When{Condition: p.ContentOf("it rains"), Action: p.ContentOf("sow")})
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

func isHandshakeRequired(err error) bool { return errors.Is(err, p.CodeHandshakeRequired) }

func isNil(err error) bool { return err == nil }

func TestHandshake(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var greeted p.Capabilities
		r := newReserved()
		r.host.consider = func(_ context.Context, g discovery.Greeting) error {
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

// TestHandshakeAfterRestart has the agent fail: its new value requires handshakes, too.
func TestHandshakeAfterRestart(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		r := w.Add("Reserved", newReserved())
		wantAll(t, askAll(t.Context(), w.Eddy), isHandshakeRequired)
		_ = r.Do(t.Context(), func(actors.Agent) { panic("oops") })
		wantAll(t, askAll(t.Context(), w.Eddy), isHandshakeRequired)
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
			r.host.consider = func(context.Context, discovery.Greeting) error { return &p.Refusal{Code: p.CodeForbidden} }
			eliza, _ := w.Lookup("Eliza")
			_, err := discovery.Handshake(t.Context(), eliza, "Reserved")
			kit.WantEnd(t, err, "refused", p.CodeForbidden)
			if eliza.Knows("Reserved") {
				t.Error("the refused agent still knows the peer")
			}
		}, isHandshakeRequired},
		"a further handshake fails": {func(t *testing.T, w *kit.World, r *reserved, _ actors.Self) {
			r.host.consider = func(context.Context, discovery.Greeting) error { panic("oh") }
			eliza, _ := w.Lookup("Eliza")
			_, err := discovery.Handshake(t.Context(), eliza, "Reserved")
			kit.WantEnd(t, err, "failed", p.CodeInternal)
		}, isNil},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Allow(systemtest.ErrorLogged)
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
		w.Add("Host", &host{consider: func(ctx context.Context, _ discovery.Greeting) error { <-ctx.Done(); return nil }})
		ctx, cancel := context.WithCancel(t.Context())
		u := startHandshake(ctx, w.Eddy, "Host")
		synctest.Wait()
		cancel()
		_, err := u.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		self, _ := w.Lookup("Host")
		if w.Eddy.Knows("Host") || self.Knows("Eddy") {
			t.Error("a handshake that was withdrawn counts")
		}
		if _, err := discovery.Handshake(t.Context(), w.Eddy, "Nobody"); !errors.Is(err, p.CodeUnknownAgent) || w.Eddy.Knows("Nobody") {
			t.Errorf("got %v", err)
		}
		w.Settled(0)
	})
}

// A query for capabilities and a CANCEL pass without a handshake.
func TestMessagesThatNeedNoHandshake(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Reserved", newReserved())
		a := w.Peer("peer")
		if got, err := discovery.Whisper(t.Context(), a.Self, "Reserved", kit.Summary); err != nil || got.Capabilities == nil {
			t.Errorf("got %+v, %v", got, err)
		}
		a.Send(p.Envelope{Receiver: "Reserved", Protocol: "request", InReplyTo: "r-1", ConversationID: "c", Payload: p.Cancel{}})
		a.Expect(p.ActInform)
		// A query without capabilities is the Whispering Wind's, and no handshake.
		a.Send(p.Envelope{Receiver: "Reserved", Payload: kit.Summary})
		a.Expect(p.ActInformCapabilities)
		a.Send(p.Envelope{Receiver: "Reserved", Protocol: "handshake", Payload: kit.Summary})
		if r := a.Expect(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeInvalidPayload {
			t.Errorf("got %v", r)
		}
		a.Send(p.Envelope{Receiver: "Reserved", Payload: kit.Task()})
		if r := a.Expect(p.ActTaskReject).AsRefusal(); r.Code != p.CodeHandshakeRequired {
			t.Errorf("got %v", r)
		}
		// A query with capabilities is a handshake, also without the protocol's name.
		a.Send(p.Envelope{Receiver: "Reserved", Payload: p.QueryCapabilities{Type: p.QuerySummary, Capabilities: &p.Capabilities{}}})
		a.Expect(p.ActInformCapabilities)
		a.Send(p.Envelope{Receiver: "Reserved", Payload: kit.Task()})
		a.Expect(p.ActTaskAccept)
		a.Expect(p.ActInformResult)
	})
}

// An answer without the capabilities of the peer is not valid.
func TestHandshakeAnswerWithoutCapabilities(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("peer")
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActQueryCapabilities {
				a.Got <- m
			}
			return m.Performative() == p.ActQueryCapabilities
		})
		u := startHandshake(t.Context(), w.Eddy, "peer")
		a.Reply(a.Expect(p.ActQueryCapabilities), p.InformCapabilities{})
		_, err := u.Wait()
		kit.WantEnd(t, err, "answered", p.CodeInvalidPayload)
		if w.Eddy.Knows("peer") {
			t.Error("an invalid answer counts as a handshake")
		}
	})
}

// guardedReceiver is an agent with a Receive that requires a handshake.
type guardedReceiver struct{ *kit.Peer }

func (guardedReceiver) RequiresHandshake() bool { return true }

// Messages to a Receive are guarded, except replies to the agent's own requests.
func TestReceiveIsGuarded(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.Violation)
		r := &kit.Peer{Peer: systemtest.NewPeer(t)}
		r.Self = w.Add("Guarded", guardedReceiver{r})
		a := w.Peer("peer")
		before := w.Counts()
		a.Send(p.Envelope{Receiver: "Guarded", Performative: p.ActSubscribe, Payload: p.Raw(`{}`)})
		if got := a.Expect(p.ActRefuse).AsRefusal(); got.Code != p.CodeHandshakeRequired {
			t.Errorf("got %v", got)
		}
		a.Send(p.Envelope{Receiver: "Guarded", Performative: p.ActInform, Payload: p.Raw(`{}`)})
		r.Silent()
		if n := w.Counts(); n.DeadLetters != before.DeadLetters+1 || n.Refused != before.Refused+1 {
			t.Errorf("before %+v, after %+v", before, n)
		}
		question := r.Send(p.Envelope{Receiver: "peer", Performative: p.ActSubscribe, Payload: p.Raw(`{}`)})
		answer, err := a.Expect(p.ActSubscribe).ReplyAs(a.Stamp(), p.ActInform, p.Raw(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		a.SendAgain(answer)
		if !r.Expect(p.ActInform).Answers(question) {
			t.Error("not the answer to the question")
		}
		if _, err := discovery.Handshake(t.Context(), a.Self, "Guarded"); err != nil {
			t.Fatal(err)
		}
		a.Send(p.Envelope{Receiver: "Guarded", Performative: p.ActInform, Payload: p.Raw(`{}`)})
		r.Expect(p.ActInform)
	})
}

// Each agent asks the other; one of the two handshakes fails.
func TestCrossingHandshakes(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		r := newReserved()
		r.host.consider = func(ctx context.Context, _ discovery.Greeting) error { <-ctx.Done(); return context.Cause(ctx) }
		self := w.Add("Reserved", r)
		u := startHandshake(t.Context(), w.Eddy, "Reserved")
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
		r.host.consider = func(context.Context, discovery.Greeting) error { <-hold; return nil }
		u := startHandshake(t.Context(), w.Add("Eliza", kit.Plain{}), "Reserved")
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
		w.Add("Host", &host{consider: func(ctx context.Context, g discovery.Greeting) error {
			_, err := query.If(ctx, g.Agent, g.Message.Sender(), "x")
			return err
		}})
		if _, err := discovery.Handshake(t.Context(), self, "Host"); err != nil {
			t.Error(err)
		}
		w.Settled(0)
	})
}

// A handshake remains valid when the agent that requires it restarts.
func TestHandshakeSurvivesARestart(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
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
