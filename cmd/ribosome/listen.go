package main

import (
	"context"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// listenCmd is ribosome listen.
type listenCmd struct {
	Topic  []string `placeholder:"TOPIC" help:"Topics that the agent says it knows"`
	Action []string `sep:"none" placeholder:"NAME[=DESCRIPTION]" help:"Actions that the agent says it performs, one a flag"`
	Answer string   `placeholder:"JSON" help:"Details of the result that each task is answered with: JSON as it is, or @FILE; without it, tasks are rejected"`
	JSON   bool     `name:"json" help:"Print each message as the JSON that it travels as"`

	clientFlags `group:"The node:"`
}

// run joins the node as an agent, again and again, and prints what that receives until
// ctx ends.
func (c *listenCmd) run(ctx context.Context, std streams) error {
	agent, err := c.agent(std)
	if err != nil {
		return err
	}
	l, err := c.plan()
	if err != nil {
		return err
	}
	if err := l.open(l.name + "/node"); err != nil {
		return err
	}
	defer l.leave()
	out := newReceived(newPrinter(std.out), c.JSON)
	defer l.node.Events().Listen(func(ev actors.Event) {
		if m, ok := ev.(actors.MessageReceived); ok && m.Agent.Is(l.name) && !welcomes(m.Message) {
			out.message(m)
		}
	}, actors.About[actors.MessageReceived]())()
	self, err := l.node.System().Spawn(ctx, actors.Spec{ID: l.name, New: func() actors.Agent { return agent }})
	if err != nil {
		return failf("%s cannot start: %v", l.name, err)
	}
	if err := l.stay(ctx, self, newPrinter(std.err)); err != nil {
		return err
	}
	return out.to.end()
}

// agent makes the agent of the flags.
func (c *listenCmd) agent(std streams) (actors.Agent, error) {
	if c.As == "" {
		return nil, usagef("an agent needs a name; give it one with --as, such as --as Rubber")
	}
	can := performatives.Capabilities{Topics: c.Topic}
	for _, a := range c.Action {
		name, description, _ := strings.Cut(a, "=")
		if name == "" {
			return nil, usagef("--action %.40q has no name; want NAME or NAME=DESCRIPTION", a)
		}
		can.Actions = append(can.Actions, performatives.Action{Name: name, Description: description})
	}
	if c.Answer == "" {
		return &listener{can: can}, nil
	}
	answer, err := readJSON("--answer", c.Answer, std.in, wire.DefaultMaxFrame)
	if err != nil {
		return nil, err
	}
	result := performatives.InformResult{Status: performatives.StatusSuccess, Summary: "answered by ribosome listen", Details: performatives.RawContent(answer)}
	return &listener{can: can, result: &result}, nil
}

// welcomes reports whether a message is the node's answer to the introduction.
func welcomes(m *performatives.Message) bool {
	return m.Sender().Is(systemAgent) && m.Performative() == performatives.ActInformCapabilities
}
