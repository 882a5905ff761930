package main

import (
	"context"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/performatives"
)

// agentsCmd is ribosome agents.
type agentsCmd struct {
	listFlags

	clientFlags `group:"The node:"`
}

// systemAgent is the id of the node itself.
const systemAgent performatives.AgentID = "system"

// agentsReference is the QUERY_REF reference of the list of agents.
const agentsReference = "agents"

// present is one agent in the answer of a node.
type present struct {
	ID      performatives.AgentID  `json:"id"`
	Node    string                 `json:"node"`
	Topics  []string               `json:"topics"`
	Actions []performatives.Action `json:"actions"`
}

// run queries the node, and prints its agents.
func (c *agentsCmd) run(ctx context.Context, std streams) error {
	if c.Deadline <= 0 {
		return usagef("--deadline 0s leaves no time; give it some, such as 10s")
	}
	l, err := c.plan(std.err)
	if err != nil {
		return err
	}
	all, err := c.ask(ctx, l)
	if err != nil {
		return l.explain(err, string(systemAgent)).failure()
	}
	out := newPrinter(std.out)
	if c.JSON {
		out.json(all)
	} else {
		out.text(table(rowsOf(all)))
	}
	return out.end()
}

func (c *agentsCmd) ask(ctx context.Context, l *link) ([]present, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Deadline)
	defer cancel()
	if err := l.join(ctx); err != nil {
		return nil, err
	}
	defer l.leave()
	all, err := query.Ref[[]present](ctx, l, systemAgent, agentsReference)
	if all == nil {
		all = []present{} // --json prints an empty list, not null
	}
	return all, err
}

// rowsOf returns the table of agents.
func rowsOf(all []present) [][]string {
	rows := [][]string{{"AGENT", "NODE", "ACTIONS", "TOPICS"}}
	for _, a := range all {
		var actions []string
		for _, action := range a.Actions {
			actions = append(actions, action.Name)
		}
		rows = append(rows, []string{oneLine(string(a.ID)), oneLine(a.Node), orDash(actions), orDash(a.Topics)})
	}
	return rows
}

// orDash joins words, and returns a dash for none.
func orDash(words []string) string {
	if len(words) == 0 {
		return "-"
	}
	return oneLine(strings.Join(words, ", "))
}
