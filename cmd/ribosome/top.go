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
)

// topCmd is ribosome top.
type topCmd struct {
	Limit int           `default:"30" help:"Most agents that are listed"`
	Every time.Duration `default:"2s" help:"Time between two lists at a terminal; without one, and with --json, there is one list"`

	listFlags

	operatorFlags `group:"The operator's interface of the node:"`
}

// busyAgent is an agent in the answer of a node.
type busyAgent struct {
	ID            string         `json:"agent"`
	Node          string         `json:"node"`
	Queued        map[string]int `json:"queued,omitempty"` // by priority; nil for an agent whose node has not answered
	Wait          float64        `json:"oldest_wait_s"`
	Running       int            `json:"running"`
	Conversations int            `json:"conversations"`
	Errors        uint64         `json:"errors"`
	Restarts      uint64         `json:"restarts"`
	BusySince     time.Time      `json:"busy_since,omitzero"` // zero for an agent whose actor comes back
	BusyWith      string         `json:"busy_with,omitempty"`
}

// bands are the priorities, the most urgent first.
var bands = []string{"urgent", "high", "normal", "low"}

func (a *busyAgent) depth() (n int) {
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
	switch {
	case c.Limit < 1:
		return usagef("--limit %d lists nothing; want a number above 0", c.Limit)
	case c.Every <= 0:
		return usagef("--every %v leaves no time between two lists; want some, such as 2s", c.Every)
	}
	o, err := c.plan()
	if err != nil {
		return err
	}
	defer o.close()
	ctx, cancel := terminal.UntilUnread(ctx, std.out)
	defer cancel()
	out := newPrinter(std.out)
	for {
		all, nodes, missing, err := c.list(ctx, o)
		switch {
		case ctx.Err() != nil:
			return out.end()
		case err != nil:
			return err
		}
		if c.JSON {
			tellMissing(std, missing)
			tellOverloaded(std, nodes)
			out.json(all)
			return out.end()
		}
		if out.terminal {
			_, _ = io.WriteString(std.out, "\x1b[H\x1b[2J") // home, and clear
		}
		out.text(table(topRows(all)))
		tellMissing(std, missing)
		tellOverloaded(std, nodes)
		if !out.terminal || out.broken() || !pause(ctx, c.Every) {
			return out.end()
		}
	}
}

// list returns the agents that have the most to do, and the nodes.
func (c *topCmd) list(ctx context.Context, o *operator) ([]busyAgent, []nodeState, []absentNode, error) {
	ctx, cancel, err := within(ctx, c.Deadline)
	if err != nil {
		return nil, nil, nil, err
	}
	defer cancel()
	agents, missing, err := o.agents(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	nodes, err := o.nodes(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	slices.SortStableFunc(agents, func(a, b busyAgent) int {
		return cmp.Or(cmp.Compare(b.depth(), a.depth()), cmp.Compare(b.Wait, a.Wait), cmp.Compare(b.Errors, a.Errors), cmp.Compare(b.Conversations, a.Conversations))
	})
	return agents[:min(c.Limit, len(agents))], nodes.Nodes, missing, nil
}

// agents asks for the agents of all nodes.
func (o *operator) agents(ctx context.Context) ([]busyAgent, []absentNode, error) {
	var answer struct {
		Agents  []busyAgent  `json:"agents"`
		Missing []absentNode `json:"missing"`
	}
	err := o.ask(ctx, "GET", "/api/agents", nil, nil, &answer)
	return answer.Agents, answer.Missing, err
}

func topRows(all []busyAgent) [][]string {
	rows := [][]string{{"AGENT", "NODE", "QUEUED", "URGENT", "HIGH", "NORMAL", "LOW", "WAIT", "RUNNING", "CONVERSATIONS", "ERRORS", "RESTARTS", "BUSY SINCE"}}
	for _, a := range all {
		row := []string{oneLine(a.ID), oneLine(a.Node)}
		if a.Queued == nil {
			rows = append(rows, append(row, "-", "-", "-", "-", "-", "-", "-", strconv.Itoa(a.Conversations), "-", "-", "-"))
			continue
		}
		row = append(row, strconv.Itoa(a.depth()))
		for _, band := range bands {
			row = append(row, strconv.Itoa(a.Queued[band]))
		}
		rows = append(rows, append(row, fmt.Sprintf("%.1fs", a.Wait), strconv.Itoa(a.Running), strconv.Itoa(a.Conversations), fmt.Sprint(a.Errors), fmt.Sprint(a.Restarts), strings.TrimSpace(busySince(a.BusySince)+" "+oneLine(a.BusyWith))))
	}
	return rows
}
