package runtime

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
)

// NewLogger returns a logger for a node: for people when w is a terminal, and one
// JSON object a line otherwise. Level is the least that is written.
func NewLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	if isTerminal(w) {
		return NewTextLogger(w, level)
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

// NewTextLogger returns a logger for people, wherever w leads: in colour on a terminal.
// Level is the least that is written.
func NewTextLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !isTerminal(w)}))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// eventLog writes events to a log.
type eventLog struct {
	logger   *slog.Logger
	codec    *acl.Codec
	messages bool
}

// logEvents writes the node's events to its log until stop is called. A log that
// discards everything does not even listen, so that events stay free.
func logEvents(o Options, events *actors.Events) (stop func()) {
	ctx := context.Background() //nolint:forbidigo // slog asks for one; nothing is cancelled by it
	if !o.Logger.Enabled(ctx, slog.LevelError) {
		return func() {}
	}
	codec, err := acl.New(acl.Options{})
	if err != nil {
		panic(err) // the zero options are valid
	}
	l := &eventLog{logger: o.Logger.With("node", o.Name), codec: codec, messages: o.LogMessages}
	return events.Listen(l.write, l.interests(ctx)...)
}

// interests are the events that are worth making: what happens for every message
// only when it is logged.
func (l *eventLog) interests(ctx context.Context) []actors.Interest {
	of := []actors.Interest{
		actors.About[actors.MessageRefused](), actors.About[actors.DeadLetter](), actors.About[actors.Supervised](),
		actors.About[actors.AgentStarted](), actors.About[actors.AgentStopped](), actors.About[actors.WorkAbandoned](),
		actors.About[actors.AgentAnnounced](), actors.About[codons.Violation](),
	}
	if l.messages {
		of = append(of, actors.About[actors.MessageSent](), actors.About[actors.MessageReceived]())
	}
	if l.logger.Enabled(ctx, slog.LevelDebug) {
		of = append(of, actors.About[codons.Transition](), actors.About[codons.HandlerPanicked]())
	}
	return of
}

// write logs one event. What people must see is a warning, what happens all the
// time is for debugging.
func (l *eventLog) write(ev actors.Event) {
	switch e := ev.(type) {
	case actors.MessageSent:
		l.message(acl.Sent, e.Message)
	case actors.MessageReceived:
		l.message(acl.Received, e.Message)
	case actors.MessageRefused:
		l.logger.Info("message refused", "performative", e.Message.Performative().String(), "agent", string(e.Message.Receiver()),
			"peer", string(e.Message.Sender()), "conversation", string(e.Message.ConversationID()), "err", e.Refusal.Code)
	case actors.DeadLetter:
		l.logger.Info("dead letter", "to", e.To, "err", e.Code)
	case actors.Supervised:
		l.logger.Warn("supervised", "agent", string(e.Agent), "child", e.Child.GetId(), "directive", e.Directive.String(), "restarts", e.Restarts,
			"delay", e.Delay, "err", e.Reason)
	case actors.AgentStarted:
		l.logger.Info("agent started", "agent", string(e.Agent), "again", e.Again)
	case actors.AgentAnnounced:
		l.logger.Info("agent announced", "agent", string(e.Agent), "topics", len(e.Capabilities.Topics), "actions", len(e.Capabilities.Actions))
	case actors.AgentStopped:
		l.logger.Info("agent stopped", "agent", string(e.Agent))
	case actors.WorkAbandoned:
		l.logger.Warn("handler still runs", "agent", string(e.Agent), "conversation", string(e.Conversation))
	case codons.Violation:
		l.logger.Warn("protocol violated", "agent", string(e.Sender), "peer", string(e.Receiver), "conversation", string(e.Conversation),
			"performative", e.Got.Act.String(), "err", e.ViolationError)
	case codons.Transition:
		l.logger.Debug("conversation", "agent", string(e.Agent), "peer", string(e.Peer), "conversation", string(e.Conversation),
			"protocol", e.Protocol, "role", e.Role.String(), "from", string(e.From), "to", string(e.To), "on", e.On.String())
	case codons.HandlerPanicked:
		l.logger.Debug("stack of the panic", "agent", string(e.Agent), "conversation", string(e.Conversation), "stack", string(e.Stack))
	}
}

// message logs one message as acl §7.2 has it, when that was asked for.
func (l *eventLog) message(d acl.Direction, m *performatives.Message) {
	if !l.messages {
		return
	}
	line, err := l.codec.AppendLogLine(nil, d, m)
	if err != nil {
		l.logger.Error("message not logged", "performative", m.Performative().String(), "err", err)
		return
	}
	l.logger.Info(string(line))
}
