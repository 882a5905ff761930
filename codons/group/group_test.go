package group

import (
	"context"
	"errors"
	goruntime "runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
)

// firstOf is the coordination of those who ask many and want one answer.
func firstOf() machine.Coordination {
	return machine.Coordination{
		Name: "first of many", Machine: request.Codon.Machine(),
		Rules: []machine.Rule{{
			Name: "enough", Doc: "one answer is there",
			When: func(c machine.Census) bool { return c.Count(standard.StateAnswered) > 0 },
			Of:   []machine.State{standard.StateAsked, standard.StateAgreed},
			Say:  []machine.Choice{{Command: standard.CommandCancel}},
		}},
		Unbidden: []string{standard.CommandCancel},
	}
}

func TestExploreFirstOfMany(t *testing.T) {
	racetest.Skip(t)
	for _, net := range []verify.Network{{}, verify.Calm()} {
		for n := 1; n <= 3; n++ {
			result, err := verify.ExploreGroup(firstOf(), n, net)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(result)
		}
	}
}

// member is the initiator's side of a request.
type member struct{ codons.InitiatorSide }

func (m *member) Ended(c *codons.Conversation, last *performatives.Message) {
	var err error
	if c.State() != standard.StateAnswered { // the last message of a cancelled one is the receipt, an INFORM
		err = c.EndError(last)
	}
	m.Close(err)
}

func (m *member) wait() error {
	m.Await()
	return m.Err()
}

// sleeper answers a request after a while, unless it is cancelled.
type sleeper time.Duration

func (sleeper) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (s sleeper) HandleRequest(ctx context.Context, _ request.Requested) (any, error) {
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
		sys, err := actors.NewSystem(actors.Options{Protocols: []actors.Protocol{request.Service.With(codons.Times{Deadline: 24 * time.Hour})}})
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
func (v *village) ask(ctx context.Context, g *Group) ([]*member, error) {
	all, err := v.begin(ctx, g)
	if err == nil {
		g.Start(ctx, v.asker)
	}
	return all, err
}

func (v *village) begin(ctx context.Context, g *Group) ([]*member, error) {
	var all []*member
	for _, id := range v.peers {
		s := &member{}
		err := s.Prepare(ctx, v.asker, codons.Opening{
			Codon: request.Codon, To: id, Act: performatives.ActRequest, Payload: performatives.Raw(`{}`), Options: codons.NewOptions(),
		})
		if err != nil {
			return all, g.GiveUp(err)
		}
		if err := g.Begin(ctx, v.asker, &s.InitiatorSide, s); err != nil {
			return all, g.GiveUp(err)
		}
		all = append(all, s)
	}
	return all, nil
}

// orders gives the same order to all that the rule is about.
func orders(command string) Decider {
	return func(_ context.Context, r *machine.Rule, at []machine.State) ([]codons.Command, error) {
		out := make([]codons.Command, len(at))
		for _, i := range r.About(at) {
			out[i].Name = command
		}
		return out, nil
	}
}

func TestGroupFollowsRules(t *testing.T) {
	inVillage(t, func(t *testing.T, v *village) {
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
		defer cancel()
		start := time.Now()
		g := New(firstOf(), orders(standard.CommandCancel))
		all, err := v.ask(ctx, g)
		if err != nil {
			t.Fatal(err)
		}
		<-g.done
		if got := time.Since(start); got != time.Hour {
			t.Errorf("it took %v, want the time of the fastest", got)
		}
		if want := []machine.State{standard.StateAnswered, standard.StateCancelled, standard.StateCancelled}; !slices.Equal(g.states, want) {
			t.Errorf("the members are %v, want %v", g.states, want)
		}
		if err := all[1].wait(); !errors.Is(err, performatives.CodeCanceled) {
			t.Errorf("the second: %v", err)
		}
	})
}

// TestGroupWithoutDecision checks that a decision which fails withdraws all members.
func TestGroupWithoutDecision(t *testing.T) {
	var unallowed *machine.DecisionError
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		decide Decider
		want   func(error) bool
	}{
		"not allowed": {orders(machine.CommandStart), func(err error) bool { return errors.As(err, &unallowed) }},
		"an error":    {func(context.Context, *machine.Rule, []machine.State) ([]codons.Command, error) { return nil, broken }, func(err error) bool { return errors.Is(err, broken) }},
		"a panic":     {func(context.Context, *machine.Rule, []machine.State) ([]codons.Command, error) { panic("oh") }, func(err error) bool { return errors.Is(err, errUndecided) }},
		"an exit": {func(context.Context, *machine.Rule, []machine.State) ([]codons.Command, error) {
			goruntime.Goexit()
			return nil, nil
		}, func(err error) bool { return errors.Is(err, errUndecided) }},
	} {
		t.Run(name, func(t *testing.T) {
			inVillage(t, func(t *testing.T, v *village) {
				g := New(firstOf(), c.decide)
				ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
				defer cancel()
				all, err := v.ask(ctx, g)
				if err != nil {
					t.Fatal(err)
				}
				<-g.done
				if err := g.Failed(); !c.want(err) {
					t.Errorf("got %v", err)
				}
				if err := all[2].wait(); !errors.Is(err, performatives.CodeCanceled) {
					t.Errorf("the third: %v", err)
				}
			})
		})
	}
}

func TestGroupIsCancelled(t *testing.T) {
	inVillage(t, func(t *testing.T, v *village) {
		ctx, cancel := context.WithCancel(t.Context())
		g := New(firstOf(), orders(standard.CommandCancel))
		if _, err := v.ask(ctx, g); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		<-g.done
		if slices.ContainsFunc(g.states, func(s machine.State) bool { return s != standard.StateCancelled }) {
			t.Errorf("the members are %v", g.states)
		}
	})
}

// TestGroupDecidesNoMoreAfterCancel checks that a due rule is not decided after the group is
// cancelled.
func TestGroupDecidesNoMoreAfterCancel(t *testing.T) {
	inVillage(t, func(t *testing.T, v *village) {
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
		defer cancel()
		g := New(firstOf(), func(context.Context, *machine.Rule, []machine.State) ([]codons.Command, error) {
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
		g.Cancel(context.Canceled)
		g.Start(ctx, v.asker)
		<-g.done
	})
}

// TestGroupWaitsForItsCommands checks that the next decision is made only after the members have
// taken the commands.
func TestGroupWaitsForItsCommands(t *testing.T) {
	inVillage(t, func(t *testing.T, v *village) {
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
		defer cancel()
		decisions := 0
		g := New(firstOf(), func(ctx context.Context, r *machine.Rule, at []machine.State) ([]codons.Command, error) {
			decisions++
			return orders(standard.CommandCancel)(ctx, r, at)
		})
		if _, err := v.begin(ctx, g); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Minute)
		synctest.Wait()
		g.pending[1] = standard.CommandCancel // on its way, by a decision before
		g.Start(ctx, v.asker)
		synctest.Wait()
		if decisions != 0 {
			t.Errorf("%d decisions while an order was on its way", decisions)
		}
		g.members[1].Tell(codons.Command{Name: standard.CommandCancel})
		<-g.done
		if decisions != 1 {
			t.Errorf("%d decisions", decisions)
		}
	})
}

// TestGroupGivesUp checks a member that cannot begin, and a party that stops before the members
// begin.
func TestGroupGivesUp(t *testing.T) {
	inVillage(t, func(t *testing.T, v *village) {
		v.peers = append(v.peers, "")
		g := New(firstOf(), orders(standard.CommandCancel))
		all, err := v.ask(t.Context(), g)
		if !errors.Is(err, performatives.CodeInvalidPayload) || len(all) != 3 {
			t.Fatalf("got %v after %d", err, len(all))
		}
		for i, p := range all {
			if err := p.wait(); err == nil {
				t.Errorf("the %d. was not withdrawn", i+1)
			}
		}
	})
}

// TestGroupEndsWithItsAgent checks that a group ends with its agent, also during a decision that
// does not return.
func TestGroupEndsWithItsAgent(t *testing.T) {
	inVillage(t, func(t *testing.T, v *village) {
		g := New(firstOf(), func(ctx context.Context, _ *machine.Rule, _ []machine.State) ([]codons.Command, error) {
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
		if want := []machine.State{standard.StateAnswered, standard.StateAbandoned, standard.StateAbandoned}; !slices.Equal(g.states, want) {
			t.Errorf("the members are %v, want %v", g.states, want)
		}
	})
}
