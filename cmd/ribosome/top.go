package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/internal/terminal" //nolint:depguard // a terminal is no part of the API of a runtime
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// topCmd is ribosome top.
type topCmd struct {
	Limit int           `default:"30" type:"positive" help:"Most agents that are listed"`
	Every time.Duration `default:"2s" type:"positive" help:"Time between two lists at a terminal; without one, and with --json, there is one list"`

	listFlags

	operatorFlags `group:"The operator's interface of the node:"`
}

// bands are the priorities, the most urgent first.
var bands = []string{"urgent", "high", "normal", "low"}

// depth returns how many messages wait for an agent; none for one whose node has not answered.
func depth(a *api.AgentView) (n int) {
	for _, of := range a.Queued {
		n += of
	}
	return n
}

// busySince says since when an agent's actor has not come back.
func busySince(since time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return since.Local().Format(time.TimeOnly)
}

// run prints the list once, or at a terminal again and again until ctx ends.
func (c *topCmd) run(ctx context.Context, std streams) error {
	o, err := c.plan()
	if err != nil {
		return err
	}
	defer o.close()
	ctx, cancel := terminal.UntilUnread(ctx, std.out)
	defer cancel()
	out := newPrinter(std.out)
	for {
		agents, nodes, err := c.list(ctx, o)
		switch {
		case ctx.Err() != nil:
			return out.end()
		case err != nil:
			return err
		}
		if c.JSON {
			tellMissing(std, agents.Missing)
			tellOverloaded(std, nodes)
			out.json(agents.Agents)
			return out.end()
		}
		if out.terminal {
			_, _ = io.WriteString(std.out, "\x1b[H\x1b[2J") // home, and clear
		}
		out.text(table(topRows(agents.Agents)))
		tellMissing(std, agents.Missing)
		tellOverloaded(std, nodes)
		if !out.terminal || out.broken() || !pause(ctx, c.Every) {
			return out.end()
		}
	}
}

// list returns the agents that have the most to do, and the nodes.
func (c *topCmd) list(ctx context.Context, o *operator) (agents api.AgentList, nodes []api.NodeView, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Deadline)
	defer cancel()
	if agents, err = get[api.AgentList](ctx, o, "/api/agents", nil); err != nil {
		return agents, nil, err
	}
	slices.SortStableFunc(agents.Agents, func(a, b api.AgentView) int {
		return cmp.Or(cmp.Compare(depth(&b), depth(&a)), cmp.Compare(b.Wait, a.Wait), cmp.Compare(number(b.Errors), number(a.Errors)), cmp.Compare(b.Conversations, a.Conversations))
	})
	agents.Agents = agents.Agents[:min(c.Limit, len(agents.Agents))]
	list, err := get[api.NodeList](ctx, o, "/api/nodes", nil)
	return agents, list.Nodes, err
}

// number returns a count, which is zero for an agent whose node has not answered.
func number[N int | uint64](n *N) N {
	if n == nil {
		return 0
	}
	return *n
}

func topRows(all []api.AgentView) [][]string {
	rows := [][]string{{"AGENT", "NODE", "QUEUED", "URGENT", "HIGH", "NORMAL", "LOW", "WAIT", "RUNNING", "CONVERSATIONS", "ERRORS", "RESTARTS", "BUSY SINCE"}}
	for _, a := range all {
		row := []string{oneLine(string(a.ID)), oneLine(a.Node)}
		if a.Queued == nil {
			rows = append(rows, append(row, "-", "-", "-", "-", "-", "-", "-", strconv.Itoa(a.Conversations), "-", "-", "-"))
			continue
		}
		row = append(row, strconv.Itoa(depth(&a)))
		for _, band := range bands {
			row = append(row, strconv.Itoa(a.Queued[band]))
		}
		rows = append(rows, append(row, fmt.Sprintf("%.1fs", a.Wait), fmt.Sprint(number(a.Running)), strconv.Itoa(a.Conversations), fmt.Sprint(number(a.Errors)), fmt.Sprint(number(a.Restarts)), strings.TrimSpace(busySince(a.BusySince)+" "+oneLine(a.BusyWith))))
	}
	return rows
}
