package main

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// agentsCmd is ribosome agents.
type agentsCmd struct {
	listFlags

	clientFlags `group:"The node:"`
}

// systemAgent is the id of the node itself.
const systemAgent performatives.AgentID = "system"

// present is one agent in the answer of a node.
type present struct {
	ID      performatives.AgentID  `json:"id"`
	Node    string                 `json:"node"`
	Topics  []string               `json:"topics"`
	Actions []performatives.Action `json:"actions"`
	Busy    time.Time              `json:"busy_since,omitzero"` // since when its actor has not come back
}

// run queries the node, and prints its agents.
func (c *agentsCmd) run(ctx context.Context, std streams) error {
	return showList(ctx, std, &c.clientFlags, c.listFlags, "agents", c.byInterface, rowsOf)
}

// showList queries a node for a list, by a message or by its operator's interface, and prints the
// list.
func showList[T any](
	ctx context.Context, std streams, c *clientFlags, f listFlags, reference string,
	byInterface func(context.Context, streams) ([]T, error), rows func([]T) [][]string,
) error {
	find := byInterface
	if !c.byHTTP() {
		find = func(ctx context.Context, std streams) ([]T, error) {
			l, err := c.plan(std.err)
			if err != nil {
				return nil, err
			}
			all, err := asked[T](ctx, l, reference, f.Deadline)
			return all, l.explain(err, string(systemAgent)).failure()
		}
	}
	all, err := find(ctx, std)
	if err != nil {
		return err
	}
	return f.print(std, all, rows(all))
}

// asked asks a node for a list by a message.
func asked[T any](ctx context.Context, l *link, reference string, limit time.Duration) (all []T, err error) {
	err = l.during(ctx, limit, func(ctx context.Context) error {
		all, err = query.Ref[[]T](ctx, l, systemAgent, reference)
		return err
	})
	if all == nil {
		all = []T{} // --json prints an empty list, not null
	}
	return all, err
}

// byInterface asks a node by its operator's interface.
func (c *agentsCmd) byInterface(ctx context.Context, std streams) ([]present, error) {
	all, missing, err := c.agents(ctx, c.listFlags)
	tellMissing(std, missing)
	return all, err
}

// agents returns the agents that the operator's interface lists, without the nodes themselves.
func (f *clientFlags) agents(ctx context.Context, list listFlags) ([]present, []api.Absent, error) {
	flags, err := f.operator()
	if err != nil {
		return nil, nil, err
	}
	answer, err := view[api.AgentList](ctx, flags, list.Deadline, "/api/agents")
	if err != nil {
		return nil, nil, err
	}
	all := []present{}
	for _, a := range answer.Agents {
		if a.ID.Is(performatives.AgentID(a.Node)) {
			continue
		}
		p := present{ID: a.ID, Node: a.Node, Topics: a.Topics}
		for _, name := range a.Actions {
			p.Actions = append(p.Actions, performatives.Action{Name: name})
		}
		all = append(all, p)
	}
	return all, answer.Missing, nil
}

// rowsOf returns the table of agents.
func rowsOf(all []present) [][]string {
	rows := [][]string{{"AGENT", "NODE", "ACTIONS", "TOPICS"}}
	busy := slices.ContainsFunc(all, func(a present) bool { return !a.Busy.IsZero() })
	if busy {
		rows[0] = append(rows[0], "BUSY SINCE")
	}
	for _, a := range all {
		var actions []string
		for _, action := range a.Actions {
			actions = append(actions, action.Name)
		}
		row := []string{oneLine(string(a.ID)), oneLine(a.Node), orDash(actions), orDash(a.Topics)}
		if busy {
			row = append(row, busySince(a.Busy))
		}
		rows = append(rows, row)
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

// membersCmd is ribosome members.
type membersCmd struct {
	listFlags

	clientFlags `group:"The node:"`
}

// member is one node in the answer of a node.
type member struct {
	api.MemberView
	Agents int `json:"agents"`
}

// run queries the node, and prints the nodes of its cluster.
func (c *membersCmd) run(ctx context.Context, std streams) error {
	return showList(ctx, std, &c.clientFlags, c.listFlags, "members", c.byInterface, rowsOfMembers)
}

// byInterface asks a node by its operator's interface.
func (c *membersCmd) byInterface(ctx context.Context, _ streams) ([]member, error) {
	flags, err := c.operator()
	if err != nil {
		return nil, err
	}
	answer, err := view[api.MemberList](ctx, flags, c.Deadline, "/api/members")
	if err != nil {
		return nil, err
	}
	agents, _, err := c.agents(ctx, c.listFlags)
	all := []member{}
	for _, m := range answer.Members {
		n := 0
		for _, a := range agents {
			if a.Node == m.Name {
				n++
			}
		}
		all = append(all, member{m, n})
	}
	return all, err
}

// rowsOfMembers returns the table of nodes.
func rowsOfMembers(all []member) [][]string {
	rows := [][]string{{"NODE", "STATE", "AGENTS", "GOSSIP", "LINKS", "LABELS", "REASON"}}
	for _, m := range all {
		state := "alive"
		switch {
		case m.Leaving:
			state = "leaving"
		case m.Unlinked != "":
			state = "unlinked"
		}
		var labels, why []string
		if m.Unlinked != "" {
			why = []string{m.Unlinked}
		}
		for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
			labels = append(labels, name+"="+m.Labels[name])
		}
		rows = append(rows, []string{oneLine(m.Name), state, strconv.Itoa(m.Agents), oneLine(m.Gossip), oneLine(m.Links), orDash(labels), orDash(why)})
	}
	return rows
}
