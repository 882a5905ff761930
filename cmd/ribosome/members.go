package main

import (
	"context"
	"maps"
	"slices"
	"strconv"
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
	Node    string            `json:"node"`
	Epoch   uint64            `json:"epoch"`
	Gossip  string            `json:"gossip"`
	Links   string            `json:"links"`
	Labels  map[string]string `json:"labels"`
	Leaving bool              `json:"leaving"`
	Agents  int               `json:"agents"`
	// Unlinked is the reason why no messages pass between the node that answers and this one; empty
	// if they do.
	Unlinked string `json:"unlinked,omitempty"`
}

// run queries the node, and prints the nodes of its cluster.
func (c *membersCmd) run(ctx context.Context, std streams) error {
	return showList(ctx, std, &c.clientFlags, c.listFlags, membersReference, c.byInterface, rowsOfMembers)
}

// byInterface asks a node by its operator's interface.
func (c *membersCmd) byInterface(ctx context.Context, _ streams) ([]member, error) {
	var answer struct {
		Members []member `json:"members"`
	}
	if err := c.view(ctx, c.listFlags, "/api/members", &answer); err != nil {
		return nil, err
	}
	agents, _, err := c.agents(ctx, c.listFlags)
	for i := range answer.Members {
		m := &answer.Members[i]
		if m.Labels == nil {
			m.Labels = map[string]string{} // an object in JSON, not null
		}
		for _, a := range agents {
			if a.Node == m.Node {
				m.Agents++
			}
		}
	}
	return answer.Members, err
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
