package main

import (
	"context"
	"fmt"
	"time"
)

// checkCmd is ribosome check.
type checkCmd struct {
	listFlags

	operatorFlags `group:"The operator's interface of the node:"`
}

// nodeState is what a node says about itself.
type nodeState struct {
	Node       string `json:"node"`
	Overloaded bool   `json:"overloaded"`
	Refused    uint64 `json:"overload_refused"`
	Queued     int    `json:"queued_handlers"`
	Links      int    `json:"links"`
	LinksUp    int    `json:"links_up"`
}

// nodeStates is the answer of all nodes.
type nodeStates struct {
	Nodes   []nodeState  `json:"nodes"`
	Missing []absentNode `json:"missing"`
}

// nodes asks for the states of all nodes.
func (o *operator) nodes(ctx context.Context) (all nodeStates, err error) {
	err = o.ask(ctx, "GET", "/api/nodes", nil, nil, &all)
	return all, err
}

// overload says that the node refuses work; the text is empty while it does not.
func (n *nodeState) overload() string {
	if !n.Overloaded {
		return ""
	}
	return fmt.Sprintf("it refuses new work that its processors cannot do in time: %d requests refused for this since it started, %d handlers wait for a processor", n.Refused, n.Queued)
}

// tellOverloaded prints the nodes that refuse work.
func tellOverloaded(std streams, nodes []nodeState) {
	say := newPrinter(std.err)
	for _, n := range nodes {
		if text := n.overload(); text != "" {
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
	nodes, err := o.nodes(ctx)
	if err != nil {
		return err
	}
	agents, _, err := o.agents(ctx)
	if err != nil {
		return err
	}
	all, out := findings(nodes, agents), newPrinter(std.out)
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

func findings(of nodeStates, agents []busyAgent) []finding {
	all := []finding{}
	for _, m := range of.Missing {
		all = append(all, finding{Node: m.Node, What: "missing", Text: m.Why})
	}
	for _, n := range of.Nodes {
		if text := n.overload(); text != "" {
			all = append(all, finding{Node: n.Node, What: "overloaded", Text: text})
		}
		if n.LinksUp < n.Links {
			all = append(all, finding{Node: n.Node, What: "links_down", Text: fmt.Sprintf("%d of its %d links to other nodes are up; see ribosome members", n.LinksUp, n.Links)})
		}
	}
	for _, a := range agents {
		if !a.BusySince.IsZero() {
			all = append(all, finding{a.Node, a.ID, "blocked", fmt.Sprintf("the code of the agent %s has blocked its actor since %s: %s", a.ID, a.BusySince.Local().Format(time.DateTime), a.BusyWith)})
		}
	}
	return all
}
