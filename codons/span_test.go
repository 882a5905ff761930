package codons_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

const (
	sampledTrace   = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	unsampledTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
)

// inTracedWorld runs a test in a world with spans. events returns all events about lifetimes so
// far.
func inTracedWorld(t *testing.T, o actors.Tracing, test func(t *testing.T, w *kit.World, stream func() []events.Event)) {
	t.Helper()
	kit.InWorldWith(t, codons.Times{}, actors.Options{Tracing: &o}, func(t *testing.T, w *kit.World) {
		s := w.Events.Subscribe(events.SubscribeOptions{Kinds: []events.Kind{lifecycle.KindBegan, lifecycle.KindEnded, lifecycle.KindResent, lifecycle.KindJobEnded}})
		defer s.Close()
		var all []events.Event
		test(t, w, func() []events.Event {
			synctest.Wait()
			for len(s.C) > 0 {
				all = append(all, (<-s.C).Event)
			}
			return all
		})
	})
}

// of returns the events of a type.
func of[E events.Event](all []events.Event) (found []E) {
	for _, e := range all {
		if e, ok := e.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

// endOf returns the end of the side of an agent.
func endOf(t *testing.T, all []events.Event, agent, peer p.AgentID) lifecycle.Ended {
	t.Helper()
	ends := of[lifecycle.Ended](all)
	i := slices.IndexFunc(ends, func(e lifecycle.Ended) bool { return e.Agent == agent && e.Peer == peer })
	if i < 0 {
		t.Fatalf("no side of %s with %s has ended: %+v", agent, peer, ends)
	}
	return ends[i]
}

// The span of each side is below that of the side which asked it, and a child of a handler below
// the span of its job.
func TestSpansOfATree(t *testing.T) {
	inTracedWorld(t, actors.Tracing{}, func(t *testing.T, w *kit.World, stream func() []events.Event) {
		var inside lifecycle.Span
		w.Add("Leaf", &kit.Worker{})
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			inside = codons.SpanOf(ctx)
			// The trace of the request is what agents pass on that were written before there were
			// spans.
			return delegation.Delegate(ctx, t.Agent, "Leaf", kit.Task(), codons.WithTrace(t.Message.Trace()))
		}})
		traces := map[p.Performative]string{}
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Receiver() == "Eddy" || m.Sender() == "Eddy" {
				traces[m.Performative()] = m.Trace()
			}
			return false
		})
		if _, err := w.Delegate(t.Context(), codons.WithTrace(sampledTrace)); err != nil {
			t.Fatal(err)
		}
		all := stream()
		eddy, jules, asker, leaf := endOf(t, all, "Eddy", "Jules"), endOf(t, all, "Jules", "Eddy"), endOf(t, all, "Jules", "Leaf"), endOf(t, all, "Leaf", "Jules")
		jobs := of[lifecycle.JobEnded](all)
		i := slices.IndexFunc(jobs, func(e lifecycle.JobEnded) bool { return e.Agent == "Jules" })
		if i < 0 {
			t.Fatalf("%+v", jobs)
		}
		job := jobs[i]
		if got := eddy.Span.Parent; got != (lifecycle.SpanID{0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31}) {
			t.Errorf("the parent of the first span is %x", got)
		}
		ids := map[lifecycle.SpanID]bool{}
		for _, link := range []struct{ above, below lifecycle.Span }{{eddy.Span, jules.Span}, {jules.Span, job.Span}, {job.Span, asker.Span}, {asker.Span, leaf.Span}} {
			if link.below.Parent != link.above.ID || link.below.Trace != link.above.Trace || !link.below.Sampled || link.below.Trace[0] != 0x0a {
				t.Errorf("%+v is not below %+v", link.below, link.above)
			}
			ids[link.above.ID], ids[link.below.ID] = true, true
		}
		if len(ids) != 5 {
			t.Errorf("%d ids of five spans", len(ids))
		}
		if inside != job.Span {
			t.Errorf("the job saw %+v, and has %+v", inside, job.Span)
		}
		for act, trace := range traces {
			if trace != eddy.Span.Traceparent() {
				t.Errorf("%s has the trace %s, want %s", act, trace, eddy.Span.Traceparent())
			}
		}
		if asker.Parent != eddy.Conversation || asker.Protocol != "task-delegation" || asker.Role != machine.Initiator {
			t.Errorf("%+v", asker)
		}
		if n := len(of[lifecycle.Began](all)); n != 4 {
			t.Errorf("%d sides have begun", n)
		}
		if job.Job == "" || job.Command == "" || job.Code != "" || job.Began.IsZero() {
			t.Errorf("%+v", job)
		}
	})
}

// Without a trace of its own, a conversation begins one, which the ratio samples. One that began
// elsewhere stays what it is.
func TestSpansSampled(t *testing.T) {
	for _, test := range []struct {
		ratio   float64
		trace   string
		sampled bool
	}{{0, "", true}, {1, "", true}, {1e-18, "", false}, {1e-18, sampledTrace, true}, {1, unsampledTrace, false}} {
		inTracedWorld(t, actors.Tracing{Ratio: test.ratio}, func(t *testing.T, w *kit.World, stream func() []events.Event) {
			w.Add("Jules", &kit.Worker{})
			var opts []codons.Option
			if test.trace != "" {
				opts = append(opts, codons.WithTrace(test.trace))
			}
			if _, err := w.Delegate(t.Context(), opts...); err != nil {
				t.Fatal(err)
			}
			all := stream()
			eddy, jules := endOf(t, all, "Eddy", "Jules"), endOf(t, all, "Jules", "Eddy")
			if eddy.Span.Sampled != test.sampled || jules.Span.Sampled != test.sampled {
				t.Errorf("%+v: sampled %v and %v", test, eddy.Span.Sampled, jules.Span.Sampled)
			}
			if root := test.trace == ""; root != (eddy.Span.Parent == lifecycle.SpanID{}) {
				t.Errorf("%+v: the parent is %x", test, eddy.Span.Parent)
			}
			if want := map[bool]string{true: "-01", false: "-00"}[test.sampled]; !strings.HasSuffix(eddy.Span.Traceparent(), want) {
				t.Errorf("%+v: %s", test, eddy.Span.Traceparent())
			}
		})
	}
}

// A conversation with an agent that knows no traces begins a trace at the responder.
func TestSpanOfAnUntracedRequest(t *testing.T) {
	inTracedWorld(t, actors.Tracing{}, func(t *testing.T, w *kit.World, stream func() []events.Event) {
		w.Add("Jules", &kit.Worker{})
		stamp := w.Eddy.Stamp()
		m, err := p.New(p.Envelope{ID: stamp.ID, Timestamp: stamp.Time, Performative: p.ActTaskRequest, Sender: "Eddy", Receiver: "Jules", Protocol: "task-delegation", Payload: kit.Task()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Eddy.Ask(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if s := endOf(t, stream(), "Jules", "Eddy").Span; s.IsZero() || s.Parent != (lifecycle.SpanID{}) {
			t.Errorf("%+v", s)
		}
	})
}

// An invalid traceparent is refused, as without spans.
func TestSpanOfAnInvalidTrace(t *testing.T) {
	inTracedWorld(t, actors.Tracing{}, func(t *testing.T, w *kit.World, _ func() []events.Event) {
		w.Add("Jules", &kit.Worker{})
		for _, trace := range []string{"x", strings.ToUpper(sampledTrace), "00-00000000000000000000000000000000-b7ad6b7169203331-01", sampledTrace + "-x", "ff" + sampledTrace[2:], "0g" + sampledTrace[2:]} {
			var r *p.Refusal
			if _, err := w.Delegate(t.Context(), codons.WithTrace(trace)); !errors.As(err, &r) || r.Field != "trace" {
				t.Errorf("%q: %v", trace, err)
			}
		}
	})
}

// Without tracing nothing has a span, and traceparents are passed on.
func TestNoSpans(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		s := w.Events.Subscribe(events.SubscribeOptions{Kinds: []events.Kind{lifecycle.KindEnded, lifecycle.KindJobEnded}})
		defer s.Close()
		var seen []string
		w.Net.Intercept(func(m *p.Message) bool {
			seen = append(seen, m.Trace())
			return false
		})
		w.Add("Leaf", &kit.Worker{})
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			if s := codons.SpanOf(ctx); !s.IsZero() || s.Traceparent() != "" {
				w.T.Errorf("%+v", s)
			}
			return delegation.Delegate(ctx, t.Agent, "Leaf", kit.Task())
		}})
		if _, err := w.Delegate(t.Context(), codons.WithTrace(sampledTrace)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for len(s.C) > 0 {
			switch e := (<-s.C).Event.(type) {
			case lifecycle.Ended:
				if !e.Span.IsZero() {
					t.Errorf("%+v", e)
				}
			case lifecycle.JobEnded:
				if !e.Span.IsZero() {
					t.Errorf("%+v", e)
				}
			}
		}
		if len(seen) == 0 || slices.ContainsFunc(seen, func(s string) bool { return s != sampledTrace }) {
			t.Errorf("the messages have the traces %q", seen)
		}
	})
}

// eitherTimeout is the end of an initiator whose deadline is that of its peer: its own timer, or
// the peer's FAILURE at the same moment.
const eitherTimeout machine.State = "failed or timed_out"

// The end of each side has its state, its time and the code of what went wrong, and so has the job.
func TestEnds(t *testing.T) {
	fail := errors.New("oh")
	for name, test := range map[string]struct {
		perform                 func(context.Context, delegation.Task) (p.InformResult, error)
		decide                  func(context.Context, delegation.Task) delegation.Decision
		cancel                  bool
		eddy, jules             machine.State
		eddyCode, julesCode, by p.Code // by is that of the job
	}{
		"completed": {eddy: "completed", jules: "completed"},
		"failed": {
			perform: func(context.Context, delegation.Task) (p.InformResult, error) { return p.InformResult{}, fail },
			eddy:    "failed", jules: "failed", eddyCode: p.CodeFailed, julesCode: p.CodeFailed, by: p.CodeFailed,
		},
		"panicked": {
			perform: func(context.Context, delegation.Task) (p.InformResult, error) { panic("oh") },
			eddy:    "failed", jules: "failed", eddyCode: p.CodeInternal, julesCode: p.CodeInternal, by: p.CodeInternal,
		},
		"rejected": {
			decide: func(context.Context, delegation.Task) delegation.Decision {
				return delegation.Reject(p.CodeIncapable, "no")
			},
			eddy: "rejected", jules: "rejected", eddyCode: p.CodeIncapable, julesCode: p.CodeIncapable,
		},
		"timed out": {
			perform: kit.UntilDone[p.InformResult, delegation.Task],
			eddy:    eitherTimeout, jules: "timed_out", eddyCode: p.CodeTimeout, julesCode: p.CodeTimeout,
		},
		"cancelled": {
			perform: kit.UntilDone[p.InformResult, delegation.Task], cancel: true,
			eddy: "cancelled", jules: "cancelled", eddyCode: p.CodeCanceled, julesCode: p.CodeCanceled,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inTracedWorld(t, actors.Tracing{}, func(t *testing.T, w *kit.World, stream func() []events.Event) {
				if test.by == p.CodeInternal {
					w.Allow(systemtest.ErrorLogged)
				}
				w.Add("Jules", &kit.Worker{Perform: test.perform, Consider: test.decide})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				d := w.Start(ctx)
				if test.cancel {
					synctest.Wait()
					time.Sleep(time.Second)
					d.Cancel()
				}
				_, _ = d.Wait()
				all := stream()
				eddy, jules := endOf(t, all, "Eddy", "Jules"), endOf(t, all, "Jules", "Eddy")
				got := []string{string(eddy.State), string(jules.State), string(eddy.Code), string(jules.Code)}
				if test.eddy == eitherTimeout {
					if eddy.State != "failed" && eddy.State != "timed_out" {
						t.Errorf("Eddy's side has ended as %s", eddy.State)
					}
					test.eddy = eddy.State
				}
				want := []string{string(test.eddy), string(test.jules), string(test.eddyCode), string(test.julesCode)}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				if test.cancel && (eddy.Time.Sub(eddy.Began) < time.Second || jules.Time.Sub(jules.Began) < time.Second) {
					t.Errorf("%v and %v long", eddy.Time.Sub(eddy.Began), jules.Time.Sub(jules.Began))
				}
				jobs := of[lifecycle.JobEnded](all)
				if test.decide == nil && (len(jobs) != 1 || test.by != "" && jobs[0].Code != test.by) {
					t.Errorf("jobs %+v", jobs)
				}
				if test.decide != nil && len(jobs) != 0 {
					t.Errorf("jobs %+v", jobs)
				}
				if n := len(of[lifecycle.Ended](all)); n != 2 {
					t.Errorf("%d ends", n)
				}
			})
		})
	}
}

// A repeated message is published as one, also by a responder that has ended.
func TestResentPublished(t *testing.T) {
	asked, answered := "Eddy initiator TASK_REQUEST", "Jules responder INFORM_RESULT"
	cancelled, stopped := "Eddy initiator CANCEL", "Jules responder INFORM"
	for lost, want := range map[p.Performative][]string{
		p.ActTaskRequest: {asked, asked}, p.ActInformResult: {asked, answered, asked, answered}, p.ActInform: {cancelled, stopped, cancelled, stopped},
	} {
		inTracedWorld(t, actors.Tracing{}, func(t *testing.T, w *kit.World, stream func() []events.Event) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
				if lost == p.ActInform { // the receipt
					cancel()
					<-ctx.Done()
				}
				return p.InformResult{Status: p.StatusSuccess}, ctx.Err()
			}})
			w.Net.Lose(lost, 2)
			if _, err := w.Delegate(ctx); (err != nil) != (lost == p.ActInform) {
				t.Fatal(err)
			}
			var again []string
			ids := map[p.ConversationID]bool{}
			for _, r := range of[lifecycle.Resent](stream()) {
				again = append(again, string(r.Agent)+" "+r.Role.String()+" "+r.Performative.String())
				ids[r.Conversation] = true
				if r.Protocol != delegation.Codon.Name() || r.Peer == r.Agent || r.Message == "" {
					t.Errorf("%+v of %+v", r, r.Subject)
				}
			}
			if d := cmp.Diff(want, again); d != "" || len(ids) != 1 {
				t.Errorf("%s in the conversations %v", d, ids)
			}
		})
	}
}

// A side that has ended tells the states that it has come through, and one under way those until
// then. The path of one that was under way when the subscription was made begins with its state at
// that time.
func TestPathOfASide(t *testing.T) {
	kit.InWorldWith(t, codons.Times{}, actors.Options{}, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			time.Sleep(time.Second)
			return p.InformResult{Status: p.StatusSuccess}, nil
		}})
		var ends *events.Subscription
		for _, want := range []map[machine.Role]string{
			{machine.Initiator: "working completed", machine.Responder: "working completed"},
			{machine.Initiator: "idle requested working completed", machine.Responder: "idle considering working completed"},
		} {
			done := make(chan error)
			go func() {
				_, err := w.Delegate(t.Context())
				done <- err
			}()
			synctest.Wait()
			if ends == nil {
				ends = kit.Recording(&w.Events, lifecycle.KindEnded)
				defer ends.Close()
			}
			for _, i := range codons.Conversations(w.System) {
				if got := pathOf(i.Path); got+" completed" != want[i.Role] && got != "" {
					t.Errorf("the path of the %s under way is %q", i.Role, got)
				}
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			for range want {
				e := (<-ends.C).Event.(lifecycle.Ended)
				if got := pathOf(e.Path); got != want[e.Role] {
					t.Errorf("the path of the %s is %q, want %q", e.Role, got, want[e.Role])
				}
			}
		}
	})
}

// A path has no step that the side did not take: it begins anew where nobody wanted the ends of
// sides for a while.
func TestPathAfterAPause(t *testing.T) {
	kit.InWorldWith(t, codons.Times{}, actors.Options{}, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &slowToDecide{&kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			time.Sleep(time.Second)
			return p.InformResult{Status: p.StatusSuccess}, nil
		}}})
		first := kit.Recording(&w.Events, lifecycle.KindEnded)
		done := make(chan error)
		go func() {
			_, err := w.Delegate(t.Context())
			done <- err
		}()
		synctest.Wait() // the worker considers
		first.Close()
		time.Sleep(1500 * time.Millisecond) // it works
		second := kit.Recording(&w.Events, lifecycle.KindEnded)
		defer second.Close()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for range 2 {
			if e := (<-second.C).Event.(lifecycle.Ended); pathOf(e.Path) != "working completed" {
				t.Errorf("the path of the %s is %q", e.Role, e.Path)
			}
		}
	})
}

// slowToDecide takes a second to accept a task.
type slowToDecide struct{ *kit.Worker }

func (s *slowToDecide) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	time.Sleep(time.Second)
	return delegation.Accept()
}

func pathOf(path []machine.State) string {
	var texts []string
	for _, state := range path {
		texts = append(texts, string(state))
	}
	return strings.Join(texts, " ")
}

// The events of a side share one Subject, which names its parent, also where the handler's
// goroutine publishes them.
func TestEventsShareTheirSubject(t *testing.T) {
	inTracedWorld(t, actors.Tracing{}, func(t *testing.T, w *kit.World, stream func() []events.Event) {
		steps := kit.Recording(&w.Events, lifecycle.KindTransition)
		w.Add("Leaf", &kit.Worker{})
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			return delegation.Delegate(ctx, t.Agent, "Leaf", kit.Task())
		}})
		if _, err := w.Delegate(t.Context()); err != nil {
			t.Fatal(err)
		}
		all, sides := stream(), map[lifecycle.Subject]*lifecycle.Subject{}
		for _, e := range of[lifecycle.Began](all) {
			sides[*e.Subject] = e.Subject
		}
		check := func(kind events.Kind, s *lifecycle.Subject) {
			t.Helper()
			if sides[*s] != s {
				t.Errorf("%s has a Subject of its own: %+v", kind, *s)
			}
			if inner := s.Agent == "Leaf" || s.Peer == "Leaf"; (s.Parent != "") != inner {
				t.Errorf("%s of %s with %s has the parent %q", kind, s.Agent, s.Peer, s.Parent)
			}
		}
		ends, jobs := of[lifecycle.Ended](all), of[lifecycle.JobEnded](all)
		for _, e := range ends {
			check(e.Kind(), e.Subject)
		}
		for _, e := range jobs {
			check(e.Kind(), e.Subject)
		}
		for _, e := range kit.Published[lifecycle.Transition](t, steps) {
			check(e.Kind(), e.Subject)
		}
		if len(sides) != 4 || len(ends) != 4 || len(jobs) != 2 {
			t.Errorf("%d sides, %d ends, %d jobs", len(sides), len(ends), len(jobs))
		}
	})
}
