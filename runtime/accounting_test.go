package runtime_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the property tests; 0 = a new one")

func seedOf(t *testing.T) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("to repeat: go test -run %s -seed %d", t.Name(), seed)
		}
	})
	return seed
}

// eachSeed runs a property test with so many seeds that follow one another.
func eachSeed(t *testing.T, n int, test func(t *testing.T, seed uint64)) {
	t.Helper()
	first := seedOf(t)
	for i := range n {
		seed := first + uint64(i)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { test(t, seed) })
	}
}

// fate is what became of one message.
type fate struct {
	handled, refused, dead atomic.Int32 // of the message itself
	made, taken, lost      atomic.Int32 // answers to it: sent, received, dead-lettered
	err                    error        // what Send returned
	request                bool
}

// ledger keeps the fates of all messages of the test, by their numbers.
type ledger struct{ fates []fate }

// of returns the fate of the message with that id, or nil when it is none of the
// test's.
func (l *ledger) of(id string) *fate {
	number, ok := strings.CutPrefix(id, "p")
	if !ok {
		return nil
	}
	i, err := strconv.Atoi(number)
	if err != nil {
		return nil
	}
	return &l.fates[i]
}

func (l *ledger) note(ev actors.Event) {
	switch e := ev.(type) {
	case actors.MessageSent:
		if f := l.of(e.Message.InReplyTo()); f != nil {
			f.made.Add(1)
		}
	case actors.MessageRefused:
		if f := l.of(string(e.Message.ID())); f != nil {
			f.refused.Add(1)
		}
	case actors.DeadLetter:
		m, ok := e.Message.(*performatives.Message)
		if !ok {
			return
		}
		if f := l.of(string(m.ID())); f != nil {
			f.dead.Add(1)
		} else if f := l.of(m.InReplyTo()); f != nil {
			f.lost.Add(1)
		}
	}
}

// check returns what is wrong with a fate, or nothing.
func (f *fate) check() string {
	handled, refused, dead := f.handled.Load(), f.refused.Load(), f.dead.Load()
	made, taken, lost := f.made.Load(), f.taken.Load(), f.lost.Load()
	answers := int32(0) // that there should be
	if f.request && f.err == nil {
		answers = 1
	}
	switch {
	case handled+refused+dead != 1:
		return fmt.Sprintf("handled %d, refused %d, dead-lettered %d: want 1 in all", handled, refused, dead)
	case f.request && dead > 0 || !f.request && refused > 0:
		return "a request is refused, any other message is dead-lettered"
	case f.err != nil && handled > 0:
		return fmt.Sprintf("handled, and its sender was told %v", f.err)
	case made != answers || taken+lost != answers:
		return fmt.Sprintf("%d answers made, %d taken, %d dead-lettered: want %d", made, taken, lost, answers)
	}
	return ""
}

// The conduct of a message's receiver is decided by its payload.
var (
	conductPlain = performatives.Raw(`{}`)
	conductPanic = performatives.Raw(`{"panic":1}`)
	conductEnd   = performatives.Raw(`{"end":1}`) // the conversation ends
)

func conducted(m *performatives.Message, conduct performatives.Raw) bool {
	raw, ok := m.Payload().(performatives.Raw)
	return ok && string(raw) == string(conduct)
}

// handle is what every receiver does with a message.
func (l *ledger) handle(self actors.Self, m *performatives.Message) {
	if f := l.of(m.InReplyTo()); f != nil {
		f.taken.Add(1)
		return
	}
	if conducted(m, conductPanic) {
		panic("as the test wants it")
	}
	l.of(string(m.ID())).handled.Add(1)
	if m.Performative().ExpectsReply() {
		answer, err := m.ReplyFrom(self.ID(), self.Stamp(), performatives.ActInform, conductPlain)
		if err != nil {
			panic(err)
		}
		_ = self.Send(answer) // it has been dead-lettered
	}
}

// talk is a protocol whose conversations handle messages until one ends them.
type talk struct{ l *ledger }

func (talk) Name() string { return "talk" }

func (t talk) Opens(m *performatives.Message) bool {
	return m.Protocol() == t.Name() && m.InReplyTo() == ""
}

func (t talk) Bind(self actors.Self, _ actors.Agent) actors.Responding { return talker{t.l, self} }

type talker struct {
	l    *ledger
	self actors.Self
}

func (t talker) Open(m *performatives.Message) actors.Conversation {
	return &talking{t, actors.Key{ID: m.ConversationID(), Peer: m.Sender()}}
}

type talking struct {
	talker
	key actors.Key
}

func (t *talking) Key() actors.Key { return t.key }

func (t *talking) Receive(ctx actor.Context) {
	m, ok := ctx.Message().(*performatives.Message)
	if !ok {
		return
	}
	t.l.handle(t.self, m)
	if conducted(m, conductEnd) {
		t.self.End(t, nil)
	}
}

// storm sends messages through a node whose agents come and go.
type storm struct {
	*ledger
	t    *testing.T
	node *runtime.Node
	seed uint64
	next atomic.Int64
}

const (
	stormSenders   = 4
	stormReceivers = 6
)

func (s *storm) agent() actors.Agent {
	return &scripted{receive: func(c *actors.Context, m *performatives.Message) { s.handle(c.Self, m) }}
}

func (s *storm) spawn(ctx context.Context, id performatives.AgentID, capacity int) {
	if err := s.node.Spawn(ctx, id, s.agent, runtime.WithCapacity(capacity)); err != nil {
		s.t.Errorf("Spawn: %v", err)
	}
}

func receiverID(i int) performatives.AgentID { return performatives.AgentID(fmt.Sprintf("r%d", i)) }

// send sends messages as one sender until all are.
func (s *storm) send(i int) {
	self := performatives.AgentID(fmt.Sprintf("s%d", i))
	rng := rand.New(rand.NewPCG(s.seed, uint64(i)))
	for {
		n := int(s.next.Add(1)) - 1
		if n >= len(s.fates) {
			return
		}
		m, err := performatives.New(s.envelope(rng, self, n))
		if err != nil {
			s.t.Error(err)
			return
		}
		s.fates[n].request = m.Performative().ExpectsReply()
		s.fates[n].err = s.node.Send(m)
	}
}

func (s *storm) envelope(rng *rand.Rand, self performatives.AgentID, n int) performatives.Envelope {
	e := performatives.Envelope{
		ID: performatives.MessageID("p" + strconv.Itoa(n)), Sender: self, Timestamp: time.Now(),
		Receiver: receiverID(rng.IntN(stormReceivers + 1)), // the last does not exist
		Priority: performatives.Low + performatives.Priority(rng.IntN(int(performatives.Bands))),
		Payload:  conductPlain, Performative: performatives.ActInform,
	}
	if rng.IntN(2) == 0 {
		e.Performative = performatives.ActRequest
	}
	if rng.IntN(3) == 0 {
		e.Protocol = "talk"
		e.ConversationID = performatives.ConversationID(fmt.Sprintf("c%d", rng.IntN(20)))
	}
	switch n := rng.IntN(1000); {
	case n == 0:
		e.Payload = conductPanic
	case n < 100:
		e.Payload = conductEnd
	}
	return e
}

// disturb stops and spawns agents until done is closed.
func (s *storm) disturb(ctx context.Context, done <-chan struct{}) {
	rng := rand.New(rand.NewPCG(s.seed, 1<<32))
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
		id := receiverID(rng.IntN(stormReceivers))
		if err := s.node.StopAgent(ctx, id); err != nil {
			s.t.Errorf("StopAgent: %v", err)
		}
		s.spawn(ctx, id, 128)
	}
}

// TestEveryMessageIsAccountedFor is the promise that nothing vanishes, nor comes
// twice.
func TestEveryMessageIsAccountedFor(t *testing.T) {
	seed := seedOf(t)
	l := &ledger{make([]fate, 100_000)}
	fast := actors.Supervision{MaxRestarts: actors.Unlimited, Backoff: actors.Backoff{Min: time.Millisecond, Max: 2 * time.Millisecond}}
	s := &storm{ledger: l, t: t, seed: seed, node: newNode(t, runtime.Options{
		Capacity: 128, Supervision: fast, Protocols: []actors.Protocol{talk{l}},
	})}
	defer s.node.Events().Listen(l.note)()
	ctx := within(t)
	for i := range stormReceivers {
		s.spawn(ctx, receiverID(i), 128)
	}
	for i := range stormSenders { // some of them too small for what comes back
		s.spawn(ctx, performatives.AgentID(fmt.Sprintf("s%d", i)), []int{1 << 20, 8}[i%2])
	}
	var senders, chaos sync.WaitGroup
	done := make(chan struct{})
	for i := range stormSenders {
		senders.Go(func() { s.send(i) })
	}
	chaos.Go(func() { s.disturb(ctx, done) })
	senders.Wait()
	close(done)
	chaos.Wait()
	stop, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := s.node.Stop(stop); err != nil { // what is queued is handled or refused
		t.Errorf("Stop: %v", err)
	}
	s.verify()
}

func (s *storm) verify() {
	total := make(map[string]int)
	wrong := 0
	for i := range s.fates {
		f := &s.fates[i]
		total["handled"] += int(f.handled.Load())
		total["refused"] += int(f.refused.Load())
		total["dead"] += int(f.dead.Load())
		total["answers lost"] += int(f.lost.Load())
		if problem := f.check(); problem != "" {
			if wrong++; wrong <= 10 {
				s.t.Errorf("p%d: %s", i, problem)
			}
		}
	}
	s.t.Log(total, s.node.Counts())
	for _, what := range []string{"handled", "refused", "dead", "answers lost"} {
		if total[what] < 100 {
			s.t.Errorf("only %d %s: the storm is too mild to tell", total[what], what)
		}
	}
	if wrong > 0 {
		s.t.Errorf("%d of %d messages are not accounted for", wrong, len(s.fates))
	}
}
