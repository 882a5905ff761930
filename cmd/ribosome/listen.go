package main

import (
	"context"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/terminal" //nolint:depguard // a terminal is no part of the API of a runtime
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
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
			out.print(m.Time.Format(time.TimeOnly)+" ", m.Message)
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

// listener is the agent of ribosome listen. An observer of the node's events prints the
// messages that it receives.
type listener struct {
	can    performatives.Capabilities
	result *performatives.InformResult // of each task; nil rejects them
}

// Describe returns the topics and actions of the flags.
func (l *listener) Describe() performatives.Capabilities { return l.can }

// Receive refuses requests other than tasks, and ignores all other messages.
func (*listener) Receive(c *actors.Context, m *performatives.Message) {
	if m.Performative().ExpectsReply() {
		c.System().Refuse(c.ID(), m, performatives.CodeIncapable, onlyListens)
	}
}

// onlyListens is the text of a refusal.
const onlyListens = "this agent only listens"

// ConsiderTask accepts a task if --answer is set.
func (l *listener) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	if l.result == nil {
		return delegation.Reject(performatives.CodeIncapable, onlyListens)
	}
	return delegation.Accept()
}

// PerformTask returns the result with the details of --answer.
func (l *listener) PerformTask(context.Context, delegation.Task) (performatives.InformResult, error) {
	return *l.result, nil
}

// received prints messages.
type received struct {
	to    *printer
	codec *acl.Codec // nil means text for people
}

func newReceived(to *printer, asJSON bool) *received {
	if !asJSON {
		return &received{to: to}
	}
	return &received{to, acl.New(wire.CodecOptions{})}
}

// print prints one message on one line: as JSON, or for people behind a prefix.
func (r *received) print(prefix string, m *performatives.Message) {
	if r.codec == nil {
		r.to.line(prefix + summaryOf(m))
		return
	}
	text, err := r.codec.Encode(m)
	if err != nil {
		r.to.Fail(err)
		return
	}
	r.to.text(string(plainJSON(text)) + "\n")
}

// end prints the messages that wait. The error says that some messages were not printed.
func (r *received) end(ctx context.Context, printing *events.Handler) error {
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := printing.Stop(patient); err != nil {
		return failf("the output is not complete: it takes no more; run it again with an output that is read")
	}
	if n := printing.Lost(); n > 0 {
		return failf("the output is not complete: %d messages came faster than they could be printed; run it again with a faster output", n)
	}
	return r.to.end()
}

// summaryOf returns the act, the message type, the sender and the payload of a message.
func summaryOf(m *performatives.Message) string {
	line := m.Performative().String()
	if m.MessageType() != "" {
		line += " " + m.MessageType()
	}
	line += " from " + string(m.Sender().Name())
	if m.Receiver() == "" {
		line += " to all"
	}
	if content, err := performatives.ContentOf(m.Payload()).MarshalJSON(); err == nil && m.Payload() != nil {
		line += ": " + string(plainJSON(content))
	}
	return line
}
