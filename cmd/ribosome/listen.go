package main

import (
	"context"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/terminal" //nolint:depguard // a terminal is no part of the API of a runtime
	"github.com/ribosome-agents/ribosome/performatives"
)

// listenCmd is ribosome listen.
type listenCmd struct {
	Topic  []string `placeholder:"TOPIC" help:"Topics that the agent says it knows"`
	Action []string `sep:"none" placeholder:"NAME[=DESCRIPTION]" help:"Actions that the agent says it performs, one a flag"`
	Answer string   `placeholder:"JSON" help:"Details of the result that each task is answered with: JSON as it is, or @FILE; without it, tasks are rejected"`
	JSON   bool     `name:"json" help:"Print each message as the JSON that it travels as"`

	clientFlags `group:"The node:"`
}

// maxUnprinted is how many messages may wait to be printed. Messages beyond that are not
// printed, and their number is the command's error.
const maxUnprinted = 1 << 14

// run joins the node as an agent, and prints the messages to the agent until ctx ends. It
// joins again when the connection is lost.
func (c *listenCmd) run(ctx context.Context, std streams) (err error) {
	agent, err := c.agent(std)
	if err != nil {
		return err
	}
	l, err := c.plan(std.err)
	if err != nil {
		return err
	}
	ctx, cancel := terminal.UntilUnread(ctx, std.out)
	defer cancel()
	if err := l.settle(ctx); err != nil && ctx.Err() == nil { // else an orderly end follows
		return l.explain(err, "").failure()
	}
	if l.nameless {
		return usagef("an agent needs a name; give it one with --as, such as --as Rubber")
	}
	if err := l.open(l.name + "/node"); err != nil {
		return err
	}
	defer l.leave()
	out := newReceived(newPrinter(std.out), c.JSON)
	stream := l.node.Events().Subscribe(events.SubscribeOptions{Capacity: maxUnprinted, Kinds: []events.Kind{events.KindMessageReceived}})
	printing := stream.Handle(func(r events.Record) {
		if m, ok := r.Event.(events.MessageReceived); ok && m.Agent.Is(l.name) && !welcomes(m.Message) {
			out.message(m)
		}
	})
	defer func() {
		if unprinted := out.end(ctx, printing); err == nil {
			err = unprinted
		}
	}()
	self, err := l.node.System().Spawn(context.WithoutCancel(ctx), actors.Spec{ID: l.name, New: func() actors.Agent { return agent }, Sealer: l.sealer})
	if err != nil {
		return failf("%s cannot start: %v", l.name, err)
	}
	return l.stay(ctx, func(ctx context.Context) error { return l.introduce(ctx, self) }, nil, newPrinter(std.err))
}

// agent returns the agent of the flags.
func (c *listenCmd) agent(std streams) (actors.Agent, error) {
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
	answer, err := readObject("--answer", c.Answer, std.in)
	if err != nil {
		return nil, err
	}
	result := performatives.InformResult{Status: performatives.StatusSuccess, Summary: "answered by ribosome listen", Details: answer}
	return &listener{can: can, result: &result}, nil
}

// welcomes reports whether a message is the node's answer to the introduction.
func welcomes(m *performatives.Message) bool {
	return m.Sender().Is(systemAgent) && m.Performative() == performatives.ActInformCapabilities
}
