package mediation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/mediation"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestRecruit(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Busy", rejecting())
		w.Add("Jules", succeeding("done"))
		w.Add("Broker", brokerOf("Busy", "Jules"))
		got, err := mediation.Recruit(t.Context(), w.Eddy, "Broker", debugging(mediation.WantOne))
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, deliveryLines(got.Deliveries), "Jules: done")
		if d := got.Deliveries[0]; d.TaskType != "debug_code" || d.Message.Sender() != "Jules" || d.Conversation == "" {
			t.Errorf("got %+v", d)
		}
		if n := len(got.Recruits); n != 2 || got.Recruits[0].Delivered || !got.Recruits[1].Delivered {
			t.Errorf("got %+v", got.Recruits)
		}
		kit.Golden(t, "recruiting", transcript(w, "Eddy", "Broker", "Busy", "Jules"))
		w.Settled(0)
	})
}

func TestRecruitForAnotherReceiver(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		third := &receiver{}
		w.Add("Receiver", third)
		w.Add("Ada", succeeding("by Ada"))
		w.Add("Bad", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			return p.InformResult{}, &p.Refusal{Code: p.CodeForbidden, Text: "no"}
		}})
		w.Add("Worse", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) { panic("oh") }})
		w.Add("Broker", brokerOf("Ada", "Bad", "Worse", "Receiver"))
		q := toReceiver(mediation.WantAll)
		q.Ticket = "our ticket"
		got, err := mediation.Recruit(t.Context(), w.Eddy, "Broker", q)
		if err != nil || len(got.Deliveries) != 0 {
			t.Fatalf("got %+v, %v", got, err)
		}
		wantLines(t, deliveryLines(third.deliveries()), "Ada: by Ada", "Bad failed: forbidden", "Worse failed: internal_error")
		for _, d := range third.deliveries() {
			if d.Message.InReplyTo() != "our ticket" {
				t.Errorf("%s refers to %q", d.Recruit, d.Message.InReplyTo())
			}
		}
		delivered := map[p.AgentID]bool{}
		for _, r := range got.Recruits {
			delivered[r.Agent] = r.Delivered
		}
		if !delivered["Ada"] || !delivered["Bad"] || len(delivered) != 3 {
			t.Errorf("got %+v", got.Recruits)
		}
		w.Settled(0)
	})
}

// TestRecruitOutside is one who knows nothing of deliveries: the recruiter delivers
// in its place.
func TestRecruitOutside(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		third := &receiver{}
		w.Add("Receiver", third)
		w.Add("Broker", &mediation.Broker{})
		outside := w.Peer("Outside")
		q := mediation.Proxy{Agents: []p.AgentID{"Outside"}, Task: kit.Task(), Receiver: "Receiver"}
		r, err := mediation.StartRecruiting(t.Context(), w.Eddy, "Broker", q)
		if err != nil {
			t.Fatal(err)
		}
		request := outside.Expect(p.ActTaskRequest)
		outside.Reply(request, p.TaskAccept{})
		outside.Reply(request, p.InformResult{Status: p.StatusSuccess, Summary: "done"})
		got, err := r.Wait()
		if err != nil || !got.Recruits[0].Delivered {
			t.Errorf("got %+v, %v", got, err)
		}
		wantLines(t, deliveryLines(third.deliveries()), "Outside: done")
		w.Settled(0)
	})
}

// TestReceiverIsNotThere has the recruit tell the recruiter, and that the
// initiator.
func TestReceiverIsNotThere(t *testing.T) {
	for name, c := range map[string]struct {
		receiver func(*kit.World)
		code     p.Code
	}{
		"nobody":         {func(*kit.World) {}, p.CodeUnknownAgent},
		"expects none":   {func(w *kit.World) { w.Add("Receiver", &kit.Worker{}) }, p.CodeIncapable},
		"wants none":     {func(w *kit.World) { w.Add("Receiver", closedReceiver(&p.Refusal{Code: p.CodeForbidden})) }, p.CodeForbidden},
		"ended":          {func(w *kit.World) { w.Add("Receiver", closedReceiver(&p.Refusal{Code: p.CodeConversationEnded})) }, p.CodeConversationEnded},
		"fails":          {func(w *kit.World) { w.Add("Receiver", closedReceiver(errors.New("secret"))) }, p.CodeFailed},
		"has no roles":   {func(w *kit.World) { w.Peer("Receiver") }, p.CodeIncapable},
		"never confirms": {func(w *kit.World) { w.Add("Receiver", &receiver{handle: holdOn}) }, p.CodeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				c.receiver(w)
				w.Add("Jules", succeeding("done"))
				w.Add("Broker", brokerOf("Jules"))
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, err := mediation.Recruit(ctx, w.Eddy, "Broker", toReceiver(""))
				kit.WantEnd(t, err, "failed", c.code)
				if !strings.Contains(err.Error(), "Jules: Receiver has not confirmed the delivery: ") {
					t.Errorf("%v does not say what went wrong", err)
				}
				w.Settled(0)
			})
		})
	}
}

// closedReceiver returns a receiver that answers each delivery with err.
func closedReceiver(err error) *receiver {
	return &receiver{handle: func(context.Context, mediation.Delivery) error { return err }}
}

// holdOn waits for the end of the delivery's context.
func holdOn(ctx context.Context, _ mediation.Delivery) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// The mailbox of the receiver is full at first.
func TestReceiverIsBusy(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		third := &receiver{}
		w.Add("Receiver", third)
		w.Add("Jules", succeeding("done"))
		w.Add("Broker", brokerOf("Jules"))
		start := time.Now()
		full := w.Net.Set(systemtest.Fault{Name: "a full mailbox", To: "Receiver", Act: p.ActInformResult, Left: -1, Do: systemtest.Refused(p.CodeBusy)})
		time.AfterFunc(15*time.Second, full)
		if _, err := mediation.Recruit(t.Context(), w.Eddy, "Broker", toReceiver("")); err != nil {
			t.Error(err)
		}
		wantLines(t, deliveryLines(third.deliveries()), "Jules: done")
		if time.Since(start) < 15*time.Second {
			t.Error("the first delivery was not refused")
		}
	})
}

func TestDeliverySurvivesLosses(t *testing.T) {
	for act, times := range map[p.Performative]int{p.ActInformResult: 2, p.ActConfirm: 2, p.ActInform: 2, p.ActAgree: 1, p.ActProxy: 2, p.ActTaskRequest: 2} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			third := &receiver{}
			w.Add("Receiver", third)
			w.Add("Jules", succeeding("done"))
			w.Add("Broker", brokerOf("Jules"))
			w.Net.Lose(act, times)
			if _, err := mediation.Recruit(t.Context(), w.Eddy, "Broker", toReceiver("")); err != nil {
				t.Errorf("%s: %v", act, err)
			}
			wantLines(t, deliveryLines(third.deliveries()), "Jules: done")
			w.Settled(0)
		})
	}
}

// The recruit, the recruiter or the initiator stops while the recruit works.
func TestStopDuringRecruiting(t *testing.T) {
	for id, want := range map[p.AgentID]p.Code{"Jules": p.CodeStopped, "Broker": p.CodeStopped, "Eddy": p.CodeStopped} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			third := &receiver{}
			w.Add("Receiver", third)
			w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
			w.Add("Broker", brokerOf("Jules"))
			r, err := mediation.StartRecruiting(t.Context(), w.Eddy, "Broker", toReceiver(""))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := w.StopAgent(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Wait(); !errors.Is(err, want) {
				t.Errorf("%s stops: %v", id, err)
			}
			if n := len(third.deliveries()); n != 0 {
				t.Errorf("%s stops: %d deliveries", id, n)
			}
			w.Settled(0)
		})
	}
}

// The recruiter stops after the delivery: the recruiting succeeds.
func TestRecruiterStopsAfterTheDelivery(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", succeeding("done"))
		w.Add("Broker", brokerOf("Jules"))
		w.Net.Lose(p.ActInform, -1)
		r, err := mediation.StartRecruiting(t.Context(), w.Eddy, "Broker", debugging(""))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := w.StopAgent(t.Context(), "Broker"); err != nil {
			t.Fatal(err)
		}
		got, err := r.Wait()
		if err != nil {
			t.Error(err)
		}
		wantLines(t, deliveryLines(got.Deliveries), "Jules: done")
		w.Settled(0)
	})
}

func TestRecruitingIsCancelled(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			return kit.Result(p.StatusSuccess), nil // after the cancel: must not be delivered
		}})
		w.Add("Broker", brokerOf("Jules"))
		r, err := mediation.StartRecruiting(t.Context(), w.Eddy, "Broker", debugging(""))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		r.Cancel()
		got, err := r.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		kit.WantElapsed(t, start, time.Second)
		if len(got.Deliveries) != 0 {
			t.Errorf("got %+v", got)
		}
		w.Settled(0)
	})
}

// A delivery after the cancel is refused, and the recruit and the recruiter end as cancelled.
func TestDeliveryAfterCancel(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", succeeding("done"))
		w.Add("Broker", brokerOf("Jules"))
		var held *p.Message
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActInformResult && m.Receiver() == "Eddy" && held == nil {
				held = m
				return true
			}
			return m.Performative() == p.ActCancel && m.Sender() == "Eddy" // the CANCEL is delayed
		})
		r, err := mediation.StartRecruiting(t.Context(), w.Eddy, "Broker", debugging(""))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.Cancel()
		synctest.Wait()
		if err := w.Deliver("Eddy", held); err != nil {
			t.Fatal(err)
		}
		got, err := r.Wait()
		if len(got.Deliveries) != 0 || !errors.Is(err, p.CodeCanceled) {
			t.Errorf("got %+v, %v", got, err)
		}
		if n := w.Count("Eddy -> Jules: DISCONFIRM"); n != 1 {
			t.Errorf("%d denials: %q", n, w.Lines())
		}
		w.Settled(0)
	})
}

func TestTaskThatCannotBeDelivered(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", succeeding("done"))
		for text, want := range map[string]p.Code{
			`3`:               p.CodeInvalidPayload,
			`{"receiver":""}`: p.CodeInvalidPayload,
			`{"receiver":"jules","conversation_id":"c","in_reply_to":"m"}`: p.CodeIncapable,
		} {
			bad := kit.Task()
			bad.Extra = p.Members{"deliver_to": []byte(text)}
			if _, err := delegation.Delegate(t.Context(), w.Eddy, "Jules", bad); !errors.Is(err, want) {
				t.Errorf("%s: %v", text, err)
			}
		}
		q := mediation.Proxy{Agents: []p.AgentID{"Jules"}, Request: p.ContentOf(kit.Order{Item: "tea"})}
		if _, err := mediation.Recruit(t.Context(), w.Eddy, "Broker", q); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("recruiting for a request: %v", err)
		}
		w.Settled(0)
	})
}

// A delivery without a valid note is not understood; a duplicate of a valid one is confirmed again.
func TestInvalidDeliveries(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Receiver", &receiver{})
		a := w.Peer("Outside")
		for _, extra := range []p.Members{nil, {"delivery": []byte(`3`)}, {"delivery": []byte(`{}`)}} {
			a.Send(p.Envelope{
				Performative: p.ActInformResult, Receiver: "Receiver", Protocol: "delivery", InReplyTo: "x",
				Payload: p.InformResult{Status: p.StatusSuccess, Extra: extra},
			})
			a.Expect(p.ActNotUnderstood)
		}
		good := a.Send(p.Envelope{
			Performative: p.ActInformResult, Receiver: "Receiver", Protocol: "delivery", InReplyTo: "x",
			Payload: p.Raw(`{"task_status":"success","delivery":{"conversation_id":"c","recruit":"Ada"}}`),
		})
		a.Expect(p.ActConfirm)
		a.SendAgain(good)
		a.Expect(p.ActConfirm)
		a.Silent()
	})
}

// recruit is an agent without a runtime of ours that was recruited for a task.
type recruit struct {
	*kit.Peer
	task *p.Message
	to   mediation.DeliverTo
}

// recruitOutside has Eddy recruit the agent Outside, which accepts the task.
func recruitOutside(w *kit.World) (*mediation.Recruiting, recruit) {
	w.T.Helper()
	w.Add("Broker", &mediation.Broker{})
	e := recruit{Peer: w.Peer("Outside")}
	r, err := mediation.StartRecruiting(w.T.Context(), w.Eddy, "Broker", mediation.Proxy{Agents: []p.AgentID{"Outside"}, Task: kit.Task()})
	if err != nil {
		w.T.Fatal(err)
	}
	e.task = e.Expect(p.ActTaskRequest)
	e.Reply(e.task, p.TaskAccept{})
	t, err := p.PayloadAs[p.TaskRequest](e.task)
	if err != nil {
		w.T.Fatal(err)
	}
	if err := json.Unmarshal(t.Extra["deliver_to"], &e.to); err != nil {
		w.T.Fatal(err)
	}
	return r, e
}

// deliver sends a delivery of the task by any agent, on behalf of onBehalf, with an edited
// envelope.
func (e recruit) deliver(by *kit.Peer, edit func(*p.Envelope), onBehalf p.AgentID) {
	note := fmt.Appendf(nil, `{"conversation_id":%q,"recruit":%q}`, e.to.Conversation, onBehalf)
	v := p.Envelope{
		Performative: p.ActInformResult, Receiver: "Eddy", Protocol: "delivery", InReplyTo: e.to.InReplyTo,
		Payload: p.InformResult{Status: p.StatusSuccess, Summary: "done", Extra: p.Members{"delivery": note}},
	}
	edit(&v)
	by.Send(v)
}

// done reports the delivery to the recruiter.
func (e recruit) done() {
	e.Reply(e.task, p.InformResult{Status: p.StatusSuccess, Extra: p.Members{"delivered": []byte(`"eddy"`)}})
}

// A delivery comes twice, in its conversation and in another; another delivery of the same recruit
// is refused.
func TestRecruitDeliversOnce(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		r, e := recruitOutside(w)
		for _, id := range []p.ConversationID{"first", "first", "other"} {
			e.deliver(e.Peer, func(v *p.Envelope) { v.ID, v.ConversationID = "same", id }, "")
			if id == "first" {
				e.Expect(p.ActConfirm)
			} else if r := e.Expect(p.ActFailure).AsRefusal(); r.Code != p.CodeConversationEnded {
				t.Errorf("got %v", r)
			}
		}
		e.deliver(e.Peer, func(*p.Envelope) {}, "Outside")
		if d := e.Expect(p.ActDisconfirm); !strings.Contains(fmt.Sprint(d.Payload()), "has already delivered") {
			t.Errorf("a second result: %+v", d.Payload())
		}
		e.done()
		got, err := r.Wait()
		if err != nil {
			t.Error(err)
		}
		wantLines(t, deliveryLines(got.Deliveries), "Outside: done")
		w.Settled(0)
	})
}

// Only the recruit delivers its result, or the recruiter on its behalf. The ticket is required.
func TestDeliveryByOtherAgents(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		r, e := recruitOutside(w)
		other := w.Peer("Other")
		for _, ref := range []string{string(r.Conversation()), "x", string(e.task.ID())} {
			e.deliver(other, func(v *p.Envelope) { v.InReplyTo = ref }, "")
			other.Expect(p.ActDisconfirm)
		}
		e.deliver(e.Peer, func(*p.Envelope) {}, "Jules")
		if d := e.Expect(p.ActDisconfirm); !strings.Contains(fmt.Sprint(d.Payload()), "on behalf of another agent") {
			t.Errorf("on behalf of Jules: %+v", d.Payload())
		}
		e.Reply(e.task, p.InformResult{Status: p.StatusFailure, Summary: "no"})
		got, err := r.Wait()
		if err != nil || got.Deliveries[0].Message.Sender() != "Broker" {
			t.Errorf("got %+v, %v", got, err)
		}
		wantLines(t, deliveryLines(got.Deliveries), "Outside: no")
		w.Settled(0)
	})
}

// A delivery after the end of the recruiting is not expected.
func TestDeliveryAfterTheEnd(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		r, e := recruitOutside(w)
		e.done()
		if _, err := r.Wait(); err != nil {
			t.Error(err)
		}
		e.deliver(e.Peer, func(*p.Envelope) {}, "")
		if d := e.Expect(p.ActDisconfirm); !strings.Contains(fmt.Sprint(d.Payload()), "no such delivery is expected") {
			t.Errorf("got %+v", d.Payload())
		}
	})
}

// The recruiter stops with WantAll: the deliveries so far are returned with the error.
func TestRecruiterStopsBetweenDeliveries(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Ada", succeeding("done"))
		w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		w.Add("Broker", brokerOf("Ada", "Jules"))
		r, err := mediation.StartRecruiting(t.Context(), w.Eddy, "Broker", debugging(mediation.WantAll))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // a single processor does not begin all handlers at once
		if err := w.StopAgent(t.Context(), "Broker"); err != nil {
			t.Fatal(err)
		}
		got, err := r.Wait()
		if err != nil {
			kit.WantEnd(t, err, "failed", p.CodeStopped)
		} else if !stoppedRecruit(got, "Jules") { // the broker has learned of the end of that conversation before that of its own
			t.Errorf("got %+v", got)
		}
		wantLines(t, deliveryLines(got.Deliveries), "Ada: done")
		w.Settled(0)
	})
}

// stoppedRecruit reports whether a result says that the work of a recruit has ended because an
// agent has stopped.
func stoppedRecruit(r mediation.Recruitment, id p.AgentID) bool {
	return slices.ContainsFunc(r.Recruits, func(reply mediation.ProxyReply) bool {
		return reply.Agent == id && !reply.Delivered && errors.Is(reply.Err(), p.CodeStopped)
	})
}

// A recruit reports a delivery that did not take place.
func TestFalseReportOfADelivery(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		r, e := recruitOutside(w)
		e.done()
		got, err := r.Wait()
		if err != nil || len(got.Deliveries) != 0 || got.Recruits[0].Delivered {
			t.Errorf("got %+v, %v", got, err)
		}
		w.Settled(0)
	})
}

// The number of named agents and the length of the ticket are limited.
func TestLimitsOfAProxy(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Broker", &mediation.Broker{})
		q := mediation.Proxy{Task: kit.Task()}
		for i := range codons.MaxChildren + 1 {
			q.Agents = append(q.Agents, p.AgentID(fmt.Sprint(i)))
		}
		if _, err := mediation.Recruit(t.Context(), w.Eddy, "Broker", q); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("got %v", err)
		}
		q.Agents = q.Agents[1:]
		_, err := mediation.Recruit(t.Context(), w.Eddy, "Broker", q)
		kit.WantEnd(t, err, "failed", p.CodeNoMatch)
		q.Ticket, q.Receiver = strings.Repeat("x", p.MaxIDLength+1), "Receiver"
		if _, err := mediation.Recruit(t.Context(), w.Eddy, "Broker", q); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("got %v", err)
		}
	})
}

// A second recruiting under the same conversation id fails, and the first goes on.
func TestRecruitUnderAnIDInUse(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		release := make(chan struct{})
		w.Add("Jules", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			<-release
			return kit.Result(p.StatusSuccess), nil
		}})
		w.Add("Broker", brokerOf("Jules"))
		first, err := mediation.StartRecruiting(t.Context(), w.Eddy, "Broker", debugging(""), codons.WithConversation("c"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := mediation.Recruit(t.Context(), w.Eddy, "Broker", debugging(""), codons.WithConversation("c")); !errors.Is(err, actors.ErrConversationExists) {
			t.Errorf("got %v", err)
		}
		close(release)
		got, err := first.Wait()
		if err != nil {
			t.Error(err)
		}
		wantLines(t, deliveryLines(got.Deliveries), "Jules: success")
		w.Settled(0)
	})
}

// The initiator, the mediator and the receiver are not asked, and no agent is asked twice,
// whatever the mediator finds.
func TestAgentsThatAreNotRecruited(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Receiver", &receiver{})
		w.Add("Jules", succeeding("done"))
		w.Add("Ada", succeeding("done"))
		found := []p.AgentID{"", "Broker", "eddy", "RECEIVER", "Jules", "jules", "Ada"}
		w.Add("Broker", finder{found: found})
		q := toReceiver(mediation.WantAll)
		q.Agents = []p.AgentID{"Broker", "Eddy", "Receiver", "Jules"}
		var asked []p.AgentID
		got, err := mediation.Recruit(t.Context(), w.Eddy, "Broker", q, mediation.WithNews(func(n mediation.ProxyNews) {
			asked = append(asked, n.Asked...)
		}))
		if err != nil || len(got.Recruits) != 1 || !slices.Equal(asked, []p.AgentID{"Jules"}) {
			t.Errorf("asked %q, got %+v, %v", asked, got, err)
		}
		w.Settled(0)
	})
}

// finder is a mediator that finds the given agents.
type finder struct{ found []p.AgentID }

func (f finder) Describe() p.Capabilities { return p.Capabilities{} }

func (f finder) ConsiderProxy(context.Context, mediation.Proxied) error { return nil }

func (f finder) FindAgents(context.Context, mediation.Proxied) ([]p.AgentID, error) {
	return f.found, nil
}

// The PROXY has a raw payload and names a receiver, but no protocol.
func TestRecruiterOfRawProxy(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		third := &receiver{}
		w.Add("Receiver", third)
		w.Add("Jules", succeeding("done"))
		w.Add("Broker", brokerOf("Jules"))
		a := w.Peer("Outside")
		a.Send(p.Envelope{
			Performative: p.ActProxy, Receiver: "Broker",
			Payload: p.Raw(`{"capabilities":["debugging"],"task":{"task_type":"debug_code"},"designated_receiver":"Receiver"}`),
		})
		a.Expect(p.ActAgree)
		for range 3 {
			a.Expect(p.ActStatusUpdate)
		}
		got, err := p.PayloadAs[mediation.ProxyReplies](a.Expect(p.ActInform))
		if err != nil || len(got.Replies) != 1 || !got.Replies[0].Delivered {
			t.Errorf("got %+v, %v", got, err)
		}
		wantLines(t, deliveryLines(third.deliveries()), "Jules: done")
		a.Send(p.Envelope{
			Performative: p.ActProxy, Receiver: "Broker", Protocol: "recruiting",
			Payload: p.Raw(`{"capabilities":["debugging"],"request":{}}`),
		})
		a.Expect(p.ActNotUnderstood)
		a.Send(p.Envelope{
			Performative: p.ActProxy, Receiver: "Broker", Protocol: "brokering",
			Payload: p.Raw(`{"capabilities":["debugging"],"task":{"task_type":"debug_code"},"designated_receiver":"Receiver"}`),
		})
		a.Expect(p.ActNotUnderstood)
		a.Silent()
	})
}

// guardedReceiver is a receiver of deliveries that requires a handshake.
type guardedReceiver struct{ *receiver }

func (guardedReceiver) RequiresHandshake() bool { return true }

// An agent that is not known may deliver what it was recruited for on the receiver's own behalf.
func TestDeliveryNeedsAHandshake(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		third := &receiver{}
		self := w.Add("Receiver", guardedReceiver{third})
		jules := w.Add("Jules", succeeding("done"))
		w.Add("Broker", brokerOf("Jules"))
		got, err := mediation.Recruit(t.Context(), self, "Broker", debugging(""))
		if err != nil {
			t.Error(err)
		}
		wantLines(t, deliveryLines(got.Deliveries), "Jules: done")
		_, err = mediation.Recruit(t.Context(), w.Eddy, "Broker", toReceiver(""))
		kit.WantEnd(t, err, "failed", p.CodeHandshakeRequired)
		wantLines(t, deliveryLines(third.deliveries()))
		if _, err := discovery.Handshake(t.Context(), jules, "Receiver"); err != nil {
			t.Fatal(err)
		}
		if _, err := mediation.Recruit(t.Context(), w.Eddy, "Broker", toReceiver("")); err != nil {
			t.Error(err)
		}
		wantLines(t, deliveryLines(third.deliveries()), "Jules: done")
		w.Settled(0)
	})
}
