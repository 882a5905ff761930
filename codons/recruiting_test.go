package codons_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// porch is an agent that takes deliveries by a function, or any.
type porch struct {
	handle func(context.Context, codons.Delivery) error
	mu     sync.Mutex
	got    []codons.Delivery
}

func (*porch) Describe() p.Capabilities { return p.Capabilities{} }

func (o *porch) HandleDelivery(ctx context.Context, d codons.Delivery) error {
	o.mu.Lock()
	o.got = append(o.got, d)
	o.mu.Unlock()
	if o.handle == nil {
		return nil
	}
	return o.handle(ctx, d)
}

func (o *porch) deliveries() []codons.Delivery {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.got)
}

// brought are who delivered what, sorted.
func brought(ds []codons.Delivery) []string {
	var all []string
	for _, d := range ds {
		if d.Err != nil {
			all = append(all, string(d.Recruit)+" failed: "+string(d.Err.Code))
			continue
		}
		all = append(all, string(d.Recruit)+": "+d.Result.Summary)
	}
	slices.Sort(all)
	return all
}

// toPorch is a PROXY whose designated receiver is a third agent.
func toPorch(want codons.Want) codons.Proxy {
	q := debuggers(want)
	q.Receiver = "Porch"
	return q
}

func TestRecruitsDeliverToWhoAsks(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Busy", rejecting())
		w.spawn("Jules", doing("done"))
		w.spawn("Broker", knows("Busy", "Jules"))
		got, err := codons.Recruit(t.Context(), w.eddy, "Broker", debuggers(codons.WantOne))
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, brought(got.Deliveries), "Jules: done")
		if d := got.Deliveries[0]; d.TaskType != "debug_code" || d.Message.Sender() != "Jules" || d.Conversation == "" {
			t.Errorf("got %+v", d)
		}
		if n := len(got.Recruits); n != 2 || got.Recruits[0].Delivered || !got.Recruits[1].Delivered {
			t.Errorf("got %+v", got.Recruits)
		}
		golden(t, "recruiting", w.talks("Eddy", "Broker", "Busy", "Jules"))
		w.settled(0)
	})
}

func TestRecruitsDeliverToAThird(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		third := &porch{}
		w.spawn("Porch", third)
		w.spawn("Ada", doing("by Ada"))
		w.spawn("Bad", &worker{perform: func(context.Context, codons.Task) (p.InformResult, error) {
			return p.InformResult{}, &p.Refusal{Code: p.CodeForbidden, Text: "no"}
		}})
		w.spawn("Worse", &worker{perform: func(context.Context, codons.Task) (p.InformResult, error) { panic("oh") }})
		w.spawn("Broker", knows("Ada", "Bad", "Worse", "Porch"))
		q := toPorch(codons.WantAll)
		q.Ticket = "our ticket"
		got, err := codons.Recruit(t.Context(), w.eddy, "Broker", q)
		if err != nil || len(got.Deliveries) != 0 {
			t.Fatalf("got %+v, %v", got, err)
		}
		wantLines(t, brought(third.deliveries()), "Ada: by Ada", "Bad failed: forbidden", "Worse failed: internal_error")
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
		w.settled(0)
	})
}

// TestRecruitOutside is one who knows nothing of deliveries: the recruiter delivers
// in its place.
func TestRecruitOutside(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		third := &porch{}
		w.spawn("Porch", third)
		w.spawn("Broker", &codons.Broker{})
		outside := w.puppet("Outside")
		q := codons.Proxy{Agents: []p.AgentID{"Outside"}, Task: task(), Receiver: "Porch"}
		r, err := codons.StartRecruiting(t.Context(), w.eddy, "Broker", q)
		if err != nil {
			t.Fatal(err)
		}
		request := outside.next(p.ActTaskRequest)
		outside.reply(request, p.TaskAccept{})
		outside.reply(request, p.InformResult{Status: p.StatusSuccess, Summary: "done"})
		got, err := r.Wait()
		if err != nil || !got.Recruits[0].Delivered {
			t.Errorf("got %+v, %v", got, err)
		}
		wantLines(t, brought(third.deliveries()), "Outside: done")
		w.settled(0)
	})
}

// TestReceiverIsNotThere has the recruit tell the recruiter, and that the
// initiator.
func TestReceiverIsNotThere(t *testing.T) {
	for name, c := range map[string]struct {
		receiver func(*world)
		code     p.Code
	}{
		"nobody":         {func(*world) {}, p.CodeUnknownAgent},
		"expects none":   {func(w *world) { w.spawn("Porch", &worker{}) }, p.CodeIncapable},
		"wants none":     {func(w *world) { w.spawn("Porch", closedPorch(&p.Refusal{Code: p.CodeForbidden})) }, p.CodeForbidden},
		"ended":          {func(w *world) { w.spawn("Porch", closedPorch(&p.Refusal{Code: p.CodeConversationEnded})) }, p.CodeConversationEnded},
		"fails":          {func(w *world) { w.spawn("Porch", closedPorch(errors.New("secret"))) }, p.CodeFailed},
		"has no roles":   {func(w *world) { w.puppet("Porch") }, p.CodeIncapable},
		"never confirms": {func(w *world) { w.spawn("Porch", &porch{handle: holdOn}) }, p.CodeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				c.receiver(w)
				w.spawn("Jules", doing("done"))
				w.spawn("Broker", knows("Jules"))
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, err := codons.Recruit(ctx, w.eddy, "Broker", toPorch(""))
				wantEnd(t, err, "failed", c.code)
				if !strings.Contains(err.Error(), "Jules: Porch has not confirmed the delivery: ") {
					t.Errorf("%v does not say what went wrong", err)
				}
				w.settled(0)
			})
		})
	}
}

func closedPorch(err error) *porch {
	return &porch{handle: func(context.Context, codons.Delivery) error { return err }}
}

func holdOn(ctx context.Context, _ codons.Delivery) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestReceiverIsBusy has a full mailbox turn the delivery away at first.
func TestReceiverIsBusy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		third := &porch{}
		w.spawn("Porch", third)
		w.spawn("Jules", doing("done"))
		w.spawn("Broker", knows("Jules"))
		start := time.Now()
		w.net.full = func(m *p.Message) bool {
			return m.Performative() == p.ActInformResult && m.Receiver() == "Porch" && time.Since(start) < 15*time.Second
		}
		if _, err := codons.Recruit(t.Context(), w.eddy, "Broker", toPorch("")); err != nil {
			t.Error(err)
		}
		wantLines(t, brought(third.deliveries()), "Jules: done")
		if time.Since(start) < 15*time.Second {
			t.Error("it was not turned away")
		}
	})
}

func TestDeliverySurvivesLosses(t *testing.T) {
	for _, act := range []p.Performative{p.ActInformResult, p.ActConfirm, p.ActInform, p.ActAgree, p.ActProxy, p.ActTaskRequest} {
		inWorld(t, func(t *testing.T, w *world) {
			third := &porch{}
			w.spawn("Porch", third)
			w.spawn("Jules", doing("done"))
			w.spawn("Broker", knows("Jules"))
			w.net.lose(act, 2)
			if _, err := codons.Recruit(t.Context(), w.eddy, "Broker", toPorch("")); err != nil {
				t.Errorf("%s: %v", act, err)
			}
			wantLines(t, brought(third.deliveries()), "Jules: done")
			w.settled(0)
		})
	}
}

// TestRecruitDies stops it in the middle: the recruiter notices and tells.
func TestRecruitDies(t *testing.T) {
	for who, want := range map[p.AgentID]p.Code{"Jules": p.CodeStopped, "Broker": p.CodeStopped, "Eddy": p.CodeStopped} {
		inWorld(t, func(t *testing.T, w *world) {
			third := &porch{}
			w.spawn("Porch", third)
			w.spawn("Jules", &worker{perform: patient})
			w.spawn("Broker", knows("Jules"))
			r, err := codons.StartRecruiting(t.Context(), w.eddy, "Broker", toPorch(""))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := w.StopAgent(t.Context(), who); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Wait(); !errors.Is(err, want) {
				t.Errorf("%s stops: %v", who, err)
			}
			if n := len(third.deliveries()); n != 0 {
				t.Errorf("%s stops: %d deliveries", who, n)
			}
			w.settled(0)
		})
	}
}

// TestRecruiterDiesAfterTheDelivery leaves the initiator with what it wanted.
func TestRecruiterDiesAfterTheDelivery(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", doing("done"))
		w.spawn("Broker", knows("Jules"))
		w.net.lose(p.ActInform, -1)
		r, err := codons.StartRecruiting(t.Context(), w.eddy, "Broker", debuggers(""))
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
		wantLines(t, brought(got.Deliveries), "Jules: done")
		w.settled(0)
	})
}

func TestRecruitingIsCancelled(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			return result(p.StatusSuccess), nil // too late: it must not be delivered
		}})
		w.spawn("Broker", knows("Jules"))
		r, err := codons.StartRecruiting(t.Context(), w.eddy, "Broker", debuggers(""))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		r.Cancel()
		got, err := r.Wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		wantElapsed(t, start, time.Second)
		if len(got.Deliveries) != 0 {
			t.Errorf("got %+v", got)
		}
		w.settled(0)
	})
}

// TestDeliveryAfterCancel is turned away, and the recruit and the recruiter end as
// cancelled, too.
func TestDeliveryAfterCancel(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", doing("done"))
		w.spawn("Broker", knows("Jules"))
		var held *p.Message
		w.net.intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActInformResult && m.Receiver() == "Eddy" && held == nil {
				held = m
				return true
			}
			return m.Performative() == p.ActCancel && m.Sender() == "Eddy" // the recruiter hears of it late
		})
		r, err := codons.StartRecruiting(t.Context(), w.eddy, "Broker", debuggers(""))
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
		if n := w.monitor.count("Eddy -> Jules: DISCONFIRM"); n != 1 {
			t.Errorf("%d denials: %q", n, w.monitor.lines())
		}
		w.settled(0)
	})
}

func TestTaskThatCannotBeDelivered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", doing("done"))
		for text, want := range map[string]p.Code{
			`3`:               p.CodeInvalidPayload,
			`{"receiver":""}`: p.CodeInvalidPayload,
			`{"receiver":"jules","conversation_id":"c","in_reply_to":"m"}`: p.CodeIncapable,
		} {
			bad := task()
			bad.Extra = p.Members{"deliver_to": []byte(text)}
			if _, err := codons.Delegate(t.Context(), w.eddy, "Jules", bad); !errors.Is(err, want) {
				t.Errorf("%s: %v", text, err)
			}
		}
		q := codons.Proxy{Agents: []p.AgentID{"Jules"}, Request: p.ContentOf(order{"tea"})}
		if _, err := codons.Recruit(t.Context(), w.eddy, "Broker", q); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("a request is recruited for: %v", err)
		}
		w.settled(0)
	})
}

// TestDeliveryOfNonsense and of what nobody asked for.
func TestDeliveryOfNonsense(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Porch", &porch{})
		a := w.puppet("Outside")
		for _, extra := range []p.Members{nil, {"delivery": []byte(`3`)}, {"delivery": []byte(`{}`)}} {
			a.say(p.Envelope{
				Performative: p.ActInformResult, Receiver: "Porch", Protocol: "delivery", InReplyTo: "x",
				Payload: p.InformResult{Status: p.StatusSuccess, Extra: extra},
			})
			a.next(p.ActNotUnderstood)
		}
		good := a.say(p.Envelope{
			Performative: p.ActInformResult, Receiver: "Porch", Protocol: "delivery", InReplyTo: "x",
			Payload: p.Raw(`{"task_status":"success","delivery":{"conversation_id":"c","recruit":"Ada"}}`),
		})
		a.next(p.ActConfirm)
		a.send(good)
		a.next(p.ActConfirm)
		a.silence()
	})
}

// errand is the task of one that was recruited from outside.
type errand struct {
	*puppet
	task *p.Message
	to   codons.DeliverTo
}

// recruited has Eddy recruit an agent from outside, which takes the task on.
func (w *world) recruited() (*codons.Recruiter, errand) {
	w.t.Helper()
	w.spawn("Broker", &codons.Broker{})
	e := errand{puppet: w.puppet("Outside")}
	r, err := codons.StartRecruiting(w.t.Context(), w.eddy, "Broker", codons.Proxy{Agents: []p.AgentID{"Outside"}, Task: task()})
	if err != nil {
		w.t.Fatal(err)
	}
	e.task = e.next(p.ActTaskRequest)
	e.reply(e.task, p.TaskAccept{})
	t, err := p.PayloadAs[p.TaskRequest](e.task)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := json.Unmarshal(t.Extra["deliver_to"], &e.to); err != nil {
		w.t.Fatal(err)
	}
	return r, e
}

// brings is a delivery of e's task, by whom and with what it likes.
func (e errand) brings(by *puppet, edit func(*p.Envelope), recruit p.AgentID) {
	note := fmt.Appendf(nil, `{"conversation_id":%q,"recruit":%q}`, e.to.Conversation, recruit)
	v := p.Envelope{
		Performative: p.ActInformResult, Receiver: "Eddy", Protocol: "delivery", InReplyTo: e.to.InReplyTo,
		Payload: p.InformResult{Status: p.StatusSuccess, Summary: "done", Extra: p.Members{"delivery": note}},
	}
	edit(&v)
	by.say(v)
}

// done tells the recruiter that the task is delivered.
func (e errand) done() {
	e.reply(e.task, p.InformResult{Status: p.StatusSuccess, Extra: p.Members{"delivered": []byte(`"eddy"`)}})
}

// TestDeliveryIsTakenOnce has it come again when its conversation is forgotten.
func TestDeliveryIsTakenOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r, e := w.recruited()
		for _, id := range []p.ConversationID{"first", "again"} {
			e.brings(e.puppet, func(v *p.Envelope) { v.ID, v.ConversationID = "same", id }, "")
			e.next(p.ActConfirm)
		}
		e.brings(e.puppet, func(*p.Envelope) {}, "Outside")
		if d := e.next(p.ActDisconfirm); !strings.Contains(fmt.Sprint(d.Payload()), "has delivered already") {
			t.Errorf("another result: %+v", d.Payload())
		}
		e.done()
		got, err := r.Wait()
		if err != nil {
			t.Error(err)
		}
		wantLines(t, brought(got.Deliveries), "Outside: done")
		w.settled(0)
	})
}

// TestDeliveryByOthers is not believed, though they know of the recruiting.
func TestDeliveryByOthers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r, e := w.recruited()
		other := w.puppet("Other")
		for _, ref := range []string{string(r.Conversation()), "x", string(e.task.ID())} {
			e.brings(other, func(v *p.Envelope) { v.InReplyTo = ref }, "")
			other.next(p.ActDisconfirm)
		}
		e.brings(e.puppet, func(*p.Envelope) {}, "Jules")
		if d := e.next(p.ActDisconfirm); !strings.Contains(fmt.Sprint(d.Payload()), "in another's place") {
			t.Errorf("in another's name: %+v", d.Payload())
		}
		e.reply(e.task, p.InformResult{Status: p.StatusFailure, Summary: "no"})
		got, err := r.Wait()
		if err != nil || got.Deliveries[0].Message.Sender() != "Broker" {
			t.Errorf("got %+v, %v", got, err)
		}
		wantLines(t, brought(got.Deliveries), "Outside: no")
		w.settled(0)
	})
}

// TestDeliveryAfterTheEnd is one that nobody expects.
func TestDeliveryAfterTheEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r, e := w.recruited()
		e.done()
		if _, err := r.Wait(); err != nil {
			t.Error(err)
		}
		e.brings(e.puppet, func(*p.Envelope) {}, "")
		if d := e.next(p.ActDisconfirm); !strings.Contains(fmt.Sprint(d.Payload()), "no such delivery is expected") {
			t.Errorf("got %+v", d.Payload())
		}
	})
}

// TestRecruiterOfAllDies leaves the initiator with what has come, and without the rest.
func TestRecruiterOfAllDies(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Ada", doing("done"))
		w.spawn("Jules", &worker{perform: patient})
		w.spawn("Broker", knows("Ada", "Jules"))
		r, err := codons.StartRecruiting(t.Context(), w.eddy, "Broker", debuggers(codons.WantAll))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := w.StopAgent(t.Context(), "Broker"); err != nil {
			t.Fatal(err)
		}
		got, err := r.Wait()
		wantEnd(t, err, "failed", p.CodeStopped)
		wantLines(t, brought(got.Deliveries), "Ada: done")
		w.settled(0)
	})
}

// TestRecruitSaysThatItHasDelivered without having done so.
func TestRecruitSaysThatItHasDelivered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r, e := w.recruited()
		e.done()
		got, err := r.Wait()
		if err != nil || len(got.Deliveries) != 0 || got.Recruits[0].Delivered {
			t.Errorf("got %+v, %v", got, err)
		}
		w.settled(0)
	})
}

// TestProxyOfTooMany does not keep a mediator busy.
func TestProxyOfTooMany(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Broker", &codons.Broker{})
		q := codons.Proxy{Task: task()}
		for i := range codons.MaxChildren + 1 {
			q.Agents = append(q.Agents, p.AgentID(fmt.Sprint(i)))
		}
		if _, err := codons.Recruit(t.Context(), w.eddy, "Broker", q); !isCode(err, p.CodeInvalidPayload) {
			t.Errorf("got %v", err)
		}
		q.Agents = q.Agents[1:]
		_, err := codons.Recruit(t.Context(), w.eddy, "Broker", q)
		wantEnd(t, err, "failed", p.CodeNoMatch)
		q.Ticket, q.Receiver = strings.Repeat("x", p.MaxIDLength+1), "Porch"
		if _, err := codons.Recruit(t.Context(), w.eddy, "Broker", q); !isCode(err, p.CodeInvalidPayload) {
			t.Errorf("got %v", err)
		}
	})
}

// TestRecruitUnderANameInUse ends at once, and takes nothing from the first.
func TestRecruitUnderANameInUse(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		w.spawn("Jules", &worker{perform: func(context.Context, codons.Task) (p.InformResult, error) {
			<-release
			return result(p.StatusSuccess), nil
		}})
		w.spawn("Broker", knows("Jules"))
		first, err := codons.StartRecruiting(t.Context(), w.eddy, "Broker", debuggers(""), codons.WithConversation("c"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := codons.Recruit(t.Context(), w.eddy, "Broker", debuggers(""), codons.WithConversation("c")); !errors.Is(err, actors.ErrConversationExists) {
			t.Errorf("got %v", err)
		}
		close(release)
		got, err := first.Wait()
		if err != nil {
			t.Error(err)
		}
		wantLines(t, brought(got.Deliveries), "Jules: success")
		w.settled(0)
	})
}

// TestWhoIsNotRecruited leaves out who has a part in it already, and asks nobody
// twice, whatever the mediator finds.
func TestWhoIsNotRecruited(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Porch", &porch{})
		w.spawn("Jules", doing("done"))
		w.spawn("Ada", doing("done"))
		found := []p.AgentID{"", "Broker", "eddy", "PORCH", "Jules", "jules", "Ada"}
		w.spawn("Broker", finder{found: found})
		q := toPorch(codons.WantAll)
		q.Agents = []p.AgentID{"Broker", "Eddy", "Porch", "Jules"}
		var asked []p.AgentID
		got, err := codons.Recruit(t.Context(), w.eddy, "Broker", q, codons.WithNews(func(n codons.ProxyNews) {
			asked = append(asked, n.Asked...)
		}))
		if err != nil || len(got.Recruits) != 1 || !slices.Equal(asked, []p.AgentID{"Jules"}) {
			t.Errorf("asked %q, got %+v, %v", asked, got, err)
		}
		w.settled(0)
	})
}

// finder is a mediator that finds what it is told to.
type finder struct{ found []p.AgentID }

func (f finder) Describe() p.Capabilities { return p.Capabilities{} }

func (f finder) ConsiderProxy(context.Context, codons.Proxied) error { return nil }

func (f finder) FindAgents(context.Context, codons.Proxied) ([]p.AgentID, error) { return f.found, nil }

// TestRecruiterOfRawProxy answers a PROXY from outside that names no protocol, but
// a receiver.
func TestRecruiterOfRawProxy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		third := &porch{}
		w.spawn("Porch", third)
		w.spawn("Jules", doing("done"))
		w.spawn("Broker", knows("Jules"))
		a := w.puppet("Outside")
		a.say(p.Envelope{
			Performative: p.ActProxy, Receiver: "Broker",
			Payload: p.Raw(`{"capabilities":["debugging"],"task":{"task_type":"debug_code"},"designated_receiver":"Porch"}`),
		})
		a.next(p.ActAgree)
		for range 3 {
			a.next(p.ActStatusUpdate)
		}
		got, err := p.PayloadAs[codons.ProxyReplies](a.next(p.ActInform))
		if err != nil || len(got.Replies) != 1 || !got.Replies[0].Delivered {
			t.Errorf("got %+v, %v", got, err)
		}
		wantLines(t, brought(third.deliveries()), "Jules: done")
		a.say(p.Envelope{
			Performative: p.ActProxy, Receiver: "Broker", Protocol: "recruiting",
			Payload: p.Raw(`{"capabilities":["debugging"],"request":{}}`),
		})
		a.next(p.ActNotUnderstood)
		a.say(p.Envelope{
			Performative: p.ActProxy, Receiver: "Broker", Protocol: "brokering",
			Payload: p.Raw(`{"capabilities":["debugging"],"task":{"task_type":"debug_code"},"designated_receiver":"Porch"}`),
		})
		a.next(p.ActNotUnderstood)
		a.silence()
	})
}
