package runtime_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/mediation"
	"github.com/ribosome-agents/ribosome/codons/query"
	requests "github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/codons/saga"
	"github.com/ribosome-agents/ribosome/codons/scatter"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	"github.com/ribosome-agents/ribosome/codons/tool"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
)

// deadlineFailing is an agent that answers each request by FAILURE, because of a deadline, after a
// time.
func deadlineFailing(after time.Duration) func() actors.Agent {
	return always(scripted{topics: []string{"x"}, receive: func(c *actors.Context, m *p.Message) {
		if m.Performative() == p.ActCancel || m.InReplyTo() != "" {
			return
		}
		self := c.Self
		go func() {
			time.Sleep(after)
			answer, err := m.ReplyFrom(self.ID(), self.Stamp(), p.ActFailure, p.Failure{ErrorCode: p.CodeTimeout, ErrorText: "too late"})
			if err == nil {
				_ = self.Send(answer)
			}
		}()
	}})
}

// callers are the calls that wait for another agent, of all codons.
func callers(n *runtime.Node) map[string]func(ctx context.Context, to p.AgentID) error {
	job, to1 := task("x"), func(to p.AgentID) []p.AgentID { return []p.AgentID{to} }
	return map[string]func(ctx context.Context, to p.AgentID) error{
		"delegation.Delegate": func(ctx context.Context, to p.AgentID) error {
			_, err := delegation.Delegate(ctx, n, to, job)
			return err
		},
		"tool.Call": func(ctx context.Context, to p.AgentID) error {
			_, err := tool.Call[numbered, numbered](ctx, n, to, "x", numbered{})
			return err
		},
		"request.Request": func(ctx context.Context, to p.AgentID) error {
			_, err := requests.Request[numbered](ctx, n, to, numbered{})
			return err
		},
		"request.AskWhen": func(ctx context.Context, to p.AgentID) error {
			_, err := requests.AskWhen[numbered](ctx, n, to, requests.When{Condition: p.ContentOf("x"), Action: p.ContentOf("y")})
			return err
		},
		"query.If": func(ctx context.Context, to p.AgentID) error {
			_, err := query.If(ctx, n, to, "x")
			return err
		},
		"query.Ref": func(ctx context.Context, to p.AgentID) error {
			_, err := query.Ref[numbered](ctx, n, to, "x")
			return err
		},
		"approval.Propose": func(ctx context.Context, to p.AgentID) error {
			_, err := approval.Propose(ctx, n, to, numbered{})
			return err
		},
		"approval.Approve": func(ctx context.Context, to p.AgentID) error {
			_, err := approval.Approve(ctx, n, to, approval.Step{What: "x"})
			return err
		},
		"discovery.Whisper": func(ctx context.Context, to p.AgentID) error {
			_, err := discovery.Whisper(ctx, n, to, p.QueryCapabilities{Type: p.QuerySummary})
			return err
		},
		"discovery.Handshake": func(ctx context.Context, to p.AgentID) error {
			_, err := discovery.Handshake(ctx, n, to)
			return err
		},
		"discovery.DelegateToAny": func(ctx context.Context, to p.AgentID) error {
			_, err := discovery.DelegateToAny(ctx, n, to1(to), job)
			return err
		},
		"contractnet.CallForProposals": func(ctx context.Context, to p.AgentID) error {
			_, err := contractnet.CallForProposals(ctx, n, to1(to), contractnet.Call{Task: job})
			return err
		},
		"auction.English": func(ctx context.Context, to p.AgentID) error {
			_, err := auction.English(ctx, n, to1(to), auction.Lot{Item: "x", Start: 1, Step: 1, RoundTime: time.Hour})
			return err
		},
		"subscribe.Subscribe": func(ctx context.Context, to p.AgentID) error {
			s, err := subscribe.Subscribe[numbered](ctx, n, to, subscribe.Subscription{Topic: "x"})
			if err == nil {
				_ = s.Unsubscribe()
			}
			return err
		},
		"mediation.AskThrough": func(ctx context.Context, to p.AgentID) error {
			_, err := mediation.AskThrough(ctx, n, to, mediation.Proxy{Capabilities: []string{"x"}, Task: job})
			return err
		},
		"mediation.Recruit": func(ctx context.Context, to p.AgentID) error {
			_, err := mediation.Recruit(ctx, n, to, mediation.Proxy{Capabilities: []string{"x"}, Task: job})
			return err
		},
		"scatter.Scatter": func(ctx context.Context, to p.AgentID) error {
			_, err := scatter.Scatter(ctx, n, to1(to), job, scatter.AllOf())
			return err
		},
		"saga.Run": func(ctx context.Context, to p.AgentID) error {
			_, err := saga.Saga{Steps: []saga.Step{{Name: "x", Do: func(ctx context.Context, _ map[string]any) (any, error) {
				return delegation.Delegate(ctx, n, to, job)
			}}}}.Run(ctx, n)
			return err
		},
		"Node.Ask": func(ctx context.Context, to p.AgentID) error {
			_, err := n.Ask(ctx, to, job)
			return err
		},
		"Self.Ask": func(ctx context.Context, to p.AgentID) error {
			by, _ := ctx.Deadline()
			m, err := p.New(p.Envelope{ID: p.NewID(), Sender: n.Self().ID(), Receiver: to, Timestamp: time.Now(), ReplyBy: by, Payload: job})
			if err != nil {
				return err
			}
			answer, err := n.Self().Ask(ctx, m)
			if err == nil && answer.AsRefusal() != nil { // an answer before the deadline is no error of Ask
				return answer.AsRefusal()
			}
			return err
		},
	}
}

// When the deadline of a caller passes, its error is context.DeadlineExceeded and a timeout: if the
// worker's FAILURE comes first, if the caller's timer does, and if both come at the same time. A
// FAILURE about a deadline within the worker's work is no deadline of the caller.
func TestOwnDeadlineOfEachCaller(t *testing.T) {
	racetest.Skip(t) // hundreds of requests of each caller, in virtual time
	const limit = time.Second
	for _, c := range []struct {
		name  string
		after time.Duration // until the FAILURE
		runs  int
		own   bool // the deadline of the caller has passed
	}{
		{"the failure first", limit - time.Millisecond/2, 1, true},
		{"the timer first", limit + time.Millisecond, 1, true},
		{"at the same time", limit, 300, true},
		{"a deadline within", limit / 4, 1, false},
	} {
		for name := range callers(nil) {
			reports := name != "Self.Ask" && name != "Node.Ask" && name != "saga.Run" // all others have the code, too
			t.Run(c.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := newNode(t, runtime.Options{Name: "asker"})
					if name == "discovery.Whisper" || name == "discovery.Handshake" { // an agent in Go answers it by itself
						h := newHubOf(t, n, noPeerOptions)
						program := &caller{t: t}
						program.Answer = func(s *wire.Session, m *p.Message) error {
							if m.Performative() != p.ActCancel && m.Sender() == "asker" {
								time.AfterFunc(c.after, func() {
									if answer, err := m.ReplyFrom("worker", p.Stamp{ID: p.NewID(), Time: time.Now()}, p.ActFailure, p.Failure{ErrorCode: p.CodeTimeout}); err == nil {
										_ = s.Send(answer)
									}
								})
							}
							return nil
						}
						var err error
						if program.session, program.cut, err = h.dial(nil, &program.Recorder); err != nil {
							t.Fatal(err)
						}
						defer program.cut()
						// It owns its id, and announces nothing: the node does not answer for it.
						program.say(message(t, "worker", "system", p.ActQueryCapabilities, offers()))
						synctest.Wait()
					} else {
						spawn(t, n, "worker", deadlineFailing(c.after))
					}
					for range c.runs {
						ctx, cancel := context.WithTimeout(t.Context(), limit)
						err := callers(n)[name](ctx, "worker")
						if got := errors.Is(err, context.DeadlineExceeded); err == nil || got != c.own || !errors.Is(err, p.CodeTimeout) && reports {
							t.Errorf("DeadlineExceeded %v, timeout %v: %v", got, errors.Is(err, p.CodeTimeout), err)
						}
						cancel()
					}
					time.Sleep(2 * limit) // the worker has sent all
				})
			})
		}
	}
}
