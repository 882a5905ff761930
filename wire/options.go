package wire

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Options configures the sessions of a [Server] or of a client. Handler and Dialects
// are required, and of a server either Auth or Anonymous.
type Options struct {
	Handler Handler
	// Dialects are the languages that peers may speak. A session speaks the first
	// that recognizes the first frame, else the first of all; one that this end
	// opened speaks the first.
	Dialects []Dialect
	// Name is as whom a session answers when no agent does. Empty means system.
	Name performatives.AgentID

	// Auth finds out who a peer is. Nil is for servers that are Anonymous, and for
	// clients, which trust whom they dialled.
	Auth Authenticator
	// Anonymous lets everyone in who can connect.
	Anonymous bool
	// Authorize is asked about each message. Nil allows all.
	Authorize Authorizer
	// AuthTime is how long a peer may be connected without having authenticated. Zero
	// means 10 s.
	AuthTime time.Duration

	// ConnectionRate and AgentRate bound the messages of one connection and of one
	// agent, over all its connections. What is below the name that a peer has proved
	// counts for that name. The zero Rate is no bound.
	ConnectionRate, AgentRate Rate
	// AcceptRate bounds the new connections of one host: of an IPv4 address or an IPv6
	// network of 64 bits, whatever the port.
	AcceptRate Rate
	// ReplayWindow is how far the timestamp of a message may be from now; within it,
	// a message that came by one session does not come again by another. Two million
	// messages of the last two windows are remembered; who has more of them than there is
	// room left is refused, as busy. Zero means that neither is checked.
	ReplayWindow time.Duration

	Limits    Limits
	KeepAlive KeepAlive
	// Full says what becomes of a message for a peer whose outbox is full.
	Full FullPolicy
	// MaxConnections is how many sessions a server has at a time. Zero means
	// [DefaultMaxConnections].
	MaxConnections int
	// MaxPerHost is how many of those one host may have, as AcceptRate has it. Zero means
	// a quarter of MaxConnections, so that no host keeps all others out; but as many as
	// there are for this machine (a loopback address, or none of IP), since a proxy here
	// may pass on everybody. A number above zero bounds this machine, too; one below zero
	// is no bound.
	MaxPerHost int

	// Token returns what a client's messages carry to be authenticated one by one. Nil
	// means that they carry nothing.
	Token func() string

	Registry *performatives.Registry
	// Stamper gives ids and times. Nil means random UUIDs and the wall clock.
	Stamper performatives.Stamper
	// Logger gets what peers do wrong and when they come and go. Nil discards it. No
	// payload and no credential reaches it.
	Logger *slog.Logger
}

// Limits bound what a peer can make this end hold. Zero values mean the defaults.
type Limits struct {
	Frame           int           // bytes of a frame, after decompression; [DefaultMaxFrame]
	Unauthenticated int           // the same until the peer has authenticated; 64 KiB
	FrameTime       time.Duration // from the first byte of a frame to its last, and for each write; 30 s
	Outbox          int           // messages that wait to be written; 16,384
	Backlog         int           // bytes of those messages, as far as can be told; 64 MiB
	OutboxBytes     int           // bytes that were encoded and wait for one write; 1 MiB
	Pending         int           // requests without an answer, each way; 16,384
	CloseTime       time.Duration // from saying that this end closes to doing so; 5 s
}

// The defaults of [Limits] and [Options].
const (
	DefaultMaxFrame       = 16 << 20
	DefaultMaxConnections = 16_384
)

// KeepAlive says when a silent peer is asked and when it is given up. A peer that says
// anything at all is alive. Zero values mean the defaults.
type KeepAlive struct {
	Interval time.Duration // of silence before a ping; 30 s. Negative: never
	Timeout  time.Duration // of silence before the end; 60 s. Negative: never
}

// FullPolicy says what becomes of a message for a peer whose outbox is full.
type FullPolicy uint8

// The policies.
const (
	FullRefuse     FullPolicy = iota // the message is refused to its sender, as busy
	FullDisconnect                   // and the peer is disconnected, as too slow
)

// Rate is a number of messages in a window of time, of which all may come at once.
// The zero Rate is no bound.
type Rate struct {
	Messages int
	Window   time.Duration
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "system"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Stamper == nil {
		o.Stamper = wallStamper{}
	}
	o.AuthTime = orElse(o.AuthTime, 10*time.Second)
	o.MaxConnections = orElse(o.MaxConnections, DefaultMaxConnections)
	o.Limits = o.Limits.WithDefaults()
	o.KeepAlive = o.KeepAlive.withDefaults()
	return o
}

func (k KeepAlive) withDefaults() KeepAlive {
	return KeepAlive{Interval: orElse(k.Interval, 30*time.Second), Timeout: orElse(k.Timeout, 60*time.Second)}
}

// WithDefaults returns l with the defaults in place of its zero values, for transports.
func (l Limits) WithDefaults() Limits {
	return Limits{
		Frame:           orElse(l.Frame, DefaultMaxFrame),
		Unauthenticated: min(orElse(l.Unauthenticated, 64<<10), orElse(l.Frame, DefaultMaxFrame)),
		FrameTime:       orElse(l.FrameTime, 30*time.Second),
		Outbox:          orElse(l.Outbox, 16_384),
		Backlog:         orElse(l.Backlog, 64<<20),
		OutboxBytes:     orElse(l.OutboxBytes, 1<<20),
		Pending:         orElse(l.Pending, 16_384),
		CloseTime:       orElse(l.CloseTime, 5*time.Second),
	}
}

func orElse[T int | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

func (o Options) validate() error {
	switch {
	case o.Handler == nil:
		return errors.New("wire: Options.Handler is nil")
	case o.MaxConnections < 0:
		return fmt.Errorf("wire: Options.MaxConnections is %d", o.MaxConnections)
	case o.ReplayWindow < 0:
		return fmt.Errorf("wire: Options.ReplayWindow is %v", o.ReplayWindow)
	case o.AuthTime < 0:
		return fmt.Errorf("wire: Options.AuthTime is %v", o.AuthTime)
	case o.Full > FullDisconnect:
		return fmt.Errorf("wire: Options.Full is %d", o.Full)
	}
	for i, d := range o.Dialects {
		if d == nil {
			return fmt.Errorf("wire: Options.Dialects[%d] is nil", i)
		}
	}
	for name, r := range map[string]Rate{"ConnectionRate": o.ConnectionRate, "AgentRate": o.AgentRate, "AcceptRate": o.AcceptRate} {
		if r.Messages < 0 || (r.Messages > 0) != (r.Window > 0) {
			return fmt.Errorf("wire: Options.%s: want a number of messages and a window, both positive, or neither", name)
		}
	}
	if err := o.KeepAlive.validate(); err != nil {
		return err
	}
	return o.Limits.validate()
}

// validate looks at the defaults too, which may not go with what is set.
func (k KeepAlive) validate() error {
	k = k.withDefaults()
	if k.Timeout > 0 && k.Interval >= k.Timeout {
		return fmt.Errorf("wire: Options.KeepAlive: a peer that is asked after %v of silence cannot answer before %v", k.Interval, k.Timeout)
	}
	return nil
}

func (l Limits) validate() error {
	for name, v := range map[string]int64{
		"Frame": int64(l.Frame), "Unauthenticated": int64(l.Unauthenticated), "FrameTime": int64(l.FrameTime), "Outbox": int64(l.Outbox),
		"OutboxBytes": int64(l.OutboxBytes), "Backlog": int64(l.Backlog), "Pending": int64(l.Pending), "CloseTime": int64(l.CloseTime),
	} {
		if v < 0 {
			return fmt.Errorf("wire: Options.Limits.%s is negative", name)
		}
	}
	return nil
}
