package main

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// membersCmd is ribosome members.
type membersCmd struct {
	listFlags

	clientFlags `group:"The node:"`
}

// membersReference is the QUERY_REF reference of the list of nodes.
const membersReference = "members"

// member is one node in the answer of a node.
type member struct {
	api.MemberView
	Agents int `json:"agents"`
}

// run queries the node, and prints the nodes of its cluster.
func (c *membersCmd) run(ctx context.Context, std streams) error {
	return showList(ctx, std, &c.clientFlags, c.listFlags, membersReference, c.byInterface, rowsOfMembers)
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
			if a.Node == m.Node {
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
		rows = append(rows, []string{oneLine(m.Node), state, strconv.Itoa(m.Agents), oneLine(m.Gossip), oneLine(m.Links), orDash(labels), orDash(why)})
	}
	return rows
}
