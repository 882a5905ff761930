package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// checkCmd is ribosome check.
type checkCmd struct {
	listFlags

	operatorFlags `group:"The operator's interface of the node:"`
}

// overload says that a node refuses work; the text is empty while it does not.
func overload(n *api.NodeView) string {
	if !n.Overloaded {
		return ""
	}
	return fmt.Sprintf("it refuses new work that its processors cannot do in time: %d requests refused for this since it started, %d handlers wait for a processor", n.Overload, n.Queued)
}

// tellOverloaded prints the nodes that refuse work.
func tellOverloaded(std streams, nodes []api.NodeView) {
	say := newPrinter(std.err)
	for _, n := range nodes {
		if text := overload(&n); text != "" {
			say.line(fmt.Sprintf("ribosome: the node %s: %s", n.Node, text))
		}
	}
}

// finding is something that an operator has to look at.
type finding struct {
	Node  string `json:"node"`
	Agent string `json:"agent,omitempty"`
	What  string `json:"finding"` // overloaded, missing, links_down or blocked
	Text  string `json:"text"`
}

// run prints the findings. It fails if there are any.
func (c *checkCmd) run(ctx context.Context, std streams) error {
	o, ctx, done, err := c.begin(ctx, c.Deadline)
	if err != nil {
		return err
	}
	defer done()
	nodes, err := get[api.NodeList](ctx, o, "/api/nodes", nil)
	if err != nil {
		return err
	}
	agents, err := get[api.AgentList](ctx, o, "/api/agents", nil)
	if err != nil {
		return err
	}
	all, out := findings(nodes, agents.Agents), newPrinter(std.out)
	switch {
	case c.JSON:
		out.json(all)
	case len(all) == 0:
		out.line("nothing found")
	}
	for _, f := range all {
		if !c.JSON {
			out.line(fmt.Sprintf("%s: %s: %s", f.Node, f.What, f.Text))
		}
	}
	if err := out.end(); err != nil || len(all) == 0 {
		return err
	}
	return failf("")
}

func findings(of api.NodeList, agents []api.AgentView) []finding {
	all := []finding{}
	for _, m := range of.Missing {
		all = append(all, finding{Node: m.Node, What: "missing", Text: m.Why})
	}
	for _, n := range of.Nodes {
		if text := overload(&n); text != "" {
			all = append(all, finding{Node: n.Node, What: "overloaded", Text: text})
		}
		if n.LinksUp < n.Links {
			all = append(all, finding{Node: n.Node, What: "links_down", Text: fmt.Sprintf("%d of its %d links to other nodes are up; see ribosome members", n.LinksUp, n.Links)})
		}
	}
	for _, a := range agents {
		if !a.BusySince.IsZero() {
			all = append(all, finding{a.Node, string(a.ID), "blocked", fmt.Sprintf("the code of the agent %s has blocked its actor since %s: %s", a.ID, a.BusySince.Local().Format(time.DateTime), a.BusyWith)})
		}
	}
	return all
}
