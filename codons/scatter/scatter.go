package scatter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/group"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Scatter delegates a task to many agents at once and gathers their answers. As soon as
// there are enough answers, or enough can no longer arrive, the other agents get CANCEL.
// Scatter returns when all conversations have ended ([Coordination]).
//
// Each result is an answer, also a partial one, and one of a task that was done without
// success ([performatives.StatusFailure]). An answer that arrives in spite of the CANCEL
// counts, so there may be more answers than were wanted.
//
// ctx is the context of all delegations, as in [delegation.Delegate], and opts are the
// options of each. Inside a conversation that has a budget, each delegation gets an equal
// part of the rest. Of the quantities that [codons.WithBudget] names, each delegation gets
// that amount.
//
// The error is a [*QuorumError], or says that the task is invalid, or that p cannot begin
// a conversation. Scatter blocks and must not be called on an agent's own actor.
func Scatter(ctx context.Context, p codons.Party, to []performatives.AgentID, task performatives.TaskRequest, g Gather, opts ...codons.Option) (Scattered, error) {
	enough, least := g.bounds(len(to))
	if len(to) == 0 || least > len(to) {
		return Scattered{}, &QuorumError{Want: max(least, 1)}
	}
	members, err := run(ctx, p, to, task, Coordination(enough, least), opts)
	if err != nil {
		return Scattered{}, err
	}
	var s Scattered
	got := 0
	for i, d := range members {
		a := Answer{Agent: to[i]}
		a.Result, a.Err = d.Wait()
		s.Answers = append(s.Answers, a)
		if a.Err == nil {
			got++
		}
	}
	if got < least {
		return Scattered{}, &QuorumError{Want: least, Got: got, Answers: s.Answers}
	}
	s.Best = g.pick(s.Answers)
	return s, nil
}

// run begins the delegations and waits until all have ended.
func run(ctx context.Context, p codons.Party, to []performatives.AgentID, task performatives.TaskRequest, rules machine.Coordination, opts []codons.Option) ([]*delegation.Delegated, error) {
	group := group.New(rules, withdraw)
	opts = append(slices.Clone(opts), codons.WithBudgetShare(ctx, len(to)))
	members := make([]*delegation.Delegated, 0, len(to))
	for _, id := range to {
		d, err := delegation.New(ctx, p, id, task, opts)
		if err == nil {
			err = group.Begin(ctx, p.Self(), &d.InitiatorSide, d)
		}
		if end := (*codons.EndError)(nil); errors.As(err, &end) { // ctx has ended already
			err = &QuorumError{Want: 1, Answers: []Answer{{Agent: id, Err: end}}}
		}
		if err != nil {
			return nil, group.GiveUp(err)
		}
		members = append(members, &d.Delegated)
	}
	group.Start(ctx, p.Self())
	codons.AwaitEnd(p.Self(), group.Done())
	return members, group.Failed()
}

// withdraw is the [group.Decider] of a scatter: each rule has one command.
func withdraw(_ context.Context, r *machine.Rule, at []machine.State) ([]codons.Command, error) {
	commands := make([]codons.Command, len(at))
	for _, i := range r.About(at) {
		commands[i] = codons.Command{Name: r.Say[0].Command}
	}
	return commands, nil
}

// Codon documents a scatter: several delegations and the rules of a quorum of two. It has
// no rows of its own.
var Codon = codons.MustDefine(codons.Definition{
	Table: machine.Table{
		Name: "scatter-gather", Title: "Scatter and gather",
		Purpose: "One agent gives a task to many agents at once and gathers their answers: all, the first, a quorum, or the best. As soon as " +
			"the result is decided, the other delegations are cancelled, and their ends are awaited. The rules shown are those of a quorum of two.",
		Source: "G. Hohpe, B. Woolf: Enterprise Integration Patterns, Scatter-Gather (2003)",
	},
	Coordination: Coordination(2, 2),
	Uses:         []codons.Use{{Codon: "task-delegation", For: "with each agent, all at once: the task"}},
	Ends: "All delegations have ended. The rules of the coordination withdraw those that are not needed any more; a delegation that is " +
		"completed in spite of its CANCEL counts",
	Example: "ExampleScatter",
})

// Coordination returns the rules that join the delegations of a [Scatter], over
// [delegation.Table]: when enough delegations are completed, or fewer than least can still
// be completed, all delegations that have not ended get CANCEL.
func Coordination(enough, least int) machine.Coordination {
	live := []machine.State{delegation.StateRequested, delegation.StateInputGiven, standard.StateWorking, delegation.StateInputNeeded}
	completed := []machine.State{standard.StateCompleted, delegation.StateDeclining} // a declined delegation ends as completed
	withdraw := []machine.Choice{{Command: standard.CommandCancel}}
	return machine.Coordination{
		Name: "scatter-gather", Machine: delegation.Codon.Machine(),
		Rules: []machine.Rule{
			{
				Name: "enough", Doc: fmt.Sprintf("%d are completed: the others are not needed", enough),
				When: func(c machine.Census) bool { return c.Count(completed...) >= enough },
				Of:   live, Say: withdraw,
			},
			{
				Name: "out of reach", Doc: fmt.Sprintf("fewer than %d can still be completed: these are not needed", least),
				When: func(c machine.Census) bool {
					return c.Count(completed...)+c.Count(machine.Idle)+c.Count(live...) < least
				},
				Of: live, Say: withdraw,
			},
		},
		Unbidden: []string{standard.CommandCancel},
	}
}
