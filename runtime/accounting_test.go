package runtime_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/account"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
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

// eachSeed runs a property test with n consecutive seeds.
func eachSeed(t *testing.T, n int, test func(t *testing.T, seed uint64)) {
	t.Helper()
	first := seedOf(t)
	for i := range n {
		seed := first + uint64(i)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { test(t, seed) })
	}
}

// outcomes holds the outcomes of all messages of the test, and of the replies to them, by the
// number of the message. A reply is accepted when its request is.
type outcomes struct {
	messages, replies account.Messages[int]
	sent              []sentMessage
}

// sentMessage is what a sender knows of a message.
type sentMessage struct {
	err     error // the result of Send
	request bool
}

// number returns the number of the message with that id, and false for a message of another
// test.
func (l *outcomes) number(id string) (int, bool) {
	text, ok := strings.CutPrefix(id, "p")
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(text)
	return i, err == nil
}

func (l *outcomes) observe(r events.Record) {
	switch e := r.Event.(type) {
	case events.MessageRefused:
		if i, ok := l.number(string(e.Message.ID())); ok {
			l.messages.Count(i, account.Refused)
		}
	case events.DeadLetter:
		m, ok := e.Message.(*performatives.Message)
		if !ok {
			return
		}
		if i, ok := l.number(string(m.ID())); ok {
			l.messages.Count(i, account.Dead)
		} else if i, ok := l.number(m.InReplyTo()); ok {
			l.replies.Count(i, account.Dead)
		}
	}
}

// right reports whether a message has one outcome, that of its act and of the result of Send: a
// request is refused, and any other message is dead-lettered.
func (l *outcomes) right(i int, c account.Counts) bool {
	m := l.sent[i]
	if m.err != nil && c[account.Handled] > 0 || m.request && c[account.Dead] > 0 || !m.request && c[account.Refused] > 0 {
		return false
	}
	return c.Settled()
}

// The payload of a message determines the behaviour of its receiver.
var (
	conductPlain = performatives.Raw(`{}`)
	conductPanic = performatives.Raw(`{"panic":1}`)
	conductEnd   = performatives.Raw(`{"end":1}`) // the conversation ends
)

func conducted(m *performatives.Message, conduct performatives.Raw) bool {
	raw, ok := m.Payload().(performatives.Raw)
	return ok && string(raw) == string(conduct)
}

// handle is the handler of every receiver.
func (l *outcomes) handle(self actors.Self, m *performatives.Message) {
	if i, ok := l.number(m.InReplyTo()); ok {
		l.replies.Count(i, account.Handled)
		return
	}
	if conducted(m, conductPanic) {
		panic("as the test wants it")
	}
	i, _ := l.number(string(m.ID()))
	l.messages.Count(i, account.Handled)
	if m.Performative().ExpectsReply() {
		answer, err := m.ReplyFrom(self.ID(), self.Stamp(), performatives.ActInform, conductPlain)
		if err != nil {
			panic(err)
		}
		_ = self.Send(answer) // the error means that it is a dead letter
	}
}

// untilEndProtocol is a protocol whose conversations handle messages until one of them
// requests the end.
type untilEndProtocol struct{ l *outcomes }

func (untilEndProtocol) Name() string { return "talk" }

func (t untilEndProtocol) Opens(m *performatives.Message) bool {
	return m.Protocol() == t.Name() && m.InReplyTo() == ""
}

func (t untilEndProtocol) Bind(self actors.Self, _ actors.Agent) actors.Responder {
	return untilEndResponder{t.l, self}
}

type untilEndResponder struct {
	l    *outcomes
	self actors.Self
}

func (t untilEndResponder) Open(m *performatives.Message) actors.Conversation {
	return &untilEndConversation{untilEndResponder: t, key: actors.Key{ID: m.ConversationID(), Peer: m.Sender()}}
}

type untilEndConversation struct {
	untilEndResponder
	key   actors.Key
	actor actors.ConversationActor
}

func (t *untilEndConversation) Key() actors.Key                  { return t.key }
func (t *untilEndConversation) Actor() *actors.ConversationActor { return &t.actor }
func (*untilEndConversation) Start()                             {}
func (*untilEndConversation) Stop()                              {}

func (t *untilEndConversation) Receive(message any) {
	m, ok := message.(*performatives.Message)
	if !ok {
		return
	}
	t.l.handle(t.self, m)
	if conducted(m, conductEnd) {
		t.self.End(t, nil)
	}
}

// stressTest sends messages through a node whose agents are stopped and replaced.
type stressTest struct {
	*outcomes
	t    *testing.T
	node *runtime.Node
	seed uint64
	next atomic.Int64
}

const (
	stormSenders   = 4
	stormReceivers = 6
)

func (s *stressTest) agent() actors.Agent {
	return &scripted{receive: func(c *actors.Context, m *performatives.Message) { s.handle(c.Self, m) }}
}

func (s *stressTest) spawn(ctx context.Context, id performatives.AgentID, capacity int) {
	if err := s.node.Spawn(ctx, id, s.agent, runtime.WithCapacity(capacity)); err != nil {
		s.t.Errorf("Spawn: %v", err)
	}
}

func receiverID(i int) performatives.AgentID { return performatives.AgentID(fmt.Sprintf("r%d", i)) }

// send sends messages as one sender, until all are sent.
func (s *stressTest) send(i int) {
	self := performatives.AgentID(fmt.Sprintf("s%d", i))
	rng := rand.New(rand.NewPCG(s.seed, uint64(i)))
	for {
		n := int(s.next.Add(1)) - 1
		if n >= len(s.sent) {
			return
		}
		m, err := performatives.New(s.envelope(rng, self, n))
		if err != nil {
			s.t.Error(err)
			return
		}
		s.messages.Count(n, account.Accepted)
		s.sent[n] = sentMessage{s.node.Send(m), m.Performative().ExpectsReply()}
		if s.sent[n].request && s.sent[n].err == nil {
			s.replies.Count(n, account.Accepted)
		}
	}
}

func (s *stressTest) envelope(rng *rand.Rand, self performatives.AgentID, n int) performatives.Envelope {
	e := performatives.Envelope{
		ID: performatives.MessageID("p" + strconv.Itoa(n)), Sender: self, Timestamp: time.Now(),
		Receiver: receiverID(rng.IntN(stormReceivers + 1)), // the last one does not exist
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
func (s *stressTest) disturb(ctx context.Context, done <-chan struct{}) {
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

// Each message is handled, refused or dead-lettered exactly once.
func TestEveryMessageIsAccountedFor(t *testing.T) {
	seed := seedOf(t)
	messages := 100_000
	if racetest.Enabled {
		messages /= 4
	}
	l := &outcomes{sent: make([]sentMessage, messages)}
	fast := actors.Supervision{MaxRestarts: actors.Unlimited, Backoff: actors.Backoff{Min: time.Millisecond, Max: 2 * time.Millisecond}}
	s := &stressTest{outcomes: l, t: t, seed: seed, node: newNode(t, runtime.Options{
		Capacity: 128, Supervision: fast, Protocols: []actors.Protocol{untilEndProtocol{l}},
	})}
	observing := s.node.Events().Subscribe(events.SubscribeOptions{
		Capacity: 1 << 20, Kinds: []events.Kind{events.KindMessageRefused, events.KindMessageDeadLettered},
	}).Handle(l.observe)
	ctx := patience.Context(t)
	for i := range stormReceivers {
		s.spawn(ctx, receiverID(i), 128)
	}
	for i := range stormSenders { // some mailboxes are too small for the replies
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
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.node.Stop(over)                                    // it does not wait for the conversations, some of which never end by themselves
	if err := s.node.Stop(patience.Context(t)); err != nil { // queued messages are handled or refused
		t.Errorf("Stop: %v", err)
	}
	if err := observing.Stop(patience.Context(t)); err != nil || observing.Lost() > 0 {
		t.Errorf("observing: %v, and %d events were lost", err, observing.Lost())
	}
	s.verify()
}

func (s *stressTest) verify() {
	messages, replies := s.messages.Totals(), s.replies.Totals()
	s.t.Logf("messages: %s; replies: %s; %+v", messages, replies, s.node.Counts())
	for of, wrong := range map[string][]string{"message": s.messages.Wrong(s.right), "the reply to": s.replies.Wrong(nil)} {
		for i, line := range wrong[:min(10, len(wrong))] {
			s.t.Errorf("%d of %d not accounted for: %s %s", i+1, len(wrong), of, line)
		}
	}
	if messages[account.Accepted] != len(s.sent) {
		s.t.Errorf("%d of %d messages were sent", messages[account.Accepted], len(s.sent))
	}
	full := replies[account.Dead] >= 100 || goruntime.GOMAXPROCS(0) == 1 // one processor: an agent takes its replies in turn with those who send them
	if !full || min(messages[account.Handled], messages[account.Refused], messages[account.Dead]) < 100 {
		s.t.Error("an outcome occurs less than 100 times: the storm is too mild to tell")
	}
}
