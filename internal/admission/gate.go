package admission

import (
	"math"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Bands is the number of bands.
	Bands = 8
	// Kept is the number of bands, from the first, for which room is kept: as many of their
	// handlers as there are processors begin in any case.
	Kept = 4
	// MaxWait is the longest expected time in the queue of a request that is taken on.
	MaxWait = 5 * time.Second
	// MaxAgain is the longest [Busy.Again].
	MaxAgain = 30 * time.Second
)

const (
	probeEvery = time.Millisecond
	late       = 4 * time.Millisecond  // a probe that is later finds the scheduler behind
	soon       = time.Millisecond      // a probe that is later stops the growth of the budget
	stuck      = 10 * time.Millisecond // without a return, after which one more handler begins
	maxPassed  = 64                    // agents whose handlers compute that another one passes
	maxBudget  = 4096
	maxIdle    = 10          // probes without anything to do, after which there are no more
	calm       = time.Second // without a refusal, after which the gate refuses no longer
)

// Request is what a [Gate] has to know of a request.
type Request struct {
	Band     int       // Band is from 0, which is served first, to below [Bands].
	Agent    string    // Agent takes turns with the other agents that have requests in the band.
	Asker    string    // Asker takes turns with the other askers of the agent.
	Deadline time.Time // Deadline is when the answer is of no use any more. Zero means none.
}

// Busy is the refusal of a request.
type Busy struct {
	Wait  time.Duration // Wait is the time in the queue that was expected.
	Again time.Duration // Again is the time after which the queue may have room, up to [MaxAgain].
}

// Counts is the state of a [Gate].
type Counts struct {
	UnderWay int           // UnderWay is the number of handlers that have begun and not returned.
	Waiting  int           // Waiting is the number of those that are queued.
	Refused  uint64        // Refused is how many requests were refused, ever.
	Refusing bool          // Refusing is true from the first refusal until there was none for a second.
	Delay    time.Duration // Delay is how late the last probe was. It is zero while there are no probes.
}

// Gate bounds the handlers of a node that compute at a time. [New] makes it. All methods are safe
// for concurrent use.
type Gate struct {
	changed func(Counts)

	mu        sync.Mutex
	procs     int
	underWay  [Bands / Kept]int // in the bands with kept room, and in the others: the index is the band / Kept
	budget    int               // how many begin between two probes while the scheduler keeps up
	used      int               // of the budget
	behind    bool              // the scheduler, at the last probe
	delay     time.Duration
	bands     [Bands]group
	waiting   int
	each      time.Duration // mean time between two that leave the queue; zero before the first
	left      time.Time     // when the last one left the queue, or when there began to be one
	timer     *time.Timer
	returned  time.Time // when a handler has last returned while others were queued, or begun because none did
	due       time.Time // of the next probe
	lastProbe time.Time
	probing   bool
	slow      bool // the next probe is only to notice that the gate refuses no longer
	idle      int  // probes since the last one with something to do
	refused   uint64
	refusedAt time.Time
	recent    float64 // refusals, with a half-life of a second
	refusing  bool
	state     []metrics.Sample
	credit    time.Duration            // processor time that was not given to handlers
	costs     map[string]time.Duration // processor time of a handler, by agent
	samples   [samples]*Sample         // under way
	sampled   atomic.Bool              // another sample is wanted
}

// New returns a gate for as many processors as Go uses. changed is called when the gate begins
// and ends to refuse, on a goroutine of its own. It may be nil.
func New(changed func(Counts)) *Gate {
	if changed == nil {
		changed = func(Counts) {}
	}
	return &Gate{changed: changed, procs: procs(), budget: 2 * procs(), state: []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}}
}

// Counts returns the state.
func (g *Gate) Counts() Counts {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.countsLocked()
}

func (g *Gate) countsLocked() Counts {
	c := Counts{UnderWay: g.underWay[0] + g.underWay[1], Waiting: g.waiting, Refused: g.refused, Refusing: g.refusing}
	if g.probing {
		c.Delay = g.delay
	}
	return c
}

// Ticket is a request that was taken on. Its zero value is for [Gate.Take].
type Ticket struct {
	gate  *Gate
	agent string
	name  string // of the asker
	band  int
	asker *group  // counts it while it is expected to begin; nil otherwise
	begin Starter // of the handler, while it is queued
	turn  uint64  // how many handlers have been queued
}

// Starter starts a handler. Start is called at most once for each [Ticket.Begin], and must not
// block.
type Starter interface{ Start() }

// Take takes a request on, with the zero t for its ticket, or returns why not. It does so at once.
func (g *Gate) Take(t *Ticket, r Request) *Busy {
	g.mu.Lock()
	defer g.mu.Unlock()
	if wait := g.lookLocked(r); wait > 0 {
		return g.refuseLocked(wait)
	}
	t.gate, t.agent, t.name, t.band = g, r.Agent, r.Asker, r.Band
	if g.waiting > 0 {
		t.expectLocked()
	}
	return nil
}

// Look returns the expected time in the queue of a request that Take would refuse because of it,
// and zero for any other request.
func (g *Gate) Look(r Request) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lookLocked(r)
}

// Refuse counts the refusal of a request that would wait for so long, here or elsewhere.
func (g *Gate) Refuse(wait time.Duration) *Busy {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refuseLocked(wait)
}

func (g *Gate) lookLocked(r Request) time.Duration {
	if g.waiting == 0 {
		return 0
	}
	most, now := MaxWait, time.Now()
	if !r.Deadline.IsZero() {
		most = min(most, r.Deadline.Sub(now)/2)
	}
	if wait := g.waitLocked(r, now); wait > most {
		return wait
	}
	return 0
}

// waitLocked returns the expected time in the queue of a request.
func (g *Gate) waitLocked(r Request, now time.Time) time.Duration {
	ahead := g.bands[r.Band].ahead(r.Agent, r.Asker)
	for i := range r.Band {
		ahead += g.bands[i].expected
	}
	return time.Duration(ahead) * max(g.each, now.Sub(g.left)/4)
}

func (g *Gate) refuseLocked(wait time.Duration) *Busy {
	now := time.Now()
	g.refused++
	g.recent = g.recent*math.Exp2(-now.Sub(g.refusedAt).Seconds()) + 1
	g.refusedAt = now
	if !g.refusing {
		g.refusing = true
		g.probeLocked() // until it refuses no longer
		go g.changed(g.countsLocked())
	}
	// Those that were refused before come again, too.
	again := wait + time.Duration(g.recent*float64(g.each))
	return &Busy{Wait: wait, Again: min(again, MaxAgain)}
}

func (t *Ticket) expectLocked() {
	agent := t.gate.bands[t.band].of(t.agent)
	t.asker = agent.of(t.name)
	t.asker.expect(1)
}

func (t *Ticket) settleLocked() {
	if t.asker != nil {
		t.asker.expect(-1)
		t.asker = nil
	}
}

// Begin starts a handler at once or when its turn has come. A result other than zero says that it
// is queued, and is its turn for [Ticket.Leave]. The handler calls [Ticket.Return] at its end.
// Another handler of the ticket may begin after that.
func (t *Ticket) Begin(s Starter) (turn uint64) {
	g := t.gate
	g.mu.Lock()
	if g.waiting == 0 && g.mayBeginLocked(t.band, t.agent) {
		g.begunLocked(t)
		g.mu.Unlock()
		s.Start()
		return 0
	}
	if t.asker == nil {
		t.expectLocked()
	}
	t.begin = s
	t.turn++
	turn = t.turn
	t.asker.push(t)
	if g.waiting++; g.waiting == 1 {
		g.each, g.left = 0, time.Now()
	}
	g.probeLocked()
	g.drain() // unlocks
	return turn
}

// Leave takes the handler of that turn out of the queue. A false result says that it has begun, or
// was taken out before; a later handler of the ticket may be queued then.
func (t *Ticket) Leave(turn uint64) bool {
	g := t.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.begin == nil || t.turn != turn {
		return false
	}
	t.begin = nil
	g.waiting--
	t.asker.remove(t)
	t.settleLocked()
	return true
}

// Return says that the handler has returned.
func (t *Ticket) Return() {
	g := t.gate
	g.mu.Lock()
	g.underWay[t.band/Kept]--
	if g.waiting == 0 {
		g.mu.Unlock()
		return
	}
	g.returned = time.Now()
	g.drain() // unlocks
}

// Release says that no handler of the ticket begins any more. It may be called more than once, and
// for a ticket that was not taken.
func (t *Ticket) Release() {
	if t.gate == nil {
		return
	}
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	if t.begin == nil {
		t.settleLocked()
	}
}

// mayBeginLocked reports whether a handler may begin now, and uses the budget if it needs it.
func (g *Gate) mayBeginLocked(band int, agent string) bool {
	switch {
	case g.underWay[0]+g.underWay[1] < g.procs:
	case band < Kept && g.underWay[0] < g.procs:
	case !g.behind && g.used < g.budget && g.affordsLocked(agent):
		g.used++
		g.probeLocked()
	default:
		return false
	}
	return true
}

// drain begins the handlers that may begin, and unlocks.
func (g *Gate) drain() {
	for g.waiting > 0 {
		band := g.firstLocked()
		if !g.mayBeginLocked(band, g.bands[band].turn[0].key) {
			break
		}
		g.beginNext()
	}
	g.mu.Unlock()
}

// begunLocked counts a handler that begins.
func (g *Gate) begunLocked(t *Ticket) {
	t.settleLocked()
	g.underWay[t.band/Kept]++
	g.credit = max(g.credit-g.costs[t.agent], -burst*time.Duration(g.procs))
}

// firstLocked returns the first band with a queued handler. There is one.
func (g *Gate) firstLocked() int {
	band := 0
	for g.bands[band].queued == 0 {
		band++
	}
	return band
}

// beginNext begins the next handler of the queue. It unlocks while it does.
func (g *Gate) beginNext() {
	s := g.leftLocked(g.bands[g.firstLocked()].pop())
	g.mu.Unlock()
	s.Start()
	g.mu.Lock()
}

// leftLocked counts that a ticket has left the queue, since its handler begins.
func (g *Gate) leftLocked(t *Ticket) Starter {
	s := t.begin
	t.begin = nil
	g.waiting--
	g.begunLocked(t)
	now := time.Now()
	if took := now.Sub(g.left); g.each == 0 {
		g.each = took
	} else {
		g.each += (took - g.each) / 64
	}
	g.left = now
	return s
}

// probeLocked has the next probe run.
func (g *Gate) probeLocked() {
	g.idle = 0
	if !g.probing || g.slow {
		g.probing, g.slow, g.behind = true, false, false
		g.armLocked(probeEvery)
	}
}

func (g *Gate) armLocked(d time.Duration) {
	g.due = time.Now().Add(d)
	if g.timer == nil {
		g.timer = time.AfterFunc(d, g.probe)
		return
	}
	g.timer.Reset(d)
}

// probe measures the scheduler.
func (g *Gate) probe() {
	g.mu.Lock()
	metrics.Read(g.state)
	g.procs = procs()
	now := time.Now()
	delay := now.Sub(g.due)
	switch {
	case g.idle < maxIdle:
		g.armLocked(probeEvery)
	case g.refusing:
		g.slow = true
		g.armLocked(calm / 10)
	default:
		g.probing = false
	}
	g.probed(now, delay, int(min(g.state[0].Value.Uint64(), math.MaxInt32))) // unlocks
}

// probed renews the budget after a probe with that delay, which has seen so many goroutines that
// could run and did not. It begins the handlers that may begin, and unlocks.
func (g *Gate) probed(now time.Time, delay time.Duration, runnable int) {
	g.delay = delay
	g.behind = delay > late && runnable >= g.procs // else other processes have delayed it
	switch {
	case g.behind:
		g.budget = max(g.procs, g.budget/4)
	case delay > soon:
		g.budget = max(g.procs, g.budget/2)
	case g.used >= g.budget:
		g.budget = min(2*g.budget, maxBudget)
	case g.used < g.budget/4:
		g.budget = max(2*g.procs, g.budget-g.budget/8)
	}
	if g.used == 0 && g.waiting == 0 {
		g.idle++
	}
	g.used = 0
	if g.refusing && now.Sub(g.refusedAt) > calm {
		g.refusing = false
		go g.changed(g.countsLocked())
	}
	had := time.Duration(g.procs) * min(now.Sub(g.lastProbe), 10*late) // by the processors
	g.credit = min(g.credit+had, burst*time.Duration(g.procs))
	if g.behind {
		g.weighLocked(now)
		g.beginSome(had, now)
	} else {
		g.sampled.Store(false)
	}
	g.lastProbe = now
	g.drain() // unlocks
}

// beginSome begins handlers that take so much processor time together. One that computes begins
// only if none has returned for some time; those of other agents pass it. It unlocks meanwhile.
func (g *Gate) beginSome(left time.Duration, now time.Time) {
	for left > 0 && g.waiting > 0 {
		turn := g.bands[g.firstLocked()].turn
		next := 0
		if now.Sub(g.returned) < stuck {
			next = slices.IndexFunc(turn[:min(len(turn), maxPassed)], func(agent *group) bool { return g.costLocked(agent.key) <= computes })
			if next < 0 {
				return
			}
		}
		agent := turn[next]
		copy(turn[1:], turn[:next])
		turn[0] = agent
		g.beginNext()
		cost := g.costLocked(agent.key)
		if left -= cost; cost > computes {
			g.returned = now
		}
	}
}
