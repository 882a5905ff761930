package main

import (
	"context"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// sendCmd is ribosome send.
type sendCmd struct {
	Agent string                     `arg:"" type:"name" help:"Agent that the message is for"`
	Act   performatives.Performative `arg:"" help:"Act of the message, such as REQUEST or INFORM"`

	MessageType string        `placeholder:"NAME" help:"Message type of the application, such as REVIEW_REQUEST"`
	Protocol    string        `placeholder:"NAME" help:"Protocol that the message belongs to, such as code-review"`
	Data        string        `short:"d" placeholder:"JSON" help:"Payload of the message: JSON as it is, @FILE, or @- for stdin"`
	Deadline    time.Duration `default:"5m" type:"positive" help:"How long the answer may take"`
	JSON        bool          `name:"json" help:"Print the answer as the JSON that it travels as"`

	clientFlags `group:"The node:"`
}

// run sends the message. For an act that expects a reply, it waits for the first answer
// and prints it.
func (c *sendCmd) run(ctx context.Context, std streams) error {
	change, err := c.envelope(std)
	if err != nil {
		return err
	}
	l, err := c.plan(std.err)
	if err != nil {
		return err
	}
	l.task = c.Act == performatives.ActTaskRequest
	answer, err := c.send(ctx, l, change)
	if err != nil {
		return l.explain(err, c.Agent).failure()
	}
	out := newReceived(newPrinter(std.out), c.JSON)
	if answer != nil {
		out.print("", answer)
	}
	return out.to.end()
}

// envelope returns the option that makes a message of the flags.
func (c *sendCmd) envelope(std streams) (runtime.AskOption, error) {
	if c.MessageType != "" {
		if err := performatives.CheckMessageType(c.MessageType); err != nil {
			return nil, usagef("--message-type is no message type; want 1 to %d letters, digits and _ - . : /", performatives.MaxMessageTypeLength)
		}
	}
	var payload any
	if c.Data != "" {
		data, err := readObject("--data", c.Data, std.in)
		if err != nil {
			return nil, err
		}
		text, err := data.MarshalJSON()
		if err != nil {
			return nil, err
		}
		payload = performatives.Raw(text)
	}
	return func(e *performatives.Envelope) {
		e.Performative, e.MessageType, e.Protocol, e.Payload = c.Act, c.MessageType, c.Protocol, payload
	}, nil
}

// send joins the node and sends the message. The answer is nil for an act that expects
// none.
func (c *sendCmd) send(ctx context.Context, l *link, change runtime.AskOption) (answer *performatives.Message, err error) {
	err = l.during(ctx, c.Deadline, func(ctx context.Context) error {
		stamp := l.Self().Stamp()
		e := performatives.Envelope{ID: stamp.ID, Timestamp: stamp.Time, Sender: l.Self().ID(), Receiver: performatives.AgentID(c.Agent)}
		change(&e)
		m, err := performatives.New(e)
		switch {
		case err != nil:
			return usagef("this is no message: %v; check the act and --data", err)
		case m.Performative().ExpectsReply():
			answer, err = l.node.Ask(ctx, m.Receiver(), nil, change)
			return err
		}
		return l.node.Send(m)
	})
	return answer, err
}
