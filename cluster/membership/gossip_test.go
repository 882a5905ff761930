package membership

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/internal/patience"
)

func names(members []cluster.Member) string {
	var all []string
	for _, m := range members {
		all = append(all, m.Name)
	}
	return strings.Join(all, " ")
}

func TestNodesJoinUpdateAndLeave(t *testing.T) {
	t.Parallel()
	a := start(t, Options{Name: "a", Links: "10.0.0.1:7", Labels: map[string]string{"zone": "eu-1"}})
	b := start(t, Options{Name: "b", Seeds: []string{a.Self().Gossip}})
	c := start(t, Options{Name: "c", Seeds: []string{a.Self().Gossip}})
	b.join(t)
	c.join(t)
	c.await(t, "b", "Joined 1")
	c.await(t, "a", "Joined 1")
	b.await(t, "c", "Joined 1")
	a.await(t, "c", "Joined 1")
	if got := names(c.Members()); got != "a b c" {
		t.Errorf("members of c: %s", got)
	}
	if got := c.Members()[0]; !got.Equal(a.Self()) {
		t.Errorf("c knows %+v, a is %+v", got, a.Self())
	}

	if err := a.Update(map[string]string{"zone": "eu-2"}, true); err != nil {
		t.Fatal(err)
	}
	b.await(t, "a", "Joined 1, Updated 1")
	c.await(t, "a", "Joined 1, Updated 1")
	if got := c.Members()[0]; !got.Leaving || got.Labels["zone"] != "eu-2" || got.Links != "10.0.0.1:7" {
		t.Errorf("c knows %+v", got)
	}

	ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	if err := a.Leave(ctx); err != nil {
		t.Errorf("leave: %v", err)
	}
	b.await(t, "a", "Joined 1, Updated 1, Left 1")
	c.await(t, "a", "Joined 1, Updated 1, Left 1")
	if got := names(b.Members()); got != "b c" {
		t.Errorf("members of b: %s", got)
	}
	for _, err := range []error{a.Update(nil, false), a.Broadcast(nil), a.SendBulk(b.Self().Incarnation, nil), a.Join(ctx)} {
		if !errors.Is(err, ErrStopped) && err != nil {
			t.Errorf("after Leave: %v", err)
		}
	}
	if err := a.Broadcast(nil); !errors.Is(err, ErrStopped) {
		t.Errorf("Broadcast after Leave: %v", err)
	}
}

// Nodes that leave at once do not wait for one another: the last one returns when no other member
// is left, and has no error.
func TestAllLeaveAtOnce(t *testing.T) {
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			a := start(t, Options{Name: "a"})
			b := start(t, Options{Name: "b", Seeds: []string{a.Self().Gossip}})
			c := start(t, Options{Name: "c", Seeds: []string{a.Self().Gossip}})
			b.await(t, "c", "Joined 1")
			c.await(t, "b", "Joined 1")
			var leaving sync.WaitGroup
			for _, n := range []*node{a, b, c} {
				leaving.Go(func() {
					if err := n.Leave(t.Context()); err != nil {
						t.Errorf("%s: %v", n.Self().Name, err)
					}
				})
			}
			leaving.Wait()
		})
	}
}

// What memberlist has lost is told again, as long as there is time.
func TestToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("lost")
		for _, c := range []struct {
			fails, calls int
			limit        time.Duration
			want         error
		}{{0, 1, time.Second, nil}, {2, 3, time.Second, nil}, {9, 4, time.Second, lost}, {9, 0, 0, context.DeadlineExceeded}} {
			calls := 0
			err := within(t.Context(), c.limit, 300*time.Millisecond, func(limit time.Duration) error {
				if calls++; calls <= c.fails {
					time.Sleep(limit)
					return lost
				}
				return nil
			})
			if calls != c.calls || !errors.Is(err, c.want) {
				t.Errorf("%+v: %d calls, and %v", c, calls, err)
			}
		}
	})
}

// What is sent is counted, in packets and over streams.
func TestSent(t *testing.T) {
	t.Parallel()
	a := start(t, Options{Name: "a"})
	if n := a.Sent(); n != 0 {
		t.Errorf("alone, it has sent %d bytes", n)
	}
	b := start(t, Options{Name: "b", Seeds: []string{a.Self().Gossip}})
	a.await(t, "b", "Joined 1")
	const long = 1 << 20
	before := a.Sent()
	if err := a.SendBulk(b.Self().Incarnation, make([]byte, long)); err != nil {
		t.Fatal(err)
	}
	streamed := a.Sent()
	if _, err := a.transport.WriteToAddress(make([]byte, 1000), memberlist.Address{Addr: b.Self().Gossip}); err != nil {
		t.Fatal(err)
	}
	if packet := a.Sent() - streamed; streamed-before < long || streamed-before > long+long/2 || packet < 1000 {
		t.Errorf("%d bytes of a stream, and %d of a packet", streamed-before, packet)
	}
}

func TestAKilledMemberFails(t *testing.T) {
	t.Parallel()
	a := start(t, Options{Name: "a"})
	b := start(t, Options{Name: "b", Seeds: []string{a.Self().Gossip}})
	c := start(t, Options{Name: "c", Seeds: []string{a.Self().Gossip}})
	a.await(t, "b", "Joined 1")
	c.await(t, "b", "Joined 1")
	b.kill(t)
	a.await(t, "b", "Joined 1, Failed 1")
	c.await(t, "b", "Joined 1, Failed 1")
}

// A process that restarts has the same address. Nothing is bound there but its own new run, so that
// nobody waits for failure detection.
func TestARestartAtTheSameAddress(t *testing.T) {
	t.Parallel()
	a := start(t, Options{Name: "a"})
	b := start(t, Options{Name: "b", Seeds: []string{a.Self().Gossip}})
	c := start(t, Options{Name: "c", Seeds: []string{a.Self().Gossip}})
	a.await(t, "b", "Joined 1")
	c.await(t, "b", "Joined 1")
	b.await(t, "c", "Joined 1")
	address, epoch := b.Self().Gossip, b.Self().Epoch
	b.kill(t)
	again := start(t, Options{Name: "b", Bind: address, Seeds: []string{a.Self().Gossip}})
	again.join(t)
	if again.Self().Epoch <= epoch {
		t.Errorf("epoch %d after %d", again.Self().Epoch, epoch)
	}
	a.await(t, "b", "Joined 1, Failed 1, Joined 2")
	c.await(t, "b", "Joined 1, Failed 1, Joined 2")
	// When memberlist sees the end of the first run, that is no news.
	again.kill(t)
	a.await(t, "b", "Joined 1, Failed 1, Joined 2, Failed 2")
	c.await(t, "b", "Joined 1, Failed 1, Joined 2, Failed 2")
}

// A process that restarts elsewhere is let in when the others know that the first run is dead, and
// not before.
func TestARestartAtAnotherAddress(t *testing.T) {
	t.Parallel()
	a := start(t, Options{Name: "a"})
	b := start(t, Options{Name: "b", Seeds: []string{a.Self().Gossip}})
	c := start(t, Options{Name: "c", Seeds: []string{a.Self().Gossip}})
	a.await(t, "b", "Joined 1")
	c.await(t, "b", "Joined 1")
	b.kill(t)
	again := start(t, Options{Name: "b", Seeds: []string{a.Self().Gossip, c.Self().Gossip}})
	a.await(t, "b", "Joined 1, Failed 1, Joined 2")
	c.await(t, "b", "Joined 1, Failed 1, Joined 2")
	again.await(t, "a", "Joined 1")
	again.await(t, "c", "Joined 1")
}

func TestASecondNodeOfTheNameIsRefused(t *testing.T) {
	t.Parallel()
	a := start(t, Options{Name: "a"})
	b := start(t, Options{Name: "b", Seeds: []string{a.Self().Gossip}})
	a.await(t, "b", "Joined 1")
	b.await(t, "a", "Joined 1")
	logs := &lines{}
	for _, seed := range []*node{a, b} { // b is the node that has the name
		second := start(t, Options{Name: "b", Seeds: []string{seed.Self().Gossip}, Logger: logs.logger()})
		err := second.tryJoin()
		if !errors.Is(err, ErrNameTaken) || !strings.Contains(err.Error(), b.Self().Gossip) {
			t.Errorf("join: %v, want %v with the address of the first", err, ErrNameTaken)
		}
		if got := names(second.Members()); got != "b" {
			t.Errorf("the second of the name has members %s", got)
		}
		if !logs.contain("ERROR", ErrNameTaken.Error()) {
			t.Errorf("no error in the log of the second: %s", logs)
		}
		second.kill(t)
	}
	// The first is not disturbed: what it says still arrives, and it has not had to defend itself.
	if err := b.Update(nil, true); err != nil {
		t.Fatal(err)
	}
	a.await(t, "b", "Joined 1, Updated 1")
	if events, _ := b.all(); kinds(events, "a") != "Joined 1" || kinds(events, "b") != "" {
		t.Errorf("events of the first: %v", events)
	}
	if got := a.Members()[1].Incarnation; got != b.Self().Incarnation {
		t.Errorf("a knows %s, the first is %s", got, b.Self().Incarnation)
	}
}

// The clock of the machine went back: the epoch that it gives is less than that of the run before.
func TestAnEpochIsGreaterThanThatOfEachEarlierRun(t *testing.T) {
	t.Parallel()
	for _, sameAddress := range []bool{false, true} {
		t.Run(fmt.Sprint("same address ", sameAddress), func(t *testing.T) {
			t.Parallel()
			a := start(t, Options{Name: "a"})
			first := start(t, Options{Name: "b", Seeds: []string{a.Self().Gossip}, Epoch: 1000})
			a.await(t, "b", "Joined 1")
			o := Options{Name: "b", Seeds: []string{a.Self().Gossip}, Epoch: 10}
			if sameAddress {
				o.Bind = first.Self().Gossip
			}
			first.kill(t)
			second := start(t, o)
			a.await(t, "b", "Joined 1, Failed 1, Joined 2")
			second.await(t, "b", "Raised 1")
			second.await(t, "a", "Joined 1")
			if got := second.Self().Epoch; got != 1001 {
				t.Errorf("epoch %d, want 1001", got)
			}
			// The knowledge spreads: c has never met the first run.
			c := start(t, Options{Name: "c", Seeds: []string{a.Self().Gossip}})
			c.await(t, "b", "Joined 1")
			if sameAddress {
				return
			}
			second.kill(t)
			a.await(t, "b", "Joined 1, Failed 1, Joined 2, Failed 2")
			c.await(t, "b", "Joined 1, Failed 1")
			start(t, Options{Name: "b", Seeds: []string{c.Self().Gossip}, Epoch: 5})
			c.await(t, "b", "Joined 1, Failed 1, Joined 2")
			if got := c.Members()[1].Epoch; got != 1002 {
				t.Errorf("epoch %d, want 1002", got)
			}
		})
	}
}

// partition cuts the packets and streams between two sides of real nodes, by address.
type partition struct {
	mu   sync.Mutex
	side map[string]int
	on   bool
}

func (p *partition) cut(self *atomic.Value) func(string) bool {
	return func(to string) bool {
		from, _ := self.Load().(string)
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.on && p.side[from] != p.side[to]
	}
}

func (p *partition) set(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on = on
}

// start starts a node on one side.
func (p *partition) start(t *testing.T, side int, o Options) *node {
	t.Helper()
	var self atomic.Value
	o.cut = p.cut(&self)
	o.gossipToDead = 1 // memberlist gossips to those that died lately, which heals a short partition
	n := start(t, o)
	self.Store(n.Self().Gossip)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.side == nil {
		p.side = map[string]int{}
	}
	p.side[n.Self().Gossip] = side
	return n
}

// memberlist does not redial the dead. The seed that all have is gone, so that it does not help.
func TestAPartitionHeals(t *testing.T) {
	t.Parallel()
	var p partition
	seed := p.start(t, 0, Options{Name: "seed"})
	seeds := []string{seed.Self().Gossip}
	a := p.start(t, 0, Options{Name: "a", Seeds: seeds})
	b := p.start(t, 0, Options{Name: "b", Seeds: seeds})
	c := p.start(t, 1, Options{Name: "c", Seeds: seeds})
	d := p.start(t, 1, Options{Name: "d", Seeds: seeds})
	all := []*node{a, b, c, d}
	waitFor(t, func() bool { return count(all, 5) })
	seed.kill(t)
	waitFor(t, func() bool { return count(all, 4) })
	for _, n := range []*node{b, d} {
		for _, name := range []string{"a", "b", "c", "d"} {
			if name != n.options.Name {
				n.awaitLast(t, name, "Joined 1")
			}
		}
	}
	p.set(true)
	b.awaitLast(t, "c", "Failed 1")
	b.awaitLast(t, "d", "Failed 1")
	d.awaitLast(t, "a", "Failed 1")
	d.awaitLast(t, "b", "Failed 1")
	p.set(false)
	b.awaitLast(t, "c", "Failed 1, Joined 1")
	b.awaitLast(t, "d", "Failed 1, Joined 1")
	d.awaitLast(t, "a", "Failed 1, Joined 1")
	d.awaitLast(t, "b", "Failed 1, Joined 1")
}

// A slow receiver of events delays nothing, and still gets the end of each incarnation before the
// next one's beginning.
func TestASlowReceiverOfEvents(t *testing.T) {
	t.Parallel()
	a := start(t, Options{Name: "a"})
	b := start(t, Options{Name: "b", Seeds: []string{a.Self().Gossip}})
	a.await(t, "b", "Joined 1")
	a.recorder.mu.Lock()
	a.hold = make(chan struct{})
	a.recorder.mu.Unlock()
	// One event is on its way and blocks. The others are merged.
	c := start(t, Options{Name: "c", Seeds: []string{a.Self().Gossip}})
	c.await(t, "b", "Joined 1")
	d := start(t, Options{Name: "d", Seeds: []string{c.Self().Gossip}})
	d.await(t, "a", "Joined 1")
	d.await(t, "b", "Joined 1")
	for i := range 5 {
		if err := b.Update(map[string]string{"n": strconv.Itoa(i)}, false); err != nil {
			t.Fatal(err)
		}
	}
	address := b.Self().Gossip
	b.kill(t)
	again := start(t, Options{Name: "b", Bind: address, Seeds: []string{c.Self().Gossip}})
	d.kill(t)
	c.await(t, "d", "Joined 1, Failed 1")
	again.await(t, "a", "Joined 1")
	waitFor(t, func() bool { return names(a.Members()) == "a b c" && a.Members()[1].Epoch == again.Self().Epoch })
	a.recorder.mu.Lock()
	close(a.hold)
	a.hold = nil
	a.recorder.mu.Unlock()
	a.await(t, "b", "Joined 1, Failed 1, Joined 2")
	a.await(t, "c", "Joined 1")
	if events, _ := a.all(); kinds(events, "d") != "" && kinds(events, "d") != "Joined 1, Failed 1" {
		t.Errorf("events about d: %s", kinds(events, "d"))
	}
}

func TestBroadcastsReachAll(t *testing.T) {
	t.Parallel()
	const nodes, deltas = 8, 200
	var all []*node
	logs := make([]*deltaLog, nodes)
	for i := range nodes {
		logs[i] = newDeltaLog()
		o := Options{Name: fmt.Sprint("n", i), Gossiped: logs[i], Keys: [][]byte{make([]byte, 32)}}
		if i > 0 {
			o.Seeds = []string{all[0].Self().Gossip}
		}
		all = append(all, start(t, o))
	}
	for _, n := range all {
		waitFor(t, func() bool { return len(n.Members()) == nodes })
	}
	for i := range deltas {
		d := strconv.Itoa(i)
		logs[i%2].Merge([]byte(d))
		if err := all[i%2].Broadcast([]byte(d)); err != nil {
			t.Fatal(err)
		}
	}
	longest := strings.Repeat("x", MaxBroadcast)
	logs[0].Merge([]byte(longest))
	if err := all[0].Broadcast([]byte(longest)); err != nil {
		t.Fatal(err)
	}
	for i, l := range logs {
		waitFor(t, func() bool { return l.size() == deltas+1 })
		waitFor(t, l.hasReceived) // also if all came by push/pull before
		if n := l.twice(); n > 0 {
			t.Errorf("node %d received %d deltas twice", i, n)
		}
	}
	if err := all[0].Broadcast(make([]byte, MaxBroadcast+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
}

func TestBulkAndState(t *testing.T) {
	t.Parallel()
	sa, sb := newState("state of a"), newState("state of b")
	a := start(t, Options{Name: "a", Gossiped: sa})
	b := start(t, Options{Name: "b", Gossiped: sb, Seeds: []string{a.Self().Gossip}})
	b.join(t)
	sa.await(t, "state", func(_, merged []string) bool { return slices.Contains(merged, "state of b") })
	sb.await(t, "state", func(_, merged []string) bool { return slices.Contains(merged, "state of a") })
	a.await(t, "b", "Joined 1")

	long := strings.Repeat("0123456789", MaxBulk/10+1)[:MaxBulk]
	if err := a.SendBulk(b.Self().Incarnation, []byte(long)); err != nil {
		t.Fatal(err)
	}
	sb.await(t, "bulk", func(received, _ []string) bool { return slices.Contains(received, long) })
	if err := a.SendBulk(b.Self().Incarnation, make([]byte, MaxBulk+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
	earlier := b.Self().Incarnation
	earlier.Epoch--
	for _, to := range []cluster.Incarnation{earlier, {Name: "nobody", Epoch: 1}, a.Self().Incarnation} {
		if err := a.SendBulk(to, nil); !errors.Is(err, ErrUnknownMember) {
			t.Errorf("bulk to %s: %v", to, err)
		}
	}
}

// resolver is a Resolver whose answers change.
type resolver struct {
	mu    sync.Mutex
	names map[string][]netip.Addr
	asked chan string
}

func (r *resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	select {
	case r.asked <- host:
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if all := r.names[host]; len(all) > 0 {
		return all, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func TestSeedsAreResolvedAtEachAttempt(t *testing.T) {
	t.Parallel()
	a := start(t, Options{Name: "a"})
	address := netip.MustParseAddrPort(a.Self().Gossip)
	r := &resolver{names: map[string][]netip.Addr{}, asked: make(chan string)}
	b := start(t, Options{
		Name: "b", Resolver: r, Seeds: []string{fmt.Sprintf("seeds.example:%d", address.Port())}, RejoinMax: 300e6,
	})
	<-r.asked // the first attempt fails
	<-r.asked
	if got := names(b.Members()); got != "b" {
		t.Errorf("b alone has members %s", got)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.Join(canceled); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "seeds.example") {
		t.Errorf("join: %v, want why the last attempt failed", err)
	}
	// Of two addresses, the first does not answer.
	r.mu.Lock()
	r.names["seeds.example"] = []netip.Addr{netip.MustParseAddr("127.0.0.99"), address.Addr()}
	r.mu.Unlock()
	b.join(t)
	a.await(t, "b", "Joined 1")
}

// Why a seed could not be joined is one line, those of its name first.
func TestASeedThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	unknown := &resolver{asked: make(chan string)}
	a := start(t, Options{Name: "a", Seeds: []string{"127.0.0.1:1", "seeds.example:1"}, Resolver: unknown})
	canceled, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("given up"))
	var err error
	waitFor(t, func() bool {
		err = a.Join(canceled)
		return strings.Contains(err.Error(), "\n") // the first attempt is over
	})
	want := "given up\nresolve seeds.example:1: lookup seeds.example: no such host\nmembership: failed to join 127.0.0.1:1: "
	if !strings.HasPrefix(err.Error(), want) || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %q, want %q and the reason", err, want)
	}
	a.kill(t)
	if err := a.Join(t.Context()); !errors.Is(err, ErrStopped) {
		t.Errorf("after Stop: %v", err)
	}
}

func TestASeedThatIsTheNodeItself(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	a, err := tryStart(t, Options{Name: "a", Bind: address, Seeds: []string{address}})
	if err != nil {
		t.Skipf("the port was taken meanwhile: %v", err)
	}
	a.join(t)
}

func TestMetadataAreBounded(t *testing.T) {
	t.Parallel()
	long := map[string]string{"label": strings.Repeat("x", maxMeta)}
	if _, err := tryStart(t, Options{Name: "a", Labels: long}); !errors.Is(err, ErrMetadata) {
		t.Errorf("start: %v", err)
	}
	a := start(t, Options{Name: "a", Labels: map[string]string{"zone": "eu-1"}})
	if err := a.Update(long, true); !errors.Is(err, ErrMetadata) {
		t.Errorf("update: %v", err)
	}
	if got := a.Self(); got.Leaving || got.Labels["zone"] != "eu-1" {
		t.Errorf("a refused update changed the node: %+v", got)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"no name":           {},
		"a name with space": {Name: "a b"},
		"a long name":       {Name: strings.Repeat("a", MaxName+1)},
		"a profile":         {Name: "a", Profile: endOfProfiles},
		"a short key":       {Name: "a", Keys: [][]byte{{1}}},
		"a seed":            {Name: "a", Seeds: []string{"host"}},
		"a port":            {Name: "a", Seeds: []string{"host:70000"}},
		"bind":              {Name: "a", Bind: "127.0.0.1"},
		"a negative queue":  {Name: "a", BroadcastQueue: -1},
		"backoff":           {Name: "a", RejoinMin: 2, RejoinMax: 1},
		"IPv6 interfaces":   {Name: "a", Bind: "[::]:0"},
		"a zone":            {Name: "a", Bind: "[::1%lo]:0"},
		"a zone for others": {Name: "a", Bind: "[::1]:0", Advertise: "[fe80::1%lo]:0"},
	} {
		if _, err := tryStart(t, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestStartAndStop(t *testing.T) {
	t.Parallel()
	a := start(t, Options{Name: "a"})
	for i := range 20 {
		b := start(t, Options{Name: fmt.Sprint("b", i), Seeds: []string{a.Self().Gossip}})
		if i%2 == 0 {
			b.await(t, "a", "Joined 1")
		}
		var stops sync.WaitGroup
		for range 3 {
			stops.Go(func() { b.kill(t) })
		}
		stops.Wait()
	}
}
