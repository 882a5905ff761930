package codons

import (
	"context"
	"errors"
	goruntime "runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// firstOf is the coordination of those who ask many and want one answer.
func firstOf() machine.Coordination {
	return machine.Coordination{
		Name: "first of many", Machine: request,
		Rules: []machine.Rule{{
			Name: "enough", Doc: "one answer is there",
			When: func(c machine.Census) bool { return c.Count(stateAnswered) > 0 },
			Of:   []machine.State{stateAsked, stateAgreed},
			Say:  []machine.Choice{{Command: commandCancel}},
		}},
		Unbidden: []string{commandCancel},
	}
}

func TestExploreFirstOfMany(t *testing.T) {
	for _, net := range []machine.Network{{}, machine.Calm()} {
		for n := 1; n <= 3; n++ {
			result, err := machine.ExploreGroup(firstOf(), n, net)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(result)
		}
	}
}

// sleeper answers a request after a while, unless it is cancelled.
type sleeper time.Duration

func (sleeper) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (s sleeper) HandleRequest(ctx context.Context, _ Requested) (any, error) {
	select {
	case <-time.After(time.Duration(s)):
		return performatives.Raw(`{}`), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// village has an asker, and sleepers of one to three hours.
type village struct {
	*actors.System
	asker actors.Self
	peers []performatives.AgentID
}

func inVillage(t *testing.T, test func(t *testing.T, v *village)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sys, err := actors.NewSystem(actors.Options{Protocols: Protocols(Times{Deadline: 24 * time.Hour})})
		if err != nil {
			t.Fatal(err)
		}
		v := &village{System: sys}
		spawn := func(id performatives.AgentID, a actors.Agent) {
			if v.asker, err = sys.Spawn(t.Context(), actors.Spec{ID: id, New: func() actors.Agent { return a }}); err != nil {
				t.Fatal(err)
			}
		}
		for i, id := range []performatives.AgentID{"One", "Two", "Three"} {
			spawn(id, sleeper(time.Duration(i+1)*time.Hour))
			v.peers = append(v.peers, id)
		}
		spawn("Asker", sleeper(0))
		defer func() {
			if err := sys.Stop(context.Background()); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second) // the engine has a goroutine that waits for a timer
		}()
		test(t, v)
		synctest.Wait()
		if n := sys.Counts(); n.Open != 0 || n.Working != 0 {
			t.Errorf("%d conversations and %d handlers under way", n.Open, n.Working)
		}
	})
}

// ask has the asker make one request of each peer, under a coordinator.
func (v *village) ask(ctx context.Context, g *coordinator) ([]*Pending[performatives.Raw], error) {
	all, err := v.begin(ctx, g)
	if err == nil {
		g.start(ctx, v.asker)
	}
	return all, err
}

func (v *village) begin(ctx context.Context, g *coordinator) ([]*Pending[performatives.Raw], error) {
	var all []*Pending[performatives.Raw]
	for _, id := range v.peers {
		p := &Pending[performatives.Raw]{asker: asker{options: defaultOptions()}, read: performatives.PayloadAs[performatives.Raw]}
		if err := p.prepare(ctx, v.asker, request, id, performatives.ActRequest, performatives.Raw(`{}`)); err != nil {
			return all, g.giveUp(err)
		}
		if err := g.begin(ctx, v.asker, request, &p.asker, p); err != nil {
			return all, g.giveUp(err)
		}
		all = append(all, p)
	}
	return all, nil
}

// orders gives the same order to all that the rule is about.
func orders(command string) decider {
	return func(_ context.Context, r *machine.Rule, at []machine.State) ([]order, error) {
		out := make([]order, len(at))
		for _, i := range r.About(at) {
			out[i].command = command
		}
		return out, nil
	}
}

func TestCoordinatorCarriesOutItsRules(t *testing.T) {
	inVillage(t, func(t *testing.T, v *village) {
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
		defer cancel()
		start := time.Now()
		g := newCoordinator(firstOf(), orders(commandCancel))
		all, err := v.ask(ctx, g)
		if err != nil {
			t.Fatal(err)
		}
		<-g.done
		if got := time.Since(start); got != time.Hour {
			t.Errorf("it took %v, want the time of the fastest", got)
		}
		if want := []machine.State{stateAnswered, stateCancelled, stateCancelled}; !slices.Equal(g.states, want) {
			t.Errorf("the members are %v, want %v", g.states, want)
		}
		if _, err := all[1].Wait(); !errors.Is(err, performatives.CodeCanceled) {
			t.Errorf("the second: %v", err)
		}
	})
}

// TestCoordinatorWithoutADecision withdraws all members.
func TestCoordinatorWithoutADecision(t *testing.T) {
	var unallowed *machine.DecisionError
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		decide decider
		want   func(error) bool
	}{
		"not allowed": {orders(commandStart), func(err error) bool { return errors.As(err, &unallowed) }},
		"an error":    {func(context.Context, *machine.Rule, []machine.State) ([]order, error) { return nil, broken }, func(err error) bool { return errors.Is(err, broken) }},
		"a panic":     {func(context.Context, *machine.Rule, []machine.State) ([]order, error) { panic("oh") }, func(err error) bool { return errors.Is(err, errUndecided) }},
		"an exit": {func(context.Context, *machine.Rule, []machine.State) ([]order, error) {
			goruntime.Goexit()
			return nil, nil
		}, func(err error) bool { return errors.Is(err, errUndecided) }},
	} {
		t.Run(name, func(t *testing.T) {
			inVillage(t, func(t *testing.T, v *village) {
				g := newCoordinator(firstOf(), c.decide)
				ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
				defer cancel()
				all, err := v.ask(ctx, g)
				if err != nil {
					t.Fatal(err)
				}
				<-g.done
				if err := g.failed(); !c.want(err) {
					t.Errorf("got %v", err)
				}
				if _, err := all[2].Wait(); !errors.Is(err, performatives.CodeCanceled) {
					t.Errorf("the third: %v", err)
				}
			})
		})
	}
}

func TestCoordinatorIsWithdrawn(t *testing.T) {
	inVillage(t, func(t *testing.T, v *village) {
		ctx, cancel := context.WithCancel(t.Context())
		g := newCoordinator(firstOf(), orders(commandCancel))
		if _, err := v.ask(ctx, g); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		<-g.done
		if slices.ContainsFunc(g.states, func(s machine.State) bool { return s != stateCancelled }) {
			t.Errorf("the members are %v", g.states)
		}
	})
}

// TestCoordinatorDecidesNoMore once it is cancelled, though a rule is due.
func TestCoordinatorDecidesNoMore(t *testing.T) {
	inVillage(t, func(t *testing.T, v *village) {
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
		defer cancel()
		g := newCoordinator(firstOf(), func(context.Context, *machine.Rule, []machine.State) ([]order, error) {
			t.Error("it was asked to decide")
			return nil, nil
		})
		if _, err := v.begin(ctx, g); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Minute)
		synctest.Wait()
		if _, due := g.rules.Due(g.states); !due {
			t.Errorf("nothing is due of %v", g.states)
		}
		g.cancel(context.Canceled)
		g.start(ctx, v.asker)
		<-g.done
	})
}

// TestCoordinatorWaitsForItsOrders asks again only when the members have taken them.
func TestCoordinatorWaitsForItsOrders(t *testing.T) {
	inVillage(t, func(t *testing.T, v *village) {
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
		defer cancel()
		decisions := 0
		g := newCoordinator(firstOf(), func(ctx context.Context, r *machine.Rule, at []machine.State) ([]order, error) {
			decisions++
			return orders(commandCancel)(ctx, r, at)
		})
		if _, err := v.begin(ctx, g); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Minute)
		synctest.Wait()
		g.pending[1] = commandCancel // on its way, by a decision before
		g.start(ctx, v.asker)
		synctest.Wait()
		if decisions != 0 {
			t.Errorf("%d decisions while an order was on its way", decisions)
		}
		g.members[1].conversation.tell(commandCancel, nil)
		<-g.done
		if decisions != 1 {
			t.Errorf("%d decisions", decisions)
		}
	})
}

// TestCoordinatorGivesUp when a member cannot begin, and when the party stops
// before they do.
func TestCoordinatorGivesUp(t *testing.T) {
	inVillage(t, func(t *testing.T, v *village) {
		v.peers = append(v.peers, "")
		g := newCoordinator(firstOf(), orders(commandCancel))
		all, err := v.ask(t.Context(), g)
		if !errors.Is(err, performatives.CodeInvalidPayload) || len(all) != 3 {
			t.Fatalf("got %v after %d", err, len(all))
		}
		for i, p := range all {
			if _, err := p.Wait(); err == nil {
				t.Errorf("the %d. was not withdrawn", i+1)
			}
		}
	})
}

// TestCoordinatorEndsWithItsAgent also while a decision takes for ever.
func TestCoordinatorEndsWithItsAgent(t *testing.T) {
	inVillage(t, func(t *testing.T, v *village) {
		g := newCoordinator(firstOf(), func(ctx context.Context, _ *machine.Rule, _ []machine.State) ([]order, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
		defer cancel()
		if _, err := v.ask(ctx, g); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Minute)
		if err := v.StopAgent(t.Context(), "Asker"); err != nil {
			t.Fatal(err)
		}
		<-g.done
		if want := []machine.State{stateAnswered, stateAbandoned, stateAbandoned}; !slices.Equal(g.states, want) {
			t.Errorf("the members are %v, want %v", g.states, want)
		}
	})
}
