package discovery

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// FindCodon is the codon of [FindAndDelegate] and [DelegateToAny]. Its record has no messages: the
// queries and the delegations are conversations of their own.
var FindCodon = codons.MustDefine(codons.Definition{
	Table:    FindTable(),
	Complete: true,
	Commands: map[string]any{
		commandAsk: performatives.AgentID(""), commandTry: performatives.AgentID(""), commandWait: performatives.AgentID(""),
	},
	Outcomes: map[machine.State]string{
		standard.StateCompleted: "a Found with the result, its agent, and the earlier attempts",
		stateUnperformed:        "a *NoAgentError",
		stateImpossible:         "the error of the directory, of the task or of an option",
	},
	InitiatorSide: func() codons.Side { return &side{} },
	Uses: []codons.Use{
		{Codon: WhisperName, For: "with each agent of the directory, all at once: its capabilities"},
		{Codon: delegation.Codon.Name(), For: "with one agent at a time: the task. The next begins when the one before has ended"},
	},
	Example: "ExampleFindAndDelegate",
})

// Directory names agents that may have certain capabilities.
type Directory interface {
	// Find returns the agents to ask, the likeliest first. Each is then asked for its
	// capabilities, so a directory may be out of date.
	Find(ctx context.Context, capabilities []string) ([]performatives.AgentID, error)
}

// Agents is a [Directory] that names the same agents for all capabilities.
type Agents []performatives.AgentID

// Find returns a itself.
func (a Agents) Find(context.Context, []string) ([]performatives.AgentID, error) { return a, nil }

// Search says which agents may perform a task.
type Search struct {
	Among Directory // required
	Need  []string  // capabilities that the agent must have, all of them; empty takes every agent that answers
	// AskTime is the time for the query of capabilities. Zero means a quarter of the time
	// left, and at most [DefaultAskTime].
	AskTime time.Duration
	// Rank compares two agents that have the capabilities; the lesser is asked first. Nil
	// keeps the order of the directory.
	Rank func(a, b Candidate) int
}

// DefaultAskTime is the largest default of [Search.AskTime].
const DefaultAskTime = 5 * time.Second

// FindAndDelegate finds an agent for a task and delegates the task to it (rossnet §5.2). It asks
// the agents of the directory for their capabilities ([WhisperAll]), ranks those that have
// the needed ones, and continues as [DelegateToAny], with the same errors. An error of the
// directory is returned, too.
func FindAndDelegate(ctx context.Context, p codons.Party, s Search, task performatives.TaskRequest, opts ...codons.Option) (Found, error) {
	return find(ctx, p, s, nil, task, opts)
}

// candidates returns the agents that have the needed capabilities, the best first.
func (s Search) candidates(ctx context.Context, p codons.Party, task performatives.TaskRequest) ([]performatives.AgentID, error) {
	ids, err := s.Among.Find(ctx, s.Need)
	if err != nil {
		return nil, fmt.Errorf("discovery: find agents for %s: %w", task.TaskType, err)
	}
	query := performatives.QueryCapabilities{Type: performatives.QuerySummary}
	if len(s.Need) > 0 {
		query.Type, query.Parameters.Capabilities = performatives.QuerySpecific, s.Need
	}
	asking, done := context.WithTimeout(ctx, cmp.Or(s.AskTime, min(share(ctx, 4), DefaultAskTime)))
	defer done()
	found, err := WhisperAll(asking, p, ids, query)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(c Candidate) bool { return !c.Match })
	if s.Rank != nil {
		slices.SortStableFunc(found, s.Rank)
	}
	to := make([]performatives.AgentID, len(found))
	for i, c := range found {
		to[i] = c.Agent
	}
	return to, nil
}
