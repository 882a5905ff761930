package membership

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
)

// recorder keeps the events of one node.
type recorder struct {
	mu     sync.Mutex
	events []Event
	more   chan struct{}
	hold   chan struct{} // while not nil, Notify blocks on it
}

func newRecorder() *recorder { return &recorder{more: make(chan struct{})} }

func (r *recorder) notify(e Event) {
	r.mu.Lock()
	hold := r.hold
	r.mu.Unlock()
	if hold != nil {
		<-hold
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	close(r.more)
	r.more = make(chan struct{})
}

// all returns the events so far, and a channel that is closed with the next one.
func (r *recorder) all() ([]Event, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events), r.more
}

// kinds returns the kinds of the events about a name, with its epochs numbered in the order of
// appearance: "Joined 1, Failed 1, Joined 2".
func kinds(events []Event, name string) string {
	epochs := map[uint64]int{}
	var all []string
	for _, e := range events {
		if e.Member.Name != name {
			continue
		}
		if epochs[e.Member.Epoch] == 0 {
			epochs[e.Member.Epoch] = len(epochs) + 1
		}
		all = append(all, e.Kind.String()+" "+string(rune('0'+epochs[e.Member.Epoch])))
	}
	return strings.Join(all, ", ")
}

// count returns how many events of a kind there were about a name.
func (r *recorder) count(name string, kind Kind) (n int) {
	events, _ := r.all()
	for _, e := range events {
		if e.Member.Name == name && e.Kind == kind {
			n++
		}
	}
	return n
}

// await waits until the events about a name are those of want.
func (r *recorder) await(t *testing.T, name, want string) {
	t.Helper()
	r.awaitKinds(t, name, want, func(got, want string) bool { return got == want })
}

// awaitLast is await for the last events: on a busy machine a node that lives may be taken for dead
// for a while before them.
func (r *recorder) awaitLast(t *testing.T, name, want string) {
	t.Helper()
	r.awaitKinds(t, name, want, strings.HasSuffix)
}

func (r *recorder) awaitKinds(t *testing.T, name, want string, is func(got, want string) bool) {
	t.Helper()
	limit := time.After(patience.Time)
	for {
		events, more := r.all()
		if is(kinds(events, name), want) {
			return
		}
		select {
		case <-more:
		case <-limit:
			t.Fatalf("the events about %s are %q, want %q", name, kinds(events, name), want)
		}
	}
}

// node is a real one with its events.
type node struct {
	*Gossip
	*recorder
}

// start starts a real node on the loopback interface, with profile Local, and stops it at the end
// of the test. It is suspected for patientSuspicion intervals before it has failed.
func start(t testing.TB, o Options) *node {
	t.Helper()
	n, err := tryStart(t, o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// patientSuspicion is the SuspicionMult of the tests. By that of the profile, a machine that is
// busy for less than a second makes a node that lives seem dead.
const patientSuspicion = 25

func tryStart(t testing.TB, o Options) (*node, error) {
	if o.Profile == LAN {
		o.Profile = Local
		o.suspicionMult = cmp.Or(o.suspicionMult, patientSuspicion)
	}
	n := &node{recorder: newRecorder()}
	o.leaveTime = patience.Time // a machine that is overloaded may not gossip enough in a second
	if o.Notify == nil {
		o.Notify = n.notify
	}
	g, err := Start(o)
	if err != nil {
		return nil, err
	}
	n.Gossip = g
	t.Cleanup(func() { n.kill(t) })
	return n, nil
}

// kill stops the node without telling anybody.
func (n *node) kill(t testing.TB) {
	t.Helper()
	n.recorder.mu.Lock()
	if n.hold != nil {
		close(n.hold)
		n.hold = nil
	}
	n.recorder.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	if err := n.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// join waits until the node has joined.
func (n *node) join(t testing.TB) {
	t.Helper()
	if err := n.tryJoin(); err != nil {
		t.Fatalf("join: %v", err)
	}
}

func (n *node) tryJoin() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	return n.Join(ctx)
}

// state is a Gossiped that records.
type state struct {
	mu       sync.Mutex
	own      []byte
	received []string
	merged   []string
	more     chan struct{}
}

func newState(own string) *state { return &state{own: []byte(own), more: make(chan struct{})} }

func (s *state) note(to *[]string, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*to = append(*to, string(b))
	close(s.more)
	s.more = make(chan struct{})
}

func (s *state) Received(b []byte) { s.note(&s.received, b) }
func (s *state) Merge(b []byte)    { s.note(&s.merged, b) }
func (s *state) State() []byte     { return s.own }

// await waits until done reports true of what was received and merged.
func (s *state) await(t testing.TB, what string, done func(received, merged []string) bool) {
	t.Helper()
	limit := time.After(patience.Time)
	for {
		s.mu.Lock()
		ok, more, received, merged := done(s.received, s.merged), s.more, len(s.received), len(s.merged)
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-more:
		case <-limit:
			t.Fatalf("%s: not after %d received and %d merged", what, received, merged)
		}
	}
}

// waitFor waits for what no event tells.
func waitFor(t testing.TB, done func() bool) {
	t.Helper()
	limit := time.After(patience.Time)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("not in time")
		}
	}
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// contain reports whether a line has the level and the text.
func (l *lines) contain(level, text string) bool {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, "level="+level) && strings.Contains(line, text) {
			return true
		}
	}
	return false
}

// deltaLog is a Gossiped whose state is the set of all deltas that it knows: push/pull brings what
// broadcasts have missed.
type deltaLog struct {
	mu       sync.Mutex
	all      map[string]bool
	received []string
}

func newDeltaLog() *deltaLog { return &deltaLog{all: map[string]bool{}} }

func (l *deltaLog) Received(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.received = append(l.received, string(b))
	l.all[string(b)] = true
}

func (l *deltaLog) State() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return []byte(strings.Join(sorted(l.all), " "))
}

func (l *deltaLog) Merge(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range strings.Fields(string(b)) {
		l.all[d] = true
	}
}

func (l *deltaLog) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// hasReceived reports whether a delta came by gossip, rather than by push/pull.
func (l *deltaLog) hasReceived() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.received) > 0
}

// twice returns the number of deltas that were received more than once.
func (l *deltaLog) twice() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	distinct := map[string]bool{}
	for _, d := range l.received {
		distinct[d] = true
	}
	return len(l.received) - len(distinct)
}
