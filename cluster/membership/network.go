package membership

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Network is a simulated network of many nodes, each a [Model]. It has no goroutine and no clock of
// its own: it schedules everything by NetworkOptions.AfterFunc, and takes all chance from
// NetworkOptions.Rand. So the same calls in the same order give the same events, if AfterFunc calls
// one function at a time and in a determined order.
//
// The network calls Options.Notify and the methods of Options.Gossiped one at a time, on the
// goroutine of a caller of the network or on that of AfterFunc. They may call the network and its
// nodes. All methods may be called at once.
type Network struct {
	options NetworkOptions

	mu      sync.Mutex
	nodes   map[string]*Model // by address: those that run, also paused ones
	cuts    map[[2]string]bool
	names   map[string]string // the addresses that names of seeds stand for
	jobs    []func()          // to call without mu, in order
	running bool
	sent    uint64 // packets, the lost ones included
	lost    uint64
}

// NetworkOptions configure a network. Rand, AfterFunc and Now are required.
type NetworkOptions struct {
	// Rand is the source of all chance. Only the network uses it.
	Rand *rand.Rand
	// AfterFunc calls f after d. stop reports whether it prevents that. It must not call f itself.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
	// Now is the clock of all nodes. It gives epochs: see Options.Epoch for a node whose clock is
	// wrong.
	Now func() time.Time
	// MinDelay and MaxDelay bound the time that a packet or a stream takes. Zero: 0.1 and 1 ms.
	MinDelay, MaxDelay time.Duration
	// Loss is the part of packets that is lost, from 0 to 1. Streams lose nothing.
	Loss float64
	// SetupCost is added to the delay of a stream, once. Zero: two times MaxDelay.
	SetupCost time.Duration
}

// NewNetwork returns a network without nodes.
func NewNetwork(o NetworkOptions) *Network {
	o.MinDelay = cmp.Or(o.MinDelay, 100*time.Microsecond)
	o.MaxDelay = max(cmp.Or(o.MaxDelay, time.Millisecond), o.MinDelay)
	o.SetupCost = cmp.Or(o.SetupCost, 2*o.MaxDelay)
	return &Network{options: o, nodes: map[string]*Model{}, cuts: map[[2]string]bool{}, names: map[string]string{}}
}

// Start starts a node. Options.Bind is its address; when that is empty, it is the name with port
// 7946, so that a node that restarts has the same address. Options.Seeds are such addresses.
// Options.Keys, Advertise and Resolver are not used. Errors: those of the options; a node that runs
// at the address.
func (n *Network) Start(o Options) (*Model, error) {
	if o.Bind == "" {
		o.Bind = o.Name + ":7946"
	}
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.unlock()
	if n.nodes[o.Bind] != nil {
		return nil, fmt.Errorf("membership: listen on %s: the address is in use", o.Bind)
	}
	m := newModel(n, o)
	if _, err := m.view.current().meta().encode(); err != nil {
		return nil, err
	}
	n.nodes[o.Bind] = m
	m.begin()
	return m, nil
}

// Cut loses, or no longer loses, what nodes at one address send to another: one direction only.
// Streams need both.
func (n *Network) Cut(from, to string, cut bool) {
	n.mu.Lock()
	defer n.unlock()
	n.cuts[[2]string{from, to}] = cut
}

// Partition cuts all that goes between two of the groups of addresses, and nothing else.
func (n *Network) Partition(groups ...[]string) {
	n.mu.Lock()
	defer n.unlock()
	clear(n.cuts)
	for i, group := range groups {
		for j, other := range groups {
			if i == j {
				continue
			}
			for _, from := range group {
				for _, to := range other {
					n.cuts[[2]string{from, to}] = true
				}
			}
		}
	}
}

// Lose sets the part of packets that is lost from now on, from 0 to 1, in the place of
// NetworkOptions.Loss.
func (n *Network) Lose(part float64) {
	n.mu.Lock()
	defer n.unlock()
	n.options.Loss = part
}

// Heal ends all cuts.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.unlock()
	clear(n.cuts)
}

// Pause stops the node at an address from doing anything, as SIGSTOP does. Its timers and up to
// 1,024 packets wait for Resume.
func (n *Network) Pause(address string) { n.withNode(address, func(m *Model) { m.paused = true }) }

// Resume ends a pause.
func (n *Network) Resume(address string) { n.withNode(address, (*Model).resume) }

// Crash ends the node at an address at once. Another one can be started there.
func (n *Network) Crash(address string) { n.withNode(address, (*Model).end) }

// Lost returns the number of packets that were lost, by chance or by a cut.
func (n *Network) Lost() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lost
}

func (n *Network) withNode(address string, f func(*Model)) {
	n.mu.Lock()
	defer n.unlock()
	if m := n.nodes[address]; m != nil {
		f(m)
	}
}

// later queues a call into the application, which is made without mu.
func (n *Network) later(job func()) { n.jobs = append(n.jobs, job) }

// unlock releases mu, and makes the queued calls. When they are being made already, by this
// goroutine or another one, that one makes them.
func (n *Network) unlock() {
	if n.running {
		n.mu.Unlock()
		return
	}
	n.running = true
	for len(n.jobs) > 0 {
		job := n.jobs[0]
		n.jobs[0] = nil
		n.jobs = n.jobs[1:]
		n.mu.Unlock()
		job()
		n.mu.Lock()
	}
	n.running = false
	n.mu.Unlock()
}

// after calls f with mu held, after d.
func (n *Network) after(d time.Duration, f func()) (stop func() bool) {
	return n.options.AfterFunc(d, func() {
		n.mu.Lock()
		defer n.unlock()
		f()
	})
}

func (n *Network) delay() time.Duration {
	return n.options.MinDelay + time.Duration(n.options.Rand.Int64N(int64(n.options.MaxDelay-n.options.MinDelay)+1))
}

// packet sends a datagram: it may be lost.
func (n *Network) packet(from, to string, f func(*Model)) {
	n.sent++
	if n.cuts[[2]string{from, to}] || n.options.Rand.Float64() < n.options.Loss {
		n.lost++
		return
	}
	n.after(n.delay(), func() {
		if m := n.nodes[to]; m != nil {
			m.receive(f)
		}
	})
}

var errUnreachable = errors.New("membership: unreachable")

// stream calls request with the node at an address, after the delays of a stream. It calls failed
// instead if either direction is cut or the node is paused, after the time-out, and if no node runs
// at the address, after the delay of one more packet.
func (n *Network) stream(from *Model, to string, timeout time.Duration, request func(peer *Model), failed func(error)) {
	address := from.options.Bind
	cut := func() bool { return n.cuts[[2]string{address, to}] || n.cuts[[2]string{to, address}] }
	fail := func(after time.Duration) {
		n.after(after, func() { from.receive(func(*Model) { failed(fmt.Errorf("%w: %s", errUnreachable, to)) }) })
	}
	if cut() {
		fail(timeout)
		return
	}
	n.after(n.options.SetupCost+n.delay(), func() {
		peer := n.nodes[to]
		switch {
		case cut() || peer != nil && peer.paused:
			// The listener of a paused node accepts, and nothing comes back.
			fail(timeout)
		case peer == nil:
			fail(n.delay())
		default:
			request(peer)
		}
	})
}

// sorted returns the keys in order, so that nothing depends on the order of a map.
func sorted[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
