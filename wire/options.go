package wire

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Options configures the sessions of a [Server] or of a client. Handler and Dialects are
// required. A server also requires either Auth or Anonymous.
type Options struct {
	Handler Handler
	// Dialects are the supported dialects. A session uses the first one that recognizes a frame
	// of the peer. A frame that none recognizes is read in Dialects[0], and decides the dialect
	// only if it is a message. A session that this end opened uses Dialects[0]. Connections
	// with a fixed dialect ([DialectConn]) ignore Dialects.
	Dialects []Dialect
	// Name is the sender of messages that a session itself creates. Empty means system.
	Name performatives.AgentID

	// Auth verifies the credentials of peers. It must be nil for an Anonymous server. Clients
	// ignore it.
	Auth Authenticator
	// Anonymous accepts every peer without authentication.
	Anonymous bool
	// Authorize decides about each message. Nil allows all.
	Authorize Authorizer
	// Public reports whether a message needs no credentials. It then has no identity, no rule of
	// Authorize is about it, and the peer has not authenticated by it. Nil means none. It must be
	// safe for concurrent use.
	Public func(m *performatives.Message) bool
	// AuthTime is the time within which a peer must authenticate. Zero means 10 s.
	AuthTime time.Duration

	// ConnectionRate limits the messages of one connection, AgentRate those of one agent over
	// all its connections. Messages of an agent below an authenticated name count for that
	// name. The zero Rate means no limit.
	ConnectionRate, AgentRate Rate
	// AcceptRate limits the new connections of one host: one IPv4 address or one IPv6 /64
	// network, over all ports. The zero Rate means no limit.
	AcceptRate Rate
	// ReplayWindow is the largest allowed difference between a message's timestamp and now.
	// Within this window, a message that one session received is refused when another session
	// receives it again. The last two windows are remembered, with at most two million
	// messages per window. An identity that fills the remaining capacity is refused with
	// CodeBusy. Zero disables both checks.
	ReplayWindow time.Duration

	Limits    Limits
	KeepAlive KeepAlive
	// MaxConnections is the largest number of concurrent sessions of a server. Zero means
	// [DefaultMaxConnections].
	MaxConnections int
	// MaxPerHost is the largest number of concurrent sessions per host, where a host is
	// defined as for AcceptRate. Zero means a quarter of MaxConnections, so that one host
	// cannot exclude all others. For this machine (a loopback address or an address that is
	// not IP) zero means MaxConnections, because a local proxy may forward connections of
	// many hosts. A positive value also applies to this machine. A negative value means no
	// limit per host.
	MaxPerHost int

	// Token returns the credential that each message of a client carries. Nil means none.
	Token func() string

	Registry *performatives.Registry
	// Stamper generates ids and timestamps. Nil means random UUIDs and the wall clock.
	Stamper performatives.Stamper
	// Logger receives errors of peers and the start and end of sessions, without payloads and
	// credentials. Nil discards them.
	Logger *slog.Logger
}

// Limits bounds the resources that a peer can occupy. Zero values mean the defaults, which
// the fields list.
type Limits struct {
	Frame           int           // bytes of a frame after decompression; [DefaultMaxFrame]
	Unauthenticated int           // bytes of a frame before the peer has authenticated; 64 KiB
	FrameTime       time.Duration // from the first byte of a frame to its last, and for each write; 30 s
	Outbox          int           // queued messages; 16,384
	Backlog         int           // estimated bytes of queued messages; 64 MiB
	OutboxBytes     int           // encoded bytes that one write collects, and bytes of queued control frames and answers; 1 MiB
	Pending         int           // pending requests in each direction; 16,384
	CloseTime       time.Duration // from the start of closing to the forced end; 5 s
}

// The defaults of [Limits] and [Options].
const (
	DefaultMaxFrame       = 16 << 20
	DefaultMaxConnections = 16_384
)

// KeepAlive configures the detection of dead peers. Every frame from a peer proves that it is
// alive. Zero values mean the defaults.
type KeepAlive struct {
	Interval time.Duration // silence before a ping is sent; 30 s. Negative: never
	Timeout  time.Duration // silence before the session ends; 60 s. Negative: never
}

// Rate is a limit of Messages per Window. A burst of up to Messages is allowed. The zero Rate
// means no limit.
type Rate struct {
	Messages int
	Window   time.Duration
}

func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, "system")
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Stamper == nil {
		o.Stamper = SystemStamper{}
	}
	o.AuthTime = cmp.Or(o.AuthTime, 10*time.Second)
	o.MaxConnections = cmp.Or(o.MaxConnections, DefaultMaxConnections)
	o.Limits = o.Limits.WithDefaults()
	o.KeepAlive = o.KeepAlive.withDefaults()
	return o
}

func (k KeepAlive) withDefaults() KeepAlive {
	return KeepAlive{Interval: cmp.Or(k.Interval, 30*time.Second), Timeout: cmp.Or(k.Timeout, 60*time.Second)}
}

// WithDefaults returns l with the defaults in place of zero values. Transports use it.
func (l Limits) WithDefaults() Limits {
	return Limits{
		Frame:           cmp.Or(l.Frame, DefaultMaxFrame),
		Unauthenticated: min(cmp.Or(l.Unauthenticated, 64<<10), cmp.Or(l.Frame, DefaultMaxFrame)),
		FrameTime:       cmp.Or(l.FrameTime, 30*time.Second),
		Outbox:          cmp.Or(l.Outbox, 16_384),
		Backlog:         cmp.Or(l.Backlog, 64<<20),
		OutboxBytes:     cmp.Or(l.OutboxBytes, 1<<20),
		Pending:         cmp.Or(l.Pending, 16_384),
		CloseTime:       cmp.Or(l.CloseTime, 5*time.Second),
	}
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

// validate checks the values including the defaults, because a default may conflict with a
// configured value.
func (k KeepAlive) validate() error {
	k = k.withDefaults()
	if k.Timeout > 0 && k.Interval >= k.Timeout {
		return fmt.Errorf("wire: Options.KeepAlive: the ping interval %v must be shorter than the timeout %v", k.Interval, k.Timeout)
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
