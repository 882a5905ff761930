package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/netip"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Limits of what members send one another.
const (
	// MaxBroadcast is the length of the longest delta of Broadcast in bytes: with the head of a
	// packet, and encrypted, it fits into a datagram of 1,400 bytes.
	MaxBroadcast = 1200
	// MaxBulk is the length of the longest data of SendBulk in bytes.
	MaxBulk = 4 << 20
	// MaxState is the length of the longest Gossiped.State in bytes.
	MaxState = 16 << 20
	// MaxName is the length of the longest name of a node in bytes.
	MaxName = 128
	// DefaultBroadcastQueue is the number of deltas that wait to be broadcast, unless the options
	// say otherwise.
	DefaultBroadcastQueue = 4096
)

// Options configure one node. Name is required, all else has a default.
type Options struct {
	// Name is unique in the cluster: at most MaxName bytes of printable characters without spaces.
	Name string
	// Links is the address where the node accepts the links of other nodes, host:port.
	Links string
	// Labels describe the node. Together with its addresses they have to fit into 512 bytes.
	Labels map[string]string
	// GossipState is the state that members replicate. Nil: none, and the data of other members is
	// dropped.
	Gossiped GossipState
	// Notify takes the events, one at a time and in order. It may block: that delays later events,
	// which are merged as Event says, and nothing else. It is a function, not a channel, so that a
	// simulation needs no goroutine to take the events and stays deterministic. Gossip calls it on
	// a goroutine of its own. Nil: events are dropped.
	Notify func(Event)
	// Profile is of the timing. Zero: LAN.
	Profile Profile
	// BroadcastQueue is the largest number of deltas that wait to be broadcast. When the queue is
	// full, the oldest of those that were sent most often is dropped: push/pull brings its content.
	// Zero: DefaultBroadcastQueue.
	BroadcastQueue int
	// Epoch is the least epoch of this incarnation. Zero: the clock's time in microseconds. The
	// epoch becomes greater than that when a member that this node joins knows a greater one of its
	// name; see [Gossip.Join].
	Epoch uint64
	// Logger gets the events of the membership, and the log of memberlist. Nil: discarded.
	Logger *slog.Logger

	// The rest is for Gossip only.

	// Bind is the address to listen on, host:port, by TCP and UDP. Port 0 picks a free one. Empty:
	// 127.0.0.1:0 with profile Local, else 0.0.0.0:7946.
	Bind string
	// Advertise is the address that the others use, host:port. Empty: the address of Bind, or, when
	// that is of all interfaces, a private address of the machine. Port 0 is that of Bind.
	Advertise string
	// Seeds are addresses of some other nodes, host:port, or names, of which each address is tried.
	// They are resolved again at each attempt. They may contain this node. None: the node waits to
	// be joined.
	Seeds []string
	// Keys encrypt the gossip with AES-GCM: 16, 24 or 32 bytes each. The first encrypts, all
	// decrypt. None: the gossip is in clear.
	Keys [][]byte
	// Resolver finds the addresses of names. Nil: net.DefaultResolver.
	Resolver Resolver
	// gossipToDead, for tests, replaces that of the profile. Zero: that of the profile.
	gossipToDead time.Duration
	// suspicionMult, for tests, replaces that of the profile. Zero: that of the profile.
	suspicionMult int
	// leaveTime, for tests, is how long each of the two steps of Leave takes at most. Zero: half of
	// the time-out of streams of the profile.
	leaveTime time.Duration
	// doubtTime, for tests, is how long the others believe this node to be dead until it begins
	// anew. Zero: that of two push/pulls.
	doubtTime time.Duration
	// cut, for tests, reports whether packets and streams to an address are lost. Nil: none.
	cut func(to string) bool

	// RejoinMin and RejoinMax bound the time between two attempts to join, which doubles between
	// them, with jitter. Zero: that of the profile.
	RejoinMin, RejoinMax time.Duration
}

// Resolver finds the addresses of a name. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

func (o Options) withDefaults() Options {
	t := o.Profile.timing()
	o.Labels = maps.Clone(o.Labels)
	if o.Notify == nil {
		o.Notify = func(Event) {}
	}
	if o.Gossiped == nil {
		o.Gossiped = nothing{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Bind == "" {
		if o.Profile == Local {
			o.Bind = "127.0.0.1:0"
		} else {
			o.Bind = "0.0.0.0:7946"
		}
	}
	o.BroadcastQueue = cmp.Or(o.BroadcastQueue, DefaultBroadcastQueue)
	o.RejoinMin = cmp.Or(o.RejoinMin, t.rejoinMin)
	o.RejoinMax = cmp.Or(o.RejoinMax, max(o.RejoinMin, t.rejoinMax))
	return o
}

func (o Options) validate() error {
	if err := validName(o.Name); err != nil {
		return err
	}
	if o.Profile >= endOfProfiles {
		return fmt.Errorf("membership: unknown Profile %d", o.Profile)
	}
	if o.BroadcastQueue < 0 || o.RejoinMin < 0 || o.RejoinMax < o.RejoinMin {
		return errors.New("membership: BroadcastQueue, RejoinMin and RejoinMax must not be negative, nor RejoinMax less than RejoinMin")
	}
	if o.Epoch == math.MaxUint64 {
		return errors.New("membership: no epoch can be greater than Epoch")
	}
	for i, key := range o.Keys {
		if err := validKey(key); err != nil {
			return fmt.Errorf("membership: Keys[%d]: %w", i, err)
		}
	}
	for _, seed := range o.Seeds {
		if _, _, err := splitHostPort(seed); err != nil {
			return fmt.Errorf("membership: Seeds: %w", err)
		}
	}
	return nil
}

func validName(name string) error {
	if name == "" || len(name) > MaxName || !utf8.ValidString(name) {
		return fmt.Errorf("membership: Name %q: want 1 to %d bytes of UTF-8", name, MaxName)
	}
	for _, r := range name {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return fmt.Errorf("membership: Name %q: has spaces, or what cannot be printed", name)
		}
	}
	if err := performatives.CheckID(performatives.AgentID(name)); err != nil {
		return fmt.Errorf("membership: Name %q: %w", name, err)
	}
	return nil
}

// splitHostPort returns the two parts of host:port.
func splitHostPort(address string) (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("address %s: the port is no number below 65536", address)
	}
	return host, uint16(n), nil
}

// nothing is the state of a node that replicates none.
type nothing struct{}

func (nothing) Received([]byte) {}
func (nothing) State() []byte   { return nil }
func (nothing) Merge([]byte)    {}
