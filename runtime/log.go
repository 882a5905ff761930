package runtime

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lmittmann/tint"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/internal/terminal"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
)

// NewLogger returns a logger for a node. It writes lines for people if w is a terminal, and
// otherwise one JSON object a line. Level is the lowest level that is written.
func NewLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	if isTerminal(w) {
		return NewTextLogger(w, level)
	}
	return NewJSONLogger(w, level)
}

// NewJSONLogger returns a logger that writes one JSON object a line to any w. Level is the lowest
// level that is written.
func NewJSONLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(EscapedLog(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})))
}

// NewTextLogger returns a logger that writes lines for people to any w, in colour if w is a
// terminal. Level is the lowest level that is written.
func NewTextLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(EscapedLog(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !isTerminal(w)})))
}

// EscapedLog returns a handler that escapes the messages and texts of its records, and passes the
// records on. It escapes control characters, line breaks among them, and characters that change the
// direction of text. Some texts come from peers, and a terminal would obey them. The attribute
// stack keeps its line breaks. A node wraps the handler of its Logger, and [NewLogger] the handler
// that it makes. A handler that is wrapped already is returned as it is.
func EscapedLog(h slog.Handler) slog.Handler { return terminal.EscapedLog(h, false) }

func isTerminal(w io.Writer) bool { return terminal.Is(w) && os.Getenv("TERM") != "dumb" }

// logCapacity is how many events wait to be logged. When a log writes so slowly that more
// would wait, those are lost, and their number is logged.
const logCapacity = 1 << 14

// eventLog writes events to a log, on a goroutine of its own.
type eventLog struct {
	logger  *slog.Logger
	codec   *acl.Codec
	opts    Options
	failing bool // the last line of MessageLog could not be written
	events  *events.Subscription
	handler *events.Handler
	lost    atomic.Uint64 // of the events, as far as that was logged
}

// logEvents writes the node's events to its log until its stop. It returns nil where none of
// them is to be logged, so that events stay free.
func logEvents(o Options, stream *events.Stream) *eventLog {
	kinds := o.logged()
	if len(kinds) == 0 {
		return nil
	}
	l := &eventLog{logger: o.Logger.With("node", o.Name), codec: acl.New(wire.CodecOptions{}), opts: o}
	l.events = stream.Subscribe(events.SubscribeOptions{Capacity: logCapacity, Kinds: kinds})
	l.handler = l.events.Handle(l.write)
	return l
}

// flushTime is how long the events that wait to be logged have when the node stops. A stop
// that has failed because its ctx ended is worth logging, so that ctx does not count.
const flushTime = 2 * time.Second

// stop writes the events that wait. The error says that the log took too long.
func (l *eventLog) stop(ctx context.Context) error {
	if l == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if err := l.handler.Stop(ctx); err != nil {
		return fmt.Errorf("runtime: events not logged within %v: %w", flushTime, err)
	}
	l.logLost()
	return nil
}

// logged returns the kinds of the events that are worth making: those that Logger writes at its
// level, and those of every message only when messages are logged. The failures of agents are
// logged where they happen.
func (o *Options) logged() (kinds []events.Kind) {
	ctx := context.Background() //nolint:forbidigo // slog asks for one; nothing is cancelled by it
	if o.Logger.Enabled(ctx, slog.LevelWarn) && o.Watch != nil {
		kinds = append(kinds, lifecycle.KindViolation)
	}
	if o.Logger.Enabled(ctx, slog.LevelInfo) {
		kinds = append(kinds, events.KindMessageRefused, events.KindMessageDeadLettered, events.KindAgentStarted, events.KindAgentStopped, events.KindAgentAnnounced)
	}
	if o.LogMessages && o.Logger.Enabled(ctx, slog.LevelInfo) || o.MessageLog != nil {
		kinds = append(kinds, events.KindMessageSent, events.KindMessageReceived)
	}
	if o.Logger.Enabled(ctx, slog.LevelDebug) {
		kinds = append(kinds, lifecycle.KindTransition)
	}
	return kinds
}

// write logs one event. What happens all the time is for debugging.
func (l *eventLog) write(r events.Record) {
	l.logLost()
	switch e := r.Event.(type) {
	case events.MessageSent:
		l.message(e.Time, acl.Sent, e.Message)
	case events.MessageReceived:
		l.message(e.Time, acl.Received, e.Message)
	case events.MessageRefused:
		l.line(e.Time, slog.LevelInfo, "message refused", typed(e.Message, "performative", e.Message.Performative().String(), "agent", string(e.Message.Receiver()),
			"peer", string(e.Message.Sender()), "conversation", string(e.Message.ConversationID()), "err", e.Refusal.Code)...)
	case events.DeadLetter:
		m, _ := e.Message.(*performatives.Message)
		l.line(e.Time, slog.LevelInfo, "dead letter", typed(m, "to", e.To, "err", e.Code)...)
	case events.AgentStarted:
		l.line(e.Time, slog.LevelInfo, "agent started", "agent", string(e.Agent), "again", e.Again, "roles", strings.Join(e.Roles, ","))
	case events.AgentAnnounced:
		l.line(e.Time, slog.LevelInfo, "agent announced", "agent", string(e.Agent), "topics", len(e.Capabilities.Topics), "actions", len(e.Capabilities.Actions))
	case events.AgentStopped:
		l.line(e.Time, slog.LevelInfo, "agent stopped", "agent", string(e.Agent))
	case lifecycle.Violation:
		l.line(e.Time, slog.LevelWarn, "protocol violated", "agent", string(e.Sender), "peer", string(e.Receiver), "conversation", string(e.Conversation),
			"performative", e.Got.Act.String(), "err", e.ViolationError)
	case lifecycle.Transition:
		l.line(e.Time, slog.LevelDebug, "conversation", "agent", string(e.Agent), "peer", string(e.Peer), "conversation", string(e.Conversation),
			"protocol", e.Protocol, "role", e.Role.String(), "from", string(e.From), "to", string(e.To), "on", e.On.String())
	}
}

// line writes one line with the time of its event, which may have waited in the queue.
func (l *eventLog) line(at time.Time, level slog.Level, msg string, args ...any) {
	ctx := context.Background() //nolint:forbidigo // slog asks for one; nothing is cancelled by it
	if !l.logger.Enabled(ctx, level) {
		return
	}
	r := slog.NewRecord(at, level, msg, 0)
	r.Add(args...)
	_ = l.logger.Handler().Handle(ctx, r) // as slog.Logger does: a log cannot tell of its own failure
}

// logLost logs how many events were lost since it last did.
func (l *eventLog) logLost() {
	n := l.events.Lost()
	if before := l.lost.Swap(n); n > before {
		l.logger.Warn("events not logged", "count", n-before)
	}
}

// typed returns the attributes of a line about m: args, after the message type of m if it
// has one. m may be nil.
func typed(m *performatives.Message, args ...any) []any {
	if m == nil || m.MessageType() == "" {
		return args
	}
	return append([]any{"message_type", m.MessageType()}, args...)
}

// message logs one message as acl §7.2 has it, where that was asked for.
func (l *eventLog) message(at time.Time, d acl.Direction, m *performatives.Message) {
	line, err := l.codec.AppendLogLine(nil, d, m)
	if err == nil && l.opts.MaskMessages != nil {
		prefix, text, _ := bytes.Cut(line, []byte(": "))
		text, err = l.opts.MaskMessages(text)
		line = append(append(prefix, ": "...), text...)
	}
	if err != nil {
		l.logger.Error("message not logged", typed(m, "performative", m.Performative().String(), "err", err)...)
		return
	}
	if l.opts.LogMessages {
		l.line(at, slog.LevelInfo, string(line))
	}
	if l.opts.MessageLog == nil {
		return
	}
	_, err = l.opts.MessageLog.Write(append(line, '\n'))
	if err != nil && !l.failing {
		l.logger.Error("messages are missing from the log of messages", "err", err)
	}
	l.failing = err != nil
}
