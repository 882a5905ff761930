package membership

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/ribosome-agents/ribosome/cluster"
)

// Gossip is the membership of a node in a real network, by hashicorp/memberlist.
type Gossip struct {
	options Options
	timing  timing
	log     *slog.Logger
	token   token // the first one, which is the origin of its deltas
	view    *view
	keys    *Keys
	list    atomic.Pointer[memberlist.Memberlist]
	hooks   *delegate          // of list; guarded by mu
	config  *memberlist.Config // of each list, but for what hooks it

	transport *transport

	queueMu sync.Mutex
	queue   broadcasts
	next    uint64 // sequence of the last own delta

	ctx    context.Context // ends with Stop
	cancel context.CancelCauseFunc
	done   sync.WaitGroup
	due    chan struct{} // an event is due
	rejoin chan string   // an address to dial at once; "": try again at once
	raised atomic.Bool   // the own epoch is to be announced
	doomed atomic.Bool   // the node is to begin anew

	mu       sync.Mutex // serialises changes of the own metadata, and their announcement
	left     bool
	stopOnce sync.Once
	stopped  chan struct{} // closed when Stop has ended
	silent   atomic.Bool   // nothing is delivered any more
	packets  atomic.Uint64 // of news that memberlist has made

	joinMu    sync.Mutex
	joined    chan struct{} // closed after the first join
	attempt   chan struct{} // closed and replaced after each attempt
	lastErr   error
	refusedAt time.Time // when that was logged
	doubted   time.Time // since when each member that has sent its state believes this node to be dead; zero: the last one does not
}

var _ Membership = (*Gossip)(nil)

// Start makes a node take part. It listens, and returns without waiting for the seeds: a node whose
// seeds are down starts alone and goes on trying until Stop. Errors are those of the options and of
// listening.
func Start(o Options) (*Gossip, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	keys, err := newKeys(o.Keys)
	if err != nil {
		return nil, err
	}
	g := &Gossip{
		options: o, timing: o.Profile.timing(), log: o.Logger.With("node", o.Name), token: token(rand.Uint64()), keys: keys,
		due: make(chan struct{}, 1), rejoin: make(chan string, 16), stopped: make(chan struct{}),
		joined: make(chan struct{}), attempt: make(chan struct{}),
		queue: broadcasts{capacity: o.BroadcastQueue},
	}
	g.timing.gossipToDead = cmp.Or(o.gossipToDead, g.timing.gossipToDead)
	g.timing.suspicionMult = cmp.Or(o.suspicionMult, g.timing.suspicionMult)
	g.ctx, g.cancel = context.WithCancelCause(context.Background()) //nolint:forbidigo // the lifecycle owner: ends with Stop
	if g.config, err = g.configure(); err != nil {
		g.cancel(err)
		return nil, err
	}
	if err := g.begin(g.token); err != nil {
		g.cancel(err)
		_ = g.transport.Shutdown()
		return nil, fmt.Errorf("membership: start: %w", err)
	}
	g.done.Go(g.deliver)
	g.done.Go(g.keepJoined)
	return g, nil
}

// begin has memberlist take part under a token.
func (g *Gossip) begin(t token) error {
	d, c := &delegate{g: g, token: t}, *g.config
	c.Name = memberName(g.options.Name, t)
	c.Delegate, c.Events, c.Alive, c.Merge = d, d, d, d
	list, err := memberlist.Create(&c)
	if err == nil {
		g.list.Store(list)
		g.hooks = d
	}
	return err
}

// doubt notes whether a member that has sent its state believes this node to be dead. The node
// contradicts at once. When all members go on to believe it for the time of two push/pulls, they do
// not hear that: a false claim has a number that memberlist cannot exceed, or said that this node
// leaves.
func (g *Gossip) doubt(dead bool) {
	g.joinMu.Lock()
	defer g.joinMu.Unlock()
	switch now := time.Now(); {
	case !dead:
		g.doubted = time.Time{}
	case g.doubted.IsZero():
		g.doubted = now
	case now.Sub(g.doubted) >= cmp.Or(g.options.doubtTime, 2*g.timing.pushPullInterval):
		g.doubted = time.Time{}
		g.doomed.Store(true)
		g.kick("")
	}
}

// beginAnew takes part as another run of the node: under another token, with a greater epoch. It
// knows no member any more, and dials those that it knew.
func (g *Gossip) beginAnew() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left || g.silent.Load() {
		return
	}
	g.log.Warn("membership: the others believe this node to be dead, and do not hear that it lives: it begins anew")
	g.hooks.over.Store(true)
	_ = g.list.Load().Shutdown() // never fails
	t := token(rand.Uint64())
	g.view.anew(t, time.Now())
	if err := g.begin(t); err != nil {
		g.log.Error("membership: the node cannot begin anew yet", "err", err)
		g.doomed.Store(true)
	}
}

// label keeps members of other programs that use memberlist out.
const label = "ribosome"

// configure opens the sockets and returns memberlist's configuration with them.
func (g *Gossip) configure() (*memberlist.Config, error) {
	t := g.timing
	c := memberlist.DefaultLANConfig()
	c.Label = label
	c.ProbeInterval, c.ProbeTimeout, c.IndirectChecks = t.probeInterval, t.probeTimeout, t.indirectChecks
	c.SuspicionMult, c.SuspicionMaxTimeoutMult = t.suspicionMult, t.suspicionMaxMult
	c.GossipInterval, c.GossipNodes, c.GossipToTheDeadTime = t.gossipInterval, t.gossipNodes, t.gossipToDead
	c.RetransmitMult, c.PushPullInterval, c.TCPTimeout = t.retransmitMult, t.pushPullInterval, t.streamTimeout
	c.EnableCompression = false // the state of the application is long only when it does not compress, and this takes time from failure detection
	c.Keyring = g.keys.ring
	c.Logger = slog.NewLogLogger(logHandler{g.log, &g.silent}, slog.LevelInfo)

	address, err := g.listen(c)
	if err != nil {
		return nil, err
	}
	self := announcement{token: g.token, member: cluster.Member{
		Incarnation: cluster.Incarnation{Name: g.options.Name, Epoch: g.options.Epoch},
		Gossip:      address, Links: g.options.Links, Labels: g.options.Labels,
	}}
	if self.member.Epoch == 0 {
		self.member.Epoch = uint64(time.Now().UnixMicro())
	}
	if _, err := self.meta().encode(); err != nil {
		_ = g.transport.Shutdown()
		return nil, err
	}
	g.view = newView(self, func() { signal(g.due) })
	return c, nil
}

// listen opens the sockets, and returns the address for others.
func (g *Gossip) listen(c *memberlist.Config) (string, error) {
	host, port, err := g.resolveOne(g.options.Bind)
	if err != nil {
		return "", fmt.Errorf("membership: Bind: %w", err)
	}
	if host.IsUnspecified() && host.Is6() && g.options.Advertise == "" {
		return "", errors.New("membership: Bind is all interfaces of IPv6: Advertise is required")
	}
	c.BindAddr, c.BindPort = host.String(), int(port)
	c.AdvertiseAddr, c.AdvertisePort = "", 0
	if g.options.Advertise != "" {
		host, port, err := g.resolveOne(g.options.Advertise)
		if err != nil {
			return "", fmt.Errorf("membership: Advertise: %w", err)
		}
		c.AdvertiseAddr, c.AdvertisePort = host.String(), int(port)
	}
	var t *transport
	// Port 0 is picked for TCP, and may be taken for UDP.
	for range 10 {
		t, err = newTransport(&memberlist.NetTransportConfig{
			BindAddrs: []string{c.BindAddr}, BindPort: c.BindPort, Logger: c.Logger,
		}, g.timing.streamTimeout, g.options.cut, g.keys.ring == nil, func(from net.Addr) { g.refused(errClaim, from.String()) })
		if err == nil || c.BindPort != 0 {
			break
		}
	}
	if err != nil {
		return "", fmt.Errorf("membership: listen on %s: %w", g.options.Bind, err)
	}
	g.transport = t
	c.Transport, c.BindPort = lent{t}, t.GetAutoBindPort()
	if c.AdvertiseAddr != "" && c.AdvertisePort == 0 {
		c.AdvertisePort = c.BindPort
	}
	ip, bound, err := t.FinalAdvertiseAddr(c.AdvertiseAddr, c.AdvertisePort)
	if err != nil {
		_ = t.Shutdown()
		return "", fmt.Errorf("membership: Advertise: %w", err)
	}
	return net.JoinHostPort(ip.String(), strconv.Itoa(bound)), nil
}

// resolveOne returns the first address of host:port. An empty host is all interfaces of IPv4.
func (g *Gossip) resolveOne(address string) (netip.Addr, uint16, error) {
	host, port, err := splitHostPort(address)
	if err != nil {
		return netip.Addr{}, 0, err
	}
	if host == "" {
		return netip.IPv4Unspecified(), port, nil
	}
	all, err := g.resolve(g.ctx, host)
	if err != nil {
		return netip.Addr{}, 0, err
	}
	return all[0], port, nil
}

// resolve returns the addresses of a host.
func (g *Gossip) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" { // memberlist would listen on all interfaces, and cannot tell others the zone
			return nil, fmt.Errorf("%s is an address of IPv6 with a zone, which members cannot use", host)
		}
		return []netip.Addr{ip.Unmap()}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.timing.streamTimeout)
	defer cancel()
	all, err := g.options.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no address", host)
	}
	for i := range all {
		all[i] = all[i].Unmap()
	}
	return all, nil
}

// Self returns this node, as it describes itself now. Its epoch may rise, see Raised.
func (g *Gossip) Self() cluster.Member { return g.view.current().member }

// Members returns the members believed to be alive, this node included, by name.
func (g *Gossip) Members() []cluster.Member { return g.view.members() }

// Keys returns the keys that encrypt the gossip.
func (g *Gossip) Keys() *Keys { return g.keys }

// Sent returns the number of bytes that this node has sent to others, in packets and over streams,
// without the heads of IP, UDP and TCP.
func (g *Gossip) Sent() uint64 { return g.transport.sent.Load() }

// Update replaces the labels of this node and says whether it is leaving.
func (g *Gossip) Update(labels map[string]string, leaving bool) error {
	labels = maps.Clone(labels)
	return g.announce(func(a *announcement) { a.member.Labels, a.member.Leaving = labels, leaving })
}

// announce changes this node's description of itself, and gossips it.
func (g *Gossip) announce(change func(*announcement)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left || g.silent.Load() {
		return ErrStopped
	}
	if _, err := g.view.change(change); err != nil {
		return err
	}
	// memberlist can only wait for the gossip, with a time-out. The gossip goes on after it.
	_ = g.list.Load().UpdateNode(time.Nanosecond)
	return nil
}

// Broadcast hands a delta to Gossiped.Received of each other member, best effort.
func (g *Gossip) Broadcast(data []byte) error {
	if len(data) > MaxBroadcast {
		return fmt.Errorf("%w: a broadcast of %d bytes of at most %d", ErrTooLong, len(data), MaxBroadcast)
	}
	if g.silent.Load() {
		return ErrStopped
	}
	g.queueMu.Lock()
	defer g.queueMu.Unlock()
	g.next++
	g.queue.seen.first(g.token, g.next)
	g.queue.add(delta{g.token, g.next, bytes.Clone(data)})
	return nil
}

// SendBulk hands data to Gossiped.Received of one other member over a stream of its own.
func (g *Gossip) SendBulk(to cluster.Incarnation, data []byte) error {
	if len(data) > MaxBulk {
		return fmt.Errorf("%w: bulk of %d bytes of at most %d", ErrTooLong, len(data), MaxBulk)
	}
	if g.silent.Load() {
		return ErrStopped
	}
	a, ok := g.view.find(to)
	if !ok {
		return fmt.Errorf("%w: %s", ErrUnknownMember, to)
	}
	host, port, err := splitHostPort(a.member.Gossip)
	if err != nil {
		return err
	}
	node := &memberlist.Node{Name: memberName(to.Name, a.token), Addr: net.ParseIP(host), Port: port}
	packet := append([]byte{formatVersion, packetBulk}, data...)
	if err := g.list.Load().SendReliable(node, packet); err != nil {
		return fmt.Errorf("membership: send bulk to %s: %w", to, err)
	}
	return nil
}

// Leave tells the others that this node leaves, and stops it.
func (g *Gossip) Leave(ctx context.Context) error {
	err := g.leave(ctx)
	return errors.Join(err, g.Stop(ctx))
}

func (g *Gossip) leave(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left || g.silent.Load() {
		return nil
	}
	g.left = true
	// memberlist's event of an end does not say whether the member left. So the metadata say it
	// first.
	if _, err := g.view.change(func(a *announcement) { a.goodbye = true }); err != nil {
		return err
	}
	limit := cmp.Or(g.options.leaveTime, g.timing.streamTimeout/2)
	err := within(ctx, limit, g.timing.telling(g.view.size()), g.list.Load().UpdateNode)
	return errors.Join(err, g.sayLeft(ctx, limit))
}

// sayLeft has memberlist say that this node has left. It returns when memberlist has sent that as
// often as all news, or when no other member is left: memberlist sends nothing to a member that has
// left, and would wait for that until the limit.
func (g *Gossip) sayLeft(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	look := time.NewTicker(g.timing.gossipInterval)
	defer look.Stop()
	before := g.packets.Load()
	_ = g.list.Load().Leave(time.Nanosecond) // the error is that it does not wait
	for {
		others := g.view.size()
		if others == 1 || g.packets.Load()-before >= uint64(transmitLimit(g.timing.retransmitMult, others)) {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("membership: leave: %w", context.Cause(ctx))
		}
	}
}

// within calls a function of memberlist that gossips, with the time that is left, and at most
// limit. memberlist may lose news before it has told anybody: of two that get the same number in
// its queue and have the same length, only the later one stays. So the function is called again
// each time that it has not told the others in time.
func within(ctx context.Context, limit, each time.Duration, f func(time.Duration) error) (err error) {
	until := time.Now().Add(limit)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	for left := time.Until(until); ctx.Err() == nil && left > 0; left = time.Until(until) {
		if err = f(min(each, left)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("membership: leave: %w", cmp.Or(context.Cause(ctx), err, context.DeadlineExceeded))
}

// Stop ends the membership without telling the others.
func (g *Gossip) Stop(ctx context.Context) error {
	g.stopOnce.Do(func() {
		g.silent.Store(true)
		g.cancel(ErrStopped)
		go func() {
			defer close(g.stopped)
			_ = g.transport.Shutdown() // the error is of a listener that has ended
			g.done.Wait()
			_ = g.list.Load().Shutdown() // never fails
		}()
	})
	select {
	case <-g.stopped:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// deliver calls Options.Notify with the events.
func (g *Gossip) deliver() {
	for {
		select {
		case <-g.ctx.Done():
			return
		case <-g.due:
		}
		for g.ctx.Err() == nil {
			e, ok := g.view.next()
			if !ok {
				break
			}
			g.log.Info("membership", "event", e.Kind.String(), "member", e.Member.Incarnation.String())
			g.options.Notify(e)
		}
	}
}

// kick makes keepJoined dial an address at once, or try again if it is empty.
func (g *Gossip) kick(address string) {
	select {
	case g.rejoin <- address:
	default: // it is about to try anyway
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
