package notify_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/notify"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// news is the content of a notice.
type news struct {
	Text string `json:"text"`
}

// reader records its notices.
type reader struct {
	heard []string
	then  func(notify.Notice)
}

func (*reader) Describe() p.Capabilities { return p.Capabilities{} }

func (r *reader) HandleNotice(ctx context.Context, n notify.Notice) {
	text, err := p.PayloadAs[news](n.Message)
	if err != nil {
		panic(err)
	}
	if _, ok := ctx.Deadline(); !ok {
		panic("no deadline")
	}
	r.heard = append(r.heard, text.Text) // on the agent's actor, so without a lock
	if r.then != nil {
		r.then(n)
	}
}

func TestNotify(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		transitions := kit.Recording(&w.Events, lifecycle.KindTransition)
		lifetimes := kit.Recording(&w.Events, lifecycle.KindBegan, lifecycle.KindEnded)
		r := &reader{}
		w.Add("Reader", r)
		for _, text := range []string{"one", "two"} {
			if err := notify.Notify(w.Eddy, "Reader", news{Text: text}); err != nil {
				t.Error(err)
			}
			w.Settled(0) // before the next notice
		}
		if !slices.Equal(r.heard, []string{"one", "two"}) {
			t.Errorf("heard %q", r.heard)
		}
		steps := slices.DeleteFunc(kit.Published[lifecycle.Transition](t, transitions), func(s lifecycle.Transition) bool { return s.Protocol != "notify" })
		if len(steps) != 4 || !steps[3].Ended || steps[3].To != "notified" || steps[0].Peer != "Reader" || steps[3].Peer != "Eddy" {
			t.Errorf("steps %+v", steps)
		}
		if n := len(kit.Published[lifecycle.Began](t, lifetimes)); n != 4 {
			t.Errorf("%d sides of two notices have begun", n)
		}
		kit.Golden(t, "notify", w.Lines())
	})
}

func TestErrorsOfNotify(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Reader", &reader{})
		w.Add("NoHandler", &kit.RequestHandler{})
		if err := notify.Notify(w.Eddy, "Nobody", news{Text: "x"}); !errors.Is(err, p.CodeUnknownAgent) {
			t.Errorf("an unknown agent: %v", err)
		}
		if err := notify.Notify(w.Eddy, "Reader", 3); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("a number as payload: %v", err)
		}
		if err := notify.Notify(w.Eddy, "", news{Text: "x"}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("no receiver: %v", err)
		}
		dead := w.Counts().DeadLetters
		room := w.FillMailboxes()
		if err := notify.Notify(w.Eddy, "Reader", news{Text: "x"}); !errors.Is(err, p.CodeBusy) {
			t.Errorf("a full mailbox: %v", err)
		}
		room()
		if err := notify.Notify(w.Eddy, "NoHandler", news{Text: "x"}); err != nil { // the agent has no Handler
			t.Error(err)
		}
		w.Settled(0)
		if n := w.Counts().DeadLetters - dead; n != 2 {
			t.Errorf("%d dead letters, want 2", n)
		}
	})
}

func TestAll(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a, b := &reader{}, &reader{}
		w.Add("A", a)
		w.Add("B", b)
		d, err := notify.All(w.Eddy, []p.AgentID{"A", "Nobody", "B"}, news{Text: "x"})
		if err != nil || !slices.Equal(d.Reached, []p.AgentID{"A", "B"}) || len(d.Missed) != 1 || !errors.Is(d.Missed["Nobody"], p.CodeUnknownAgent) {
			t.Errorf("got %+v, %v", d, err)
		}
		if _, err := notify.All(w.Eddy, []p.AgentID{"A"}, 3); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("a number as payload: %v", err)
		}
		w.Settled(0)
		if len(a.heard) != 1 || len(b.heard) != 1 {
			t.Errorf("heard %q and %q", a.heard, b.heard)
		}
	})
}

// A second copy of a notice is dropped. Two senders may use the same message id.
func TestDuplicateNotices(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		r := &reader{}
		w.Add("Reader", r)
		a, b := w.Peer("a"), w.Peer("b")
		m := a.Send(p.Envelope{ID: "1", Performative: p.ActInform, Receiver: "Reader", Payload: p.Raw(`{"text":"a"}`)})
		a.SendAgain(m)
		b.Send(p.Envelope{ID: "1", Performative: p.ActInform, Receiver: "Reader", Payload: p.Raw(`{"text":"b"}`)})
		synctest.Wait()
		if !slices.Equal(r.heard, []string{"a", "b"}) || w.Counts().DeadLetters != 1 {
			t.Errorf("heard %q, %d dead letters", r.heard, w.Counts().DeadLetters)
		}
	})
}

// An INFORM that answers a message, or names another protocol, is no notice.
func TestInformThatIsNoNotice(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		r := &reader{}
		w.Add("Reader", r)
		a := w.Peer("a")
		a.Send(p.Envelope{Performative: p.ActInform, Receiver: "Reader", InReplyTo: "x", Payload: news{Text: "x"}})
		a.Send(p.Envelope{Performative: p.ActInform, Receiver: "Reader", Protocol: "request", Payload: news{Text: "x"}})
		synctest.Wait()
		if len(r.heard) != 0 || w.Counts().DeadLetters != 2 {
			t.Errorf("heard %q, %d dead letters", r.heard, w.Counts().DeadLetters)
		}
	})
}

// A panic of the handler restarts the agent.
func TestHandlerPanics(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		first := true
		r := &reader{then: func(notify.Notice) {
			if first {
				first = false
				panic("oh")
			}
		}}
		w.Add("Reader", r)
		for range 2 {
			if err := notify.Notify(w.Eddy, "Reader", news{Text: "x"}); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Minute) // the restart is delayed
		w.Settled(0)
		if len(r.heard) != 2 || w.Counts().DeadLetters != 1 {
			t.Errorf("heard %q, %d dead letters", r.heard, w.Counts().DeadLetters)
		}
	})
}

// TestALoopOfNoticesEnds has two agents answer each notice by another one: to the other, or to all.
func TestALoopOfNoticesEnds(t *testing.T) {
	for name, send := range map[string]func(notify.Notice, p.AgentID) error{
		"notify":     func(n notify.Notice, to p.AgentID) error { return notify.Notify(n.Agent, to, news{Text: "x"}) },
		"to several": func(n notify.Notice, to p.AgentID) error { return missed(n, to) },
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				var errs []error
				answer := func(to p.AgentID) *reader {
					return &reader{then: func(n notify.Notice) {
						if err := send(n, to); err != nil {
							errs = append(errs, err)
						}
					}}
				}
				a, b := answer("B"), answer("A")
				w.Add("A", a)
				w.Add("B", b)
				if err := notify.Notify(w.Eddy, "A", news{Text: "x"}); err != nil {
					t.Fatal(err)
				}
				w.Settled(0)
				if got := len(a.heard) + len(b.heard); got != notify.MaxHops+1 {
					t.Errorf("%d notices were heard, want the first one and %d more", got, notify.MaxHops)
				}
				if len(errs) != 1 || !errors.Is(errs[0], p.CodeBudget) || w.Counts().DeadLetters != 1 {
					t.Errorf("errors %v, %d dead letters", errs, w.Counts().DeadLetters)
				}
			})
		})
	}
}

// missed sends a notice by notify.All, and returns the error of its receiver.
func missed(n notify.Notice, to p.AgentID) error {
	r, err := notify.All(n.Agent, []p.AgentID{to}, news{Text: "x"})
	return errors.Join(err, r.Missed[to])
}

// TestTheHopsOfAPeersNotice checks notices from outside: one with too many hops, and others.
func TestTheHopsOfAPeersNotice(t *testing.T) {
	for hops, want := range map[string]string{`32`: "", `0`: "1", `31`: "32", `33`: "dropped", `"many"`: "dropped", `-1`: "1"} {
		t.Run(hops, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				r := &reader{then: func(n notify.Notice) { _ = notify.Notify(n.Agent, "a", news{Text: "x"}) }}
				w.Add("Reader", r)
				a := w.Peer("a")
				a.Send(p.Envelope{Performative: p.ActInform, Receiver: "Reader", Payload: news{Text: "x"}, Metadata: p.Members{"notice_hops": []byte(hops)}})
				synctest.Wait()
				if heard := len(r.heard) == 1; heard != (want != "dropped") {
					t.Fatalf("heard %q", r.heard)
				}
				if _, err := strconv.Atoi(want); err != nil {
					if w.Counts().DeadLetters != 1 {
						t.Errorf("%d dead letters", w.Counts().DeadLetters)
					}
					return
				}
				if got, _ := a.Expect(p.ActInform).Metadata("notice_hops"); string(got) != want {
					t.Errorf("the answer has %s hops, want %s", got, want)
				}
			})
		})
	}
}
