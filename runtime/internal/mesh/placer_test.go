package mesh

import (
	stdcmp "cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	nodelink "github.com/ribosome-agents/ribosome/cluster/link"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
)

// still is an agent that does nothing.
type still struct{}

// Describe returns no capabilities.
func (still) Describe() performatives.Capabilities { return performatives.Capabilities{} }

// newPlacing returns the placer of a mesh with a kind "k", and the kind.
func newPlacing(t *testing.T) (*placer, *kind) {
	t.Helper()
	n := newMesh(t)
	t.Cleanup(func() { _ = stop(t.Context(), n) })
	of := Kind{New: func(performatives.AgentID) actors.Agent { return still{} }, Idle: time.Hour, MoveTime: time.Minute}
	if err := n.Register("k", of); err != nil {
		t.Fatal(err)
	}
	return n.placer, n.placer.kinds["k"]
}

// The stop of a run is told after the next one has begun.
func TestStopIsKnownLate(t *testing.T) {
	p, k := newPlacing(t)
	v, a, err := p.reserve(k, "k/a", directory.Entry{})
	if err != nil {
		t.Fatal(err)
	}
	p.agentStopped("K/A") // of the run before
	if r := p.runOf("k/a"); r.Since != a.Since {
		t.Errorf("it is %+v, want the activation %d", r, a.Since)
	}
	p.remove(a)
	v.Release(func(*performatives.Message) error { return nil })
}

// An agent that was about to leave, and runs on, can leave again: what waits for that has its turn
// then. It does not leave twice at once, nor when it has gone.
func TestLeavesAfterItHasStayed(t *testing.T) {
	p, _ := newPlacing(t)
	if err := p.activate("k/a", nil); err != nil {
		t.Fatal(err)
	}
	a := p.active["k/a"]
	over, end := context.WithCancel(t.Context())
	end()
	next := make(chan bool)
	leave := func() { next <- p.leave(t.Context(), a) }
	go leave()
	for n := range 3 {
		if !<-next {
			t.Fatal("it does not leave after it has started")
		}
		if p.leave(over, a) {
			t.Fatal("it leaves twice at once")
		}
		go leave()
		r, err := p.retire(t.Context(), a, p.node.System.Retire)
		if err != nil {
			t.Fatal(err)
		}
		if n < 2 {
			p.again(a, r)
			continue
		}
		if run := p.runOf("K/A"); run.Since <= run.First {
			t.Errorf("its run is %+v", run)
		}
		p.ended(a)
		r.Release(func(*performatives.Message) error { return nil })
	}
	if <-next {
		t.Error("an agent that has gone leaves")
	}
}

// A wait whose time is over is not a success, although its event has come, too.
func TestAwaitAtTheEndOfItsTime(t *testing.T) {
	p, _ := newPlacing(t)
	over, end := context.WithCancel(t.Context())
	end()
	for range 100 {
		if p.pause(over, -time.Second) || !p.pause(t.Context(), -time.Second) {
			t.Fatal("the end of the time does not decide")
		}
	}
}

// Of those that wait for one value, all go on at the end of their time, although only one of them has
// got the value, which comes at the same moment.
func TestAwaitWithOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		for range 5000 {
			ctx, end := context.WithCancel(t.Context())
			one := make(chan struct{}, 1)
			var waiting sync.WaitGroup
			for range movers {
				waiting.Go(func() { await(ctx, p.node.System, one) })
			}
			synctest.Wait()
			end()
			one <- struct{}{}
			waiting.Wait()
		}
		_ = stop(t.Context(), p.node)
	})
}

// A node that has handed nothing over, and knows no other, leaves at once.
func TestFarewellToNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		began := time.Now()
		newClustered(p.node).farewell(t.Context())
		if waited := time.Since(began); waited != 0 {
			t.Errorf("it waits for %v", waited)
		}
		_ = stop(t.Context(), p.node)
	})
}

// sentLinks are links over which nothing is delivered. They note the steps of the notes that were
// sent.
type sentLinks struct {
	offered func(to cluster.Incarnation, h note) // is called with each offer, if it is not nil
	removed func(peer cluster.Incarnation)       // is called as a link ends, if it is not nil

	gone bool // nothing can be sent
	wait time.Duration

	mu      sync.Mutex
	sent    []string
	message *performatives.Message // the latest
}

// last returns the message that was sent last.
func (l *sentLinks) last() *performatives.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.message
}

func (*sentLinks) Rename(cluster.Incarnation)               {}
func (*sentLinks) Add(cluster.Member)                       {}
func (*sentLinks) Control(cluster.Incarnation, []byte) bool { return true }
func (*sentLinks) Stop(context.Context) error               { return nil }
func (l *sentLinks) Wait(cluster.Incarnation) time.Duration { return l.wait }
func (*sentLinks) States() map[cluster.Incarnation]error    { return nil }

// Remove ends a link.
func (l *sentLinks) Remove(peer cluster.Incarnation) {
	if l.removed != nil {
		l.removed(peer)
	}
}

func (l *sentLinks) Send(peer cluster.Incarnation, m *performatives.Message) error {
	h, err := performatives.PayloadAs[note](m)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return errNodeGone
	}
	l.message = m
	if l.sent = append(l.sent, peer.Name+" "+string(h.Step)); h.Step == stepOffer && l.offered != nil {
		l.offered(peer, h)
	}
	return err
}

// all returns what was sent since the last call.
func (l *sentLinks) all() (sent []string) {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	sent, l.sent = l.sent, nil
	return sent
}

// A node that leaves says farewell to all others, also to those that join meanwhile or whose links
// begin anew, and waits for their answers. It does not wait for one that is lost or cannot be told.
func TestFarewell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		c, links := newClustered(p.node), &sentLinks{}
		c.links = links
		p.node.cluster = c
		nodes := make([]cluster.Incarnation, 7)
		for i := range nodes {
			nodes[i] = cluster.Incarnation{Name: fmt.Sprint("n", i), Epoch: 1}
		}
		join := func(all ...int) {
			for _, i := range all {
				c.join(cluster.Member{Incarnation: nodes[i]})
			}
		}
		join(2, 3, 4)
		if sent := links.all(); len(sent) > 0 {
			t.Errorf("before it leaves, it has sent %q", sent)
		}
		began, done := time.Now(), make(chan struct{})
		go func() {
			defer close(done)
			c.farewell(t.Context())
		}()
		if sent := links.all(); !slices.Equal(sent, []string{"n2 leaves", "n3 leaves", "n4 leaves"}) {
			t.Errorf("it has sent %q", sent)
		}
		hears := func(i int, want ...string) {
			t.Helper()
			l := c.peers[nodes[i]]
			p.handleNote(l, asMessage(t, l, note{Step: stepHeard}))
			if sent := links.all(); !slices.Equal(sent, want) {
				t.Errorf("when %s has answered, it has sent %q, want %q", nodes[i].Name, sent, want)
			}
			select {
			case <-done:
				t.Fatalf("it does not wait longer than for %s", nodes[i].Name)
			default:
			}
		}
		hears(2)
		join(5)
		hears(3)
		c.lose(nodes[4], "failed")
		if sent := links.all(); !slices.Equal(sent, []string{"n5 leaves"}) {
			t.Errorf("to a node that has joined, it has sent %q", sent)
		}
		linkHandler{c}.Lost(nodes[2])
		hears(5, "n2 leaves")
		links.mu.Lock()
		links.gone = true
		links.mu.Unlock()
		join(6)
		l := c.peers[nodes[2]]
		p.handleNote(l, asMessage(t, l, note{Step: stepHeard}))
		<-done
		if waited := time.Since(began); waited != 0 {
			t.Errorf("it has waited for %v", waited)
		}
		_ = stop(t.Context(), p.node)
	})
}

// asMessage returns a note as the other end of a link sends it.
func asMessage(t *testing.T, l *nodeLink, h note) *performatives.Message {
	t.Helper()
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	return act(t, "note", performatives.ActInform, func(e *performatives.Envelope) {
		e.Sender, e.Receiver, e.Payload = performatives.AgentID(l.peer.Name), l.node.self, performatives.Raw(text)
	})
}

// A node waits at most for the time of a farewell for those that do not answer, and as long for the
// directory to have the agents at their next nodes.
func TestFarewellWithoutAnAnswer(t *testing.T) {
	for handed, want := range map[bool]time.Duration{false: farewellTime, true: 2 * farewellTime} {
		synctest.Test(t, func(t *testing.T) {
			p, _ := newPlacing(t)
			c, n2 := beside(t, p, &sentLinks{})
			c.members = aloneMembership{cluster.Member{Incarnation: c.self}}
			if handed {
				c.handOver("k/a", n2.peer)
			}
			began := time.Now()
			if c.farewell(t.Context()); time.Since(began) != want {
				t.Errorf("with an agent that was handed over %t, it waits for %v, want %v", handed, time.Since(began), want)
			}
			_ = stop(t.Context(), p.node)
		})
	}
}

// aloneMembership is a membership that tells nobody anything.
type aloneMembership struct{ self cluster.Member }

func (m aloneMembership) Self() cluster.Member                     { return m.self }
func (m aloneMembership) Members() []cluster.Member                { return []cluster.Member{m.self} }
func (aloneMembership) Update(map[string]string, bool) error       { return nil }
func (aloneMembership) Broadcast([]byte) error                     { return nil }
func (aloneMembership) SendBulk(cluster.Incarnation, []byte) error { return nil }
func (aloneMembership) Leave(context.Context) error                { return nil }
func (aloneMembership) Stop(context.Context) error                 { return nil }

// The entry of an agent that is handed over stands until the directory has it at the node that has
// taken it: until then, messages for it are passed on to there. Only then does a node that drains
// say farewell, and it has not handed over before that is heard.
func TestEntryOfAnAgentThatIsHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		c, peer := newClustered(p.node), cluster.Incarnation{Name: "n2", Epoch: 1}
		links := &sentLinks{offered: func(_ cluster.Incarnation, h note) {
			go p.answered(c.peers[peer], note{Step: stepTaken, Agent: h.Agent})
		}}
		c.links, c.members = links, aloneMembership{cluster.Member{Incarnation: c.self}}
		p.node.cluster = c
		c.begin()
		c.join(cluster.Member{Incarnation: peer})
		theirs := directory.New(peer)
		theirs.Put(directory.Entry{Agent: hostEntry("k"), Hidden: true, Hosts: true, Since: 1}, nil)
		c.Merge(theirs.State())
		if err := p.activate("k/a", nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		number, began, done := p.runOf("k/a").Since, time.Now(), make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { done <- p.node.HandOver(ctx) }()
		if sent := links.all(); !slices.Equal(sent, []string{"n2 offer"}) {
			t.Errorf("it has sent %q", sent)
		}
		c.mu.Lock()
		entries := c.replica.Lookup("k/a")
		c.mu.Unlock()
		if len(entries) != 1 || entries[0].Owner != c.self || entries[0].Since != number {
			t.Errorf("its entries are %+v, want that of its run here", entries)
		}
		if to, handed := (view{p.node}).HandedTo("K/A"); !handed || to != c.peers[peer] {
			t.Errorf("messages are passed on to %v", to)
		}
		theirs.Put(directory.Entry{Agent: "k/a", Placed: true, Since: number + 1, First: number}, nil)
		c.Merge(theirs.State())
		time.Sleep(handedPause)
		if sent := links.all(); !slices.Equal(sent, []string{"n2 leaves"}) {
			t.Errorf("when the directory has the next run, it has sent %q", sent)
		}
		c.mu.Lock()
		entries = c.replica.Lookup("k/a")
		c.mu.Unlock()
		if len(entries) != 1 || entries[0].Owner != peer {
			t.Errorf("its entries are %+v, want that of its next run", entries)
		}
		select {
		case err := <-done:
			t.Errorf("it has not waited for the answer to its farewell: %v", err)
			done <- err
		default:
		}
		p.answered(c.peers[peer], note{Step: stepHeard})
		if err := <-done; err != nil || time.Since(began) != handedPause {
			t.Errorf("it has waited for %v: %v", time.Since(began), err)
		}
		_ = stop(t.Context(), p.node)
	})
}

// The conversations with the placed agents of a node that has left are not lost with it: these were
// handed over. It has left, too, if it has said so and the membership has not heard it.
func TestLossOfANodeThatHasLeft(t *testing.T) {
	both := []performatives.AgentID{"k/a", "plain"}
	all := []performatives.AgentID{"heard", "k/a", "k/heard", "plain"}
	stay := []performatives.AgentID{"heard", "plain"}
	for _, one := range []struct {
		left, says bool
		want       []performatives.AgentID
	}{{false, false, all}, {true, false, stay}, {false, true, stay}} {
		p, _ := newPlacing(t)
		c, peer := newClustered(p.node), cluster.Incarnation{Name: "n2", Epoch: 1}
		c.addLocked(peer)
		l := c.peers[peer]
		for _, id := range both {
			c.leadLocked(nil, wanted{entry: directory.Entry{Agent: id, Owner: peer, Placed: id == "k/a"}, link: l})
		}
		for _, id := range []performatives.AgentID{"heard", "k/heard"} {
			c.heard.note(id, heardOver{l, true})
		}
		l.leaves.Store(one.says)
		p.node.handover.Lock()
		c.endLocked(l, one.left)
		p.node.handover.Unlock()
		if !slices.Equal(l.lost, one.want) {
			t.Errorf("left %t, has said so %t: the conversations with %q are lost, want %q", one.left, one.says, l.lost, one.want)
		}
	}
}

// A request to a placed agent of another node stays open when that node has left, when the
// directory does not have the agent there any more, and when this node is about to run it: the
// agent comes again. One to an agent that this node has only heard from does so, too. A request to
// any other agent ends.
func TestRecordsOfAnAgentThatComesAgain(t *testing.T) {
	for name, leave := range map[string]func(*clustered, *nodeLink, performatives.AgentID){
		"its node has left":  func(c *clustered, l *nodeLink, _ performatives.AgentID) { c.endLocked(l, true) },
		"it is not there":    func(c *clustered, _ *nodeLink, id performatives.AgentID) { c.refreshLocked(id) },
		"this node takes it": func(c *clustered, _ *nodeLink, id performatives.AgentID) { c.withdrawLocked(id) },
	} {
		for _, one := range []struct {
			id            performatives.AgentID
			placed, heard bool
			open          int
		}{{"k/a", true, false, 1}, {"other/a", true, false, 1}, {"k/a", true, true, 1}, {"plain", false, false, 0}} {
			p, _ := newPlacing(t)
			p.node.handover.Lock()
			t.Cleanup(p.node.handover.Unlock)
			c, peer := newClustered(p.node), cluster.Incarnation{Name: "n2", Epoch: 1}
			c.links = &sentLinks{} // for the CANCEL of a record that is open when the node stops
			c.addLocked(peer)
			l := c.peers[peer]
			if !one.heard {
				c.leadLocked(nil, wanted{entry: directory.Entry{Agent: one.id, Owner: peer, Placed: one.placed}, link: l}).
					registration.Announce(performatives.Capabilities{Topics: []string{"x"}})
			}
			m, err := performatives.New(performatives.Envelope{
				ID: "m", Timestamp: time.Now(), Performative: performatives.ActRequest, Sender: "asker", Receiver: one.id, ConversationID: "c", Payload: performatives.Raw("{}"),
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := l.SendTo(m, nil, one.id, relay.Unchanged); err != nil {
				t.Fatal(err)
			}
			if !one.placed && name != "its node has left" {
				continue // it is not taken, or has no other place
			}
			if leave(c, l, one.id); p.node.Relay.Open() != one.open {
				t.Errorf("%s, %s, only heard %t: %d records are open, want %d", name, one.id, one.heard, p.node.Relay.Open(), one.open)
			}
			if one.open == 0 || one.heard {
				continue
			}
			other := cluster.Incarnation{Name: "n3", Epoch: 1}
			c.addLocked(other)
			theirs := directory.New(other)
			theirs.Put(directory.Entry{Agent: one.id, Hidden: true, Placed: true, Since: 9}, nil)
			if _, err := c.replica.Merge(theirs.State()); err != nil {
				t.Fatal(err)
			}
			c.refreshLocked(one.id)
			if c.endLocked(c.peers[other], false); p.node.Relay.Open() != 0 {
				t.Errorf("%s, %s: its record has not come along to the node that is lost now", name, one.id)
			}
		}
	}
}

// The entry of the run that a run has followed is no rival, and neither is one of an earlier run of
// that node.
func TestFormerRun(t *testing.T) {
	n1, n2 := cluster.Incarnation{Name: "n1", Epoch: 1}, cluster.Incarnation{Name: "n2", Epoch: 1}
	for _, c := range []struct {
		entry directory.Entry
		want  bool
	}{
		{directory.Entry{Owner: n1, Since: 5}, true},
		{directory.Entry{Owner: n1, Since: 4}, true},
		{directory.Entry{Owner: n1, Since: 6}, false},
		{directory.Entry{Owner: n2, Since: 5}, false},
	} {
		if got := (run{before: directory.Entry{Owner: n1, Since: 5}}).followed(c.entry); got != c.want {
			t.Errorf("%+v: got %t", c.entry, got)
		}
	}
}

// The next run of an agent on the same node has a later number and is of the same line.
func TestNumbersOfTheNextRun(t *testing.T) {
	p, k := newPlacing(t)
	v, a, err := p.reserve(k, "k/a", directory.Entry{})
	if err != nil {
		t.Fatal(err)
	}
	before := p.runOf("k/a")
	p.again(a, retired{Reservation: v})
	next := p.runOf("k/a")
	if next.Since <= before.Since || next.First != before.First {
		t.Errorf("the next run is %+v, want a later one in the line of %+v", next, before)
	}
	if got := numberAfter(1 << 62); got != 1<<62+1 {
		t.Errorf("after a run of a node whose clock is ahead it is %d", got)
	}
}

// act makes a message from "ann".
func act(t testing.TB, id performatives.MessageID, a performatives.Performative, mod func(*performatives.Envelope)) *performatives.Message {
	t.Helper()
	e := performatives.Envelope{
		ID: id, Performative: a, Sender: "ann", ConversationID: "c", Timestamp: time.Unix(1_000_000, 0), Payload: performatives.Raw(`{}`),
	}
	mod(&e)
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A record of an agent that leaves goes along with it. That of one that stops by itself ends.
func TestRecordsOfAnAgentThatLeaves(t *testing.T) {
	p, k := newPlacing(t)
	v, a, err := p.reserve(k, "k/a", directory.Entry{})
	if err != nil {
		t.Fatal(err)
	}
	if p.leaves("K/A") {
		t.Error("it leaves before anything")
	}
	request := act(t, "q", performatives.ActRequest, func(e *performatives.Envelope) { e.Receiver = "k/a" })
	if err := p.node.Relay.NewLink(relay.Session, nil, relay.Limits{Open: 1, Patience: time.Minute}).Deliver(request, "ann"); err != nil {
		t.Fatal(err)
	}
	if p.free(a); !p.leave(t.Context(), a) || !p.leaves("K/A") {
		t.Error("it does not leave")
	}
	v.Release(func(*performatives.Message) error { return nil }) // nobody has the id here now
	p.node.AgentChanged("k/a")
	if open := p.node.Relay.Open(); open != 1 {
		t.Errorf("%d records are open after it has stopped to leave, want 1", open)
	}
	p.ended(a)
	if open := p.node.Relay.Open(); open != 0 {
		t.Errorf("%d records are open after it has ended", open)
	}
	if p.leaves("k/a") || p.runOf("k/a").Since != 0 {
		t.Error("it is not forgotten")
	}
}

// What becomes of a question to a node, by what happens next.
func TestQuestion(t *testing.T) {
	p, _ := newPlacing(t)
	links := &sentLinks{}
	c, n2 := beside(t, p, links)
	gone := cluster.Incarnation{Name: "n2", Epoch: 2}
	c.addLocked(gone)
	other := c.peers[gone]
	var asked *nodeLink
	answer := func(l *nodeLink, about performatives.AgentID, s step) {
		p.handleNote(l, asMessage(t, l, note{Step: s, Agent: about, Reason: "no"}))
	}
	for name, one := range map[string]struct {
		happens func()
		want    []step
	}{
		"nothing":                         {func() {}, nil},
		"an answer":                       {func() { answer(asked, "k/a", stepTaken) }, []step{stepTaken}},
		"a refusal":                       {func() { answer(asked, "k/a", stepRefused) }, []step{stepRefused}},
		"it was heard":                    {func() { answer(asked, "k/a", stepHeard) }, []step{stepHeard}},
		"two, of which the first counts":  {func() { answer(asked, "k/a", stepTaken); answer(asked, "k/a", stepRefused); p.unanswered(asked) }, []step{stepTaken}},
		"that of another run of the node": {func() { answer(other, "k/a", stepTaken) }, nil},
		"that to another question":        {func() { answer(asked, "k/b", stepTaken) }, nil},
		"an unknown answer":               {func() { answer(asked, "k/a", "later") }, []step{"later"}},
		"its link begins anew":            {func() { linkHandler{c}.Lost(asked.peer) }, []step{unanswered}},
		"the node is lost":                {func() { c.lose(asked.peer, "failed") }, []step{unanswered}},
		"another one is":                  {func() { p.unanswered(other) }, nil},
		"it comes back": {func() {
			links.removed = func(peer cluster.Incarnation) {
				linkHandler{c}.Undelivered(peer, links.last(), &performatives.Refusal{Code: performatives.CodeStopped, Text: "no link"})
			}
			c.lose(asked.peer, "failed")
			links.removed = nil
		}, []step{unanswered}},
	} {
		if c.peers[n2.peer] == nil {
			c.addLocked(n2.peer)
		}
		asked = c.peers[n2.peer]
		p.ask(asked, note{Step: stepOffer, Agent: "k/b"}) // another one
		got, letters := p.ask(asked, note{Step: stepOffer, Agent: "k/a"}), p.node.System.Counts().DeadLetters
		one.happens()
		var steps []step
		for len(got) > 0 {
			steps = append(steps, (<-got).Step)
		}
		if !slices.Equal(steps, one.want) {
			t.Errorf("%s: got %q, want %q", name, steps, one.want)
		}
		if n := p.node.System.Counts().DeadLetters - letters; n != 0 {
			t.Errorf("%s: %d dead letters", name, n)
		}
		p.unanswered(asked)
		if len(asked.asked) != 0 {
			t.Errorf("%s: %d questions are open after the end of the link", name, len(asked.asked))
		}
	}
}

// A question that does not leave this node is refused: that over a link which is full or has ended.
func TestQuestionThatDoesNotLeave(t *testing.T) {
	p, _ := newPlacing(t)
	links := &sentLinks{gone: true}
	_, n2 := beside(t, p, links)
	for _, want := range []string{errNodeGone.Text, n2.Gone()} {
		if answer := <-p.ask(n2, note{Step: stepOffer, Agent: "k/a"}); answer.Step != stepRefused || !strings.Contains(answer.Reason, want) || len(n2.asked) != 0 {
			t.Errorf("the answer is %+v, want %q", answer, want)
		}
		links.gone = false // the two nodes have another link
		n2.beginLossLocked()
	}
}

// An answer that has come as the time ends is taken.
func TestAnswerAtTheEndOfItsTime(t *testing.T) {
	p, k := newPlacing(t)
	links := &sentLinks{}
	_, n2 := beside(t, p, links)
	links.offered = func(_ cluster.Incarnation, h note) {
		n2.asked[h.Agent] <- note{Step: stepTaken} // has room for one
	}
	a, r := &activation{kind: k, run: run{Entry: directory.Entry{Agent: "k/a"}}}, reserved(t, p, "k/other", 0)
	over, end := context.WithCancel(t.Context())
	end()
	for range 100 {
		if to, err := p.offerAround(over, a, r); to != n2 || err != nil {
			t.Fatalf("it is taken: %t: %v", to != nil, err)
		}
	}
}

// The directory has an agent at the node to which it is offered before that node has answered: it
// was taken, and this run does not give way to it. Another run there is a rival.
func TestTakenBeforeItsAnswer(t *testing.T) {
	for first, yields := range map[uint64]bool{5: false, 4: true} {
		synctest.Test(t, func(t *testing.T) {
			p, k := newPlacing(t)
			c, n2 := beside(t, p, &sentLinks{})
			contested := &contests{}
			p.node.Events = contested
			r := reserved(t, p, "k/a", 0)
			p.mu.Lock()
			p.active["k/a"] = &activation{kind: k, run: run{Entry: directory.Entry{Agent: "k/a", Placed: true, Since: 7, First: 5}, leaving: true}}
			p.mu.Unlock()
			theirs := directory.New(n2.peer)
			theirs.Put(directory.Entry{Agent: hostEntry("k"), Hidden: true, Hosts: true, Since: 1}, nil)
			theirs.Put(directory.Entry{Agent: "k/a", Hidden: true, Placed: true, Since: 8, First: first}, nil)
			c.Merge(theirs.State())
			synctest.Wait()
			if got := contested.n.Load() > 0; got != yields {
				t.Errorf("a run of the line of %d there is a rival: %t", first, got)
			}
			p.mu.Lock()
			clear(p.active)
			p.mu.Unlock()
			r.Release(func(*performatives.Message) error { return nil })
			_ = stop(t.Context(), p.node)
		})
	}
}

// contests counts contested agents.
type contests struct {
	unheard
	n atomic.Int64
}

func (c *contests) AgentContested(performatives.AgentID, string, bool) { c.n.Add(1) }

// An answer to an agent that was heard over the link to n2, which has ended, is refused at once, or
// is a dead letter.
func TestAnswerByANodeThatHasGone(t *testing.T) {
	n2, n4 := cluster.Incarnation{Name: "n2", Epoch: 1}, cluster.Incarnation{Name: "n4", Epoch: 1}
	for name, sends := range map[string]func(c *clustered, links *sentLinks, m *performatives.Message) error{
		"after n2 has gone": func(c *clustered, _ *sentLinks, m *performatives.Message) error {
			c.lose(n2, "failed")
			return c.node.Route(m)
		},
		"as n2 goes": func(c *clustered, links *sentLinks, m *performatives.Message) error {
			c.peers[n2].beginLossLocked()
			links.gone = true
			err := c.node.Route(m)
			links.gone = false
			c.lose(n2, "failed")
			return err
		},
		"by n4, after n2 has gone": func(c *clustered, _ *sentLinks, m *performatives.Message) error {
			c.lose(n2, "failed")
			c.peers[n4].receive(m, 0)
			return nil
		},
		"by n4, as n2 goes": func(c *clustered, links *sentLinks, m *performatives.Message) error {
			c.peers[n2].beginLossLocked()
			links.gone = true
			c.peers[n4].receive(m, 0)
			links.gone = false
			c.lose(n2, "failed")
			return nil
		},
		"and n2 had not got it": func(c *clustered, links *sentLinks, m *performatives.Message) error {
			links.removed = func(peer cluster.Incarnation) {
				linkHandler{c}.Undelivered(peer, m, &performatives.Refusal{Code: performatives.CodeStopped, Text: "lost"})
			}
			c.lose(n2, "failed")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _ := newPlacing(t)
				c, links := newClustered(p.node), &sentLinks{}
				c.links = links
				p.node.cluster = c
				for _, peer := range []cluster.Incarnation{n2, n4} {
					c.join(cluster.Member{Incarnation: peer})
				}
				lost := p.node.System.Events.Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindMessageDeadLettered, events.KindMessageRefused}})
				defer lost.Close()
				c.heard.note("asker", heardOver{c.peers[n2], true})
				m := act(t, "a", performatives.ActInform, func(e *performatives.Envelope) { e.Receiver, e.InReplyTo = "asker", "q" })
				err := sends(c, links, m)
				synctest.Wait()
				if err == nil && len(lost.C) == 0 {
					t.Error("it is not refused")
				}
				if l := c.heard.from("asker"); l != nil {
					t.Errorf("it is heard over the link to %s", l.peer.Name)
				}
				_ = stop(t.Context(), p.node)
			})
		})
	}
}

// A request of a session's agent goes on when its node is lost after the agent has moved to a third
// node, also if the directory has never had the agent at the first one, or has had it elsewhere.
// Before the agent has moved, the request ends with that node.
func TestRequestOfASessionThatMoves(t *testing.T) {
	nodes := []cluster.Incarnation{{Name: "n2", Epoch: 1}, {Name: "n3", Epoch: 1}, {Name: "n4", Epoch: 1}}
	for name, one := range map[string]struct {
		known string // where the directory has the asker before it asks over the link to n2
		moves string // where the directory has the asker afterwards
		open  int
	}{
		"known at its node, and moves": {"n2", "n3", 1},
		"only heard, and moves":        {"", "n3", 1},
		"known elsewhere, and moves":   {"n4", "n3", 1},
		"only heard, and stays":        {"", "n2", 0},
		"only heard":                   {"", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _ := newPlacing(t)
				c := newClustered(p.node)
				c.links, p.node.cluster = &sentLinks{}, c
				for _, n := range nodes {
					c.join(cluster.Member{Incarnation: n})
				}
				since := uint64(0)
				tell := func(at string) {
					for _, n := range nodes {
						if n.Name == at {
							since++
							theirs := directory.New(n)
							theirs.Put(directory.Entry{Agent: "asker", Hidden: true, Moves: true, Since: since}, nil)
							c.Merge(theirs.State())
							synctest.Wait()
						}
					}
				}
				tell(one.known)
				heard := make(chan *performatives.Message, 1)
				if _, err := p.node.System.Spawn(t.Context(), actors.Spec{ID: "worker", New: func() actors.Agent { return listening{heard: heard} }}); err != nil {
					t.Fatal(err)
				}
				c.peers[nodes[0]].receive(act(t, "q", performatives.ActRequest, func(e *performatives.Envelope) { e.Sender, e.Receiver = "asker", "worker" }), 0)
				<-heard
				tell(one.moves)
				c.lose(nodes[0], nodeLeft)
				synctest.Wait()
				if open := p.node.Relay.Open(); open != one.open {
					t.Errorf("%d requests are open, want %d", open, one.open)
				}
				_ = stop(t.Context(), p.node)
			})
		})
	}
}

// An answer from n3 to an agent that was heard over the link to n2 is passed on to n2.
func TestAnswerToAnAgentHeardOverALink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		c, links := newClustered(p.node), &sentLinks{}
		c.links = links
		p.node.cluster = c
		n2, n3 := cluster.Incarnation{Name: "n2", Epoch: 1}, cluster.Incarnation{Name: "n3", Epoch: 1}
		for _, peer := range []cluster.Incarnation{n2, n3} {
			c.join(cluster.Member{Incarnation: peer})
		}
		c.heard.note("asker", heardOver{c.peers[n2], true})
		c.peers[n3].receive(act(t, "a", performatives.ActInform, func(e *performatives.Envelope) { e.Receiver, e.InReplyTo = "asker", "q" }), 0)
		if sent := links.all(); !slices.Equal(sent, []string{"n2 "}) {
			t.Errorf("sent to %q", sent)
		}
		_ = stop(t.Context(), p.node)
	})
}

// The refusal of a request that another node has passed on goes where this node knows the asker to
// be, and else back to the node that has passed it on. That of any other goes back.
func TestRefusalOfARequestThatWasPassedOn(t *testing.T) {
	for _, c := range []struct {
		passed, heard bool
		want          string
	}{{true, true, "n2 "}, {true, false, "n3 "}, {false, true, "n3 "}} {
		synctest.Test(t, func(t *testing.T) {
			p, _ := newPlacing(t)
			mesh, links := newClustered(p.node), &sentLinks{}
			mesh.links = links
			p.node.cluster = mesh
			n2, n3 := cluster.Incarnation{Name: "n2", Epoch: 1}, cluster.Incarnation{Name: "n3", Epoch: 1}
			for _, peer := range []cluster.Incarnation{n2, n3} {
				mesh.join(cluster.Member{Incarnation: peer})
			}
			if c.heard {
				mesh.heard.note("asker", heardOver{mesh.peers[n2], true})
			}
			m := act(t, "a", performatives.ActRequest, func(e *performatives.Envelope) { e.Sender, e.Receiver = "asker", "k/a" })
			if c.passed {
				m = m.Forward()
			}
			mesh.peers[n3].answer(m, &performatives.Refusal{Code: performatives.CodeBusy})
			if sent := links.all(); !slices.Equal(sent, []string{c.want}) {
				t.Errorf("%+v: sent to %q", c, sent)
			}
			_ = stop(t.Context(), p.node)
		})
	}
}

// listening is an agent that passes on what it gets.
type listening struct {
	still
	heard chan *performatives.Message
}

// Receive handles a message.
func (l listening) Receive(_ *actors.Context, m *performatives.Message) { l.heard <- m }

// An agent is not offered over a link that has ended and is still listed: that would count as a
// refusal, and the agent would go on here.
func TestOfferWaitsForTheNextLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, k := newPlacing(t)
		links := &sentLinks{}
		c, n2 := beside(t, p, links)
		p.mu.Lock()
		k.hosts = false
		p.draining.Store(false)
		a := &activation{kind: k, run: run{Entry: directory.Entry{Agent: "k/a", Placed: true, Since: 7, First: 5}}}
		p.active[a.Agent] = a
		p.mu.Unlock()
		links.offered = func(to cluster.Incarnation, h note) {
			go p.answered(c.linkTo(to), note{Step: stepTaken, Agent: h.Agent})
		}
		n2.beginLossLocked()
		r := reserved(t, p, "k/other", 0)
		taken := make(chan error, 1)
		go func() {
			to, err := p.offerAround(t.Context(), a, r)
			if err == nil && to == nil {
				err = errors.New("it goes on here")
			}
			taken <- err
		}()
		synctest.Wait()
		if sent := links.all(); len(sent) > 0 || len(taken) > 0 {
			t.Errorf("sent %q over the ended link", sent)
		}
		linkHandler{c}.Lost(n2.peer)
		if err := <-taken; err != nil {
			t.Error(err)
		}
		_ = stop(t.Context(), p.node)
	})
}

// A node that the membership tells of again keeps its link, and what was asked over it.
func TestNodeJoinsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		c, n2 := newClustered(p.node), cluster.Incarnation{Name: "n2", Epoch: 1}
		c.links, p.node.cluster = &sentLinks{}, c
		c.join(cluster.Member{Incarnation: n2})
		l := c.linkTo(n2)
		answer := p.ask(l, note{Step: stepLeaves})
		c.join(cluster.Member{Incarnation: n2})
		if c.linkTo(n2) != l {
			t.Error("the node has another link")
		}
		p.answered(c.linkTo(n2), note{Step: stepHeard})
		if h := <-answer; h.Step != stepHeard {
			t.Errorf("answered: %+v", h)
		}
		_ = stop(t.Context(), p.node)
	})
}

// A request by Self.Ask that was not delivered is refused while the asker waits, and not taken for
// one whose asker was told of the loss of the link.
func TestUndeliveredRequestOfAnAsk(t *testing.T) {
	n2, n4 := cluster.Incarnation{Name: "n2", Epoch: 1}, cluster.Incarnation{Name: "n4", Epoch: 1}
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		c, links := newClustered(p.node), &sentLinks{}
		c.links, p.node.cluster = links, c
		for _, peer := range []cluster.Incarnation{n2, n4} {
			c.join(cluster.Member{Incarnation: peer})
		}
		theirs := directory.New(n4)
		theirs.Put(directory.Entry{Agent: "far", Hidden: true, Since: 1}, nil)
		c.Merge(theirs.State())
		synctest.Wait()
		self, err := p.node.System.Spawn(t.Context(), actors.Spec{ID: "asker", New: func() actors.Agent { return listening{} }})
		if err != nil {
			t.Fatal(err)
		}
		m := act(t, "m", performatives.ActRequest, func(e *performatives.Envelope) {
			e.Sender, e.Receiver, e.ReplyBy = "asker", "far", time.Now().Add(time.Hour)
		})
		answers := make(chan *performatives.Message, 1)
		go func() {
			answer, err := self.Ask(t.Context(), m)
			if err != nil {
				t.Error(err)
			}
			answers <- answer
		}()
		if sent := links.all(); !slices.Equal(sent, []string{"n4 "}) {
			t.Errorf("sent: %q", sent)
		}
		ended := c.peers[n2]
		ended.Close()
		if ended.toldSender(m) {
			t.Error("the sender counts as told while it waits")
		}
		c.peers[n4].Undelivered(m, &performatives.Refusal{Code: performatives.CodeBusy, Text: "full"})
		answer := <-answers
		if answer == nil {
			t.Fatal("the ask has failed")
		}
		if r := answer.AsRefusal(); r == nil || r.Code != performatives.CodeBusy {
			t.Errorf("the asker got %+v", r)
		}
		if !ended.toldSender(m) {
			t.Error("the sender does not count as told after its end")
		}
		_ = stop(t.Context(), p.node)
	})
}

// A request that has not left as its link ended is not sent again over the next link to the node: its
// asker was told that the agent is lost.
func TestUndeliveredRequestOfTheRunBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		links := &sentLinks{}
		c, n2 := beside(t, p, links)
		c.leadLocked(nil, wanted{entry: directory.Entry{Agent: "k/a", Owner: n2.peer, Placed: true}, link: n2})
		m := act(t, "m", performatives.ActRequest, func(e *performatives.Envelope) { e.Receiver = "k/a" })
		linkHandler{c}.Lost(n2.peer)
		linkHandler{c}.Undelivered(n2.peer, m, &performatives.Refusal{Code: performatives.CodeStopped, Text: "lost"})
		synctest.Wait()
		if sent := links.all(); len(sent) > 0 {
			t.Errorf("it was sent again: %q", sent)
		}
		_ = stop(t.Context(), p.node)
	})
}

// A request that this node has passed on, and that was not delivered, is refused: for good when the
// other node may have got it and is lost, else as a copy that can be sent again.
func TestUndeliveredAfterItWasPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		heard := make(chan *performatives.Message, 1)
		if _, err := p.node.System.Spawn(t.Context(), actors.Spec{ID: "asker", New: func() actors.Agent { return listening{heard: heard} }}); err != nil {
			t.Fatal(err)
		}
		m := act(t, "m", performatives.ActRequest, func(e *performatives.Envelope) { e.Sender, e.Receiver = "asker", "k/a" })
		for code, copied := range map[performatives.Code]bool{performatives.CodeDisconnected: false, performatives.CodeBusy: true} {
			p.node.Relay.NewLink(relay.Node, nil, relay.Limits{}).Undelivered(m.Forward(), &performatives.Refusal{Code: code, Text: "lost"})
			synctest.Wait()
			select {
			case got := <-heard:
				if r := got.AsRefusal(); r == nil || r.Code != code || got.Undeliverable() != copied {
					t.Errorf("%s: got %+v, want a refusal, of a copy: %t", code, got, copied)
				}
			default:
				t.Errorf("%s: the request %s of %s has no end", code, m.ID(), m.Sender())
			}
		}
		_ = stop(t.Context(), p.node)
	})
}

// A message for an agent of a node that has not joined yet waits for it, as long as any message
// waits, and activates no second run before.
func TestActivationAtANodeThatHasNotJoined(t *testing.T) {
	for _, how := range []struct {
		joins  bool
		remote bool // the message is of another node
	}{{false, false}, {false, true}, {true, false}, {true, true}} {
		t.Run(fmt.Sprintf("%+v", how), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _ := newPlacing(t)
				c, links := newClustered(p.node), &sentLinks{}
				c.links = links
				p.node.cluster = c
				asker, host := cluster.Incarnation{Name: "n2", Epoch: 1}, cluster.Incarnation{Name: "n3", Epoch: 1}
				c.join(cluster.Member{Incarnation: asker})
				theirs := directory.New(host)
				theirs.Put(directory.Entry{Agent: "k/a", Hidden: true, Placed: true, Since: 1}, nil)
				c.Merge(theirs.State())
				m := act(t, "q", performatives.ActRequest, func(e *performatives.Envelope) { e.Receiver = "k/a" })
				if how.remote {
					c.peers[asker].receive(m, 0)
				} else if err := p.node.Route(m); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if run := p.runOf("k/a"); run.Since != 0 {
					t.Error("it is activated at once")
				}
				if how.joins {
					c.join(cluster.Member{Incarnation: host})
				}
				time.Sleep(strangerTime / 2) // which is longer than all waits of a message for an agent that moves
				synctest.Wait()
				if activated := p.runOf("k/a").Since != 0; activated == how.joins {
					t.Errorf("it is activated here: %t", activated)
				}
				if passed := slices.Contains(links.all(), "n3 "); passed != how.joins {
					t.Errorf("the message is passed on to n3: %t", passed)
				}
				_ = stop(t.Context(), p.node)
			})
		})
	}
}

// A singleton of a node that has not joined yet is not activated until it is clear that the node
// does not join.
func TestSingletonAtANodeThatHasNotJoined(t *testing.T) {
	for _, joins := range []bool{true, false} {
		t.Run(fmt.Sprintf("it joins: %t", joins), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _ := newPlacing(t)
				c := newClustered(p.node)
				c.links = &sentLinks{}
				p.node.cluster = c
				host := cluster.Incarnation{Name: "n3", Epoch: 1}
				theirs := directory.New(host)
				theirs.Put(directory.Entry{Agent: "boss", Hidden: true, Placed: true, Since: 1}, nil)
				c.Merge(theirs.State())
				if err := p.node.Register("boss", Kind{New: func(performatives.AgentID) actors.Agent { return still{} }, Singleton: true}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(strangerTime - time.Second)
				synctest.Wait()
				if run := p.runOf("boss"); run.Since != 0 {
					t.Error("it is activated before the other node can have joined")
				}
				if joins {
					c.join(cluster.Member{Incarnation: host})
				}
				time.Sleep(2 * strangerTime)
				synctest.Wait()
				if activated := p.runOf("boss").Since != 0; activated == joins {
					t.Errorf("it is activated: %t", activated)
				}
				_ = stop(t.Context(), p.node)
			})
		})
	}
}

// slow is an agent whose first value does not start.
type slow struct {
	still
	starts *atomic.Int64
}

func (s slow) Start(*actors.Context) error {
	if s.starts.Add(1) == 1 {
		return errors.New("not yet")
	}
	return nil
}

// A singleton begins again after a while when it could not start, has stopped, or was to leave and
// has stopped.
func TestSingletonBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		starts := new(atomic.Int64)
		if err := p.node.Register("boss", Kind{New: func(performatives.AgentID) actors.Agent { return slow{starts: starts} }, Singleton: true}); err != nil {
			t.Fatal(err)
		}
		for i, step := range []struct {
			name string
			does func()
		}{
			{"it is registered, and does not start", func() {}},
			{"it could not start", func() {}},
			{"it has stopped", func() {
				if err := p.node.System.StopAgent(t.Context(), "boss"); err != nil {
					t.Error(err)
				}
			}},
			{"it was to leave", func() {
				a := p.active["boss"]
				if a == nil || !p.leave(t.Context(), a) {
					t.Fatal("it does not leave")
				}
				r, err := p.retire(t.Context(), a, p.node.System.Retire)
				if err != nil {
					t.Fatal(err)
				}
				r.Release(func(*performatives.Message) error { return nil })
				p.ended(a)
			}},
		} {
			step.does()
			if i > 0 {
				time.Sleep(retryTime)
			}
			time.Sleep(settleTime)
			synctest.Wait()
			if got := starts.Load(); got != int64(i+1) {
				t.Errorf("%s: it was started %d times, want %d", step.name, got, i+1)
			}
		}
		_ = stop(t.Context(), p.node)
	})
}

// A node forgets the agents of one that has not joined in a while. Messages for them wait no
// longer.
func TestStrangersAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		c := newClustered(p.node)
		c.links = &sentLinks{}
		p.node.cluster = c
		for _, name := range []string{"n2", "n3"} {
			theirs := directory.New(cluster.Incarnation{Name: name, Epoch: 1})
			theirs.Put(directory.Entry{Agent: performatives.AgentID("k/" + name), Hidden: true, Placed: true, Since: 1}, nil)
			c.Merge(theirs.State())
		}
		c.join(cluster.Member{Incarnation: cluster.Incarnation{Name: "n2", Epoch: 1}})
		time.Sleep(strangerTime)
		synctest.Wait()
		for id, known := range map[performatives.AgentID]bool{"k/n2": true, "k/n3": false} {
			if (view{p.node}).RunsElsewhere(id) != known {
				t.Errorf("%s runs at another node: %t, want %t", id, !known, known)
			}
		}
		if err := p.node.Route(act(t, "q", performatives.ActRequest, func(e *performatives.Envelope) { e.Receiver = "k/n3" })); err != nil {
			t.Error(err)
		}
		if p.runOf("k/n3").Since == 0 {
			t.Error("the message waits")
		}
		_ = stop(t.Context(), p.node)
	})
}

// reserved returns the reservation of an id as that of an agent that has stopped.
func reserved(t *testing.T, p *placer, id performatives.AgentID, state int) retired {
	t.Helper()
	v, err := p.node.System.Reserve(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Release(p.node.System.Send) })
	return retired{Reservation: v, state: make([]byte, state)}
}

// An agent is not offered any more once its time is over, although there is room for its offer.
// Either of the two would do; chance must not decide, as a simulation has to be the same each time.
func TestOfferAtTheEndOfItsTime(t *testing.T) {
	p, k := newPlacing(t)
	a := &activation{kind: k, run: run{Entry: directory.Entry{Agent: "k/1"}}}
	r := reserved(t, p, a.Agent, 0)
	if _, err := p.offerInTurn(a, r); err != nil {
		t.Fatalf("in time: %v", err)
	}
	p.stopOffers()
	for range 100 {
		if _, err := p.offerInTurn(a, r); !errors.Is(err, context.Canceled) {
			t.Fatalf("after the end: %v", err)
		}
	}
}

// activated activates the agent "k/a" with a message.
func activated(t *testing.T, p *placer) (*activation, actors.Self) {
	t.Helper()
	if err := p.activate("k/a", act(t, "m", performatives.ActInform, toPlaced)); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	r, _ := p.node.System.Find("k/a")
	self, _ := r.Local()
	return p.active["k/a"], self
}

// While an agent leaves, it is not taken out of memory by others, which do not wait. One that is not
// quiet stays.
func TestLeavesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		a, self := activated(t, p)
		p.passivate(a, self)
		if p.leaves("k/a") || a.busy != nil {
			t.Error("it leaves memory although it has just got a message")
		}
		if !p.leave(t.Context(), a) {
			t.Fatal("it does not leave")
		}
		p.passivate(a, self)
		p.free(a)
		_ = stop(t.Context(), p.node)
	})
}

// keeper is an agent with a state.
type keeper struct{ still }

func (keeper) Snapshot() ([]byte, error) { return []byte("state"), nil }
func (keeper) Restore([]byte) error      { return nil }

// An agent that has left memory stays as it is when it is to leave once more, with its state.
func TestPassivatedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, k := newPlacing(t)
		k.New = func(performatives.AgentID) actors.Agent { return keeper{} }
		a, self := activated(t, p)
		if err := self.Quiet(func(bool) {}); err != nil { // since then it is quiet
			t.Fatal(err)
		}
		synctest.Wait()
		for n := range 2 {
			p.passivate(a, self)
			synctest.Wait()
			if p.active["k/a"] != a || a.passive == nil || a.passive.ran || string(a.passive.state) != "state" || p.leaves("k/a") {
				t.Fatalf("after %d calls it has %+v", n+1, a.passive)
			}
		}
		_ = stop(t.Context(), p.node)
	})
}

// leavings calls a function when an agent is about to leave.
type leavings struct {
	*contests
	call func()
}

func (l leavings) AgentMoving(performatives.AgentID) { l.call() }

// The next run of an agent at another node, which was heard of while the agent was to leave memory, is
// a rival of one that stays.
func TestRivalOfAnAgentThatStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		a, self := activated(t, p) // which has just got a message
		c, n2 := beside(t, p, &sentLinks{})
		contested := &contests{}
		theirs := directory.New(n2.peer)
		theirs.Put(directory.Entry{Agent: hostEntry("k"), Hidden: true, Hosts: true, Since: 1}, nil)
		theirs.Put(directory.Entry{Agent: "k/a", Hidden: true, Placed: true, Since: a.Since + 1, First: a.First}, nil)
		p.node.Events = leavings{contested, sync.OnceFunc(func() {
			c.Merge(theirs.State())
			synctest.Wait()
			if contested.n.Load() > 0 {
				t.Error("it is a rival of one that leaves")
			}
		})}
		c.members = aloneMembership{cluster.Member{Incarnation: c.self}}
		c.begin()
		p.passivate(a, self)
		synctest.Wait()
		if contested.n.Load() == 0 {
			t.Error("it is no rival")
		}
		_ = stop(t.Context(), p.node)
	})
}

// The next run of an agent that goes just as it is heard of is no rival.
func TestNoRivalOfAnAgentThatHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		a, _ := activated(t, p)
		c, n2 := beside(t, p, &sentLinks{})
		contested := &contests{}
		p.node.Events = contested
		ours, _ := p.node.System.Find("k/a")
		if !p.leave(t.Context(), a) {
			t.Fatal("it does not leave")
		}
		r, err := p.retire(t.Context(), a, p.node.System.Retire)
		if err != nil {
			t.Fatal(err)
		}
		r.Release(func(*performatives.Message) error { return nil })
		p.remove(a)
		c.contestLocked(ours, wanted{entry: directory.Entry{Agent: "k/a", Owner: n2.peer, Placed: true, Since: a.Since + 1, First: a.First}, link: n2})
		if contested.n.Load() > 0 {
			t.Error("it is told of as a rival")
		}
		_ = stop(t.Context(), p.node)
	})
}

// A message that comes while an agent is to leave memory, in which it is not, begins its next run.
func TestPassivatedOnceMeetsAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, k := newPlacing(t)
		k.New = func(performatives.AgentID) actors.Agent { return keeper{} }
		a, self := activated(t, p)
		if err := self.Quiet(func(bool) {}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		p.passivate(a, self)
		p.node.Events = leavings{new(contests), func() {
			if err := p.node.Route(act(t, "next", performatives.ActInform, toPlaced)); err != nil {
				t.Error(err)
			}
			synctest.Wait() // it cannot begin before it has left
		}}
		p.passivate(a, self)
		synctest.Wait()
		if _, runs := p.node.System.Lookup("k/a"); !runs || a.passive != nil {
			t.Error("the message waits, and the agent has not begun")
		}
		_ = stop(t.Context(), p.node)
	})
}

// stopping is an agent that calls a function when it stops, and passes on what it receives.
type stopping struct {
	listening
	stops func()
}

func (s stopping) Stop(*actors.Context) { s.stops() }

// passivations calls a function when an agent has left memory.
type passivations struct {
	unheard
	call func()
}

func (p passivations) AgentPassivated(performatives.AgentID) { p.call() }

// Messages that come while an agent leaves memory are handled in their order, also those that come
// when its id is given back. That it has left is told before it begins again.
func TestMessagesOfAnAgentThatLeavesMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n *Mesh
		send := func(id performatives.MessageID) {
			if err := n.Route(act(t, id, performatives.ActInform, toPlaced)); err != nil {
				t.Error(err)
			}
		}
		var left atomic.Bool
		last := sync.OnceFunc(func() { send("last") })
		n = newMeshOf(t, actors.Options{OnList: func(id performatives.AgentID) {
			if _, here := n.System.Find(id); left.Load() && !here {
				last()
			}
		}})
		heard := make(chan *performatives.Message, 4)
		stops := sync.OnceFunc(func() {
			send("first")
			send("second")
			left.Store(true)
		})
		of := Kind{New: func(performatives.AgentID) actors.Agent { return stopping{listening{heard: heard}, stops} }, Idle: time.Hour, MoveTime: time.Minute}
		if err := n.Register("k", of); err != nil {
			t.Fatal(err)
		}
		a, self := activated(t, n.placer)
		if err := self.Quiet(func(bool) {}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		told := false
		n.Events = passivations{call: func() { told = n.placer.leaves("k/a") }}
		n.placer.passivate(a, self)
		synctest.Wait()
		if !left.Load() || !told {
			t.Errorf("it has left: %t, and that is told before it may begin again: %t", left.Load(), told)
		}
		last() // its id was kept
		synctest.Wait()
		var ids []performatives.MessageID
		for range len(heard) {
			ids = append(ids, (<-heard).ID())
		}
		if want := []performatives.MessageID{"m", "first", "second", "last"}; !slices.Equal(ids, want) {
			t.Errorf("it has handled %v, want %v", ids, want)
		}
		_ = stop(t.Context(), n)
	})
}

// An agent that has come out of memory begins its next run with a message, once it does not leave
// any more. It does not leave while it starts.
func TestPassiveAgentBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, k := newPlacing(t)
		begin := make(chan struct{})
		k.New = func(performatives.AgentID) actors.Agent {
			<-begin
			return keeper{}
		}
		offered := note{Step: stepOffer, Agent: "k/a", Activation: 1, First: 1, State: []byte("state")}
		if answer := p.take(cluster.Incarnation{Name: "n2", Epoch: 1}, offered); answer.Step != stepTaken {
			t.Fatalf("the answer is %+v", answer)
		}
		a, first := p.active["k/a"], p.runOf("k/a").Since
		if p.leaves("k/a") || !p.leave(t.Context(), a) {
			t.Fatal("it leaves, or cannot leave")
		}
		if err := p.node.Route(act(t, "m", performatives.ActInform, toPlaced)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if run := p.runOf("k/a"); run.Since != first {
			t.Errorf("it begins while it leaves: %+v", run)
		}
		r, err := p.retire(t.Context(), a, p.node.System.Retire)
		if err != nil {
			t.Fatal(err)
		}
		p.keep(a, r)
		synctest.Wait()
		if run := p.runOf("k/a"); run.Since <= first || p.leaves("k/a") {
			t.Errorf("it does not begin, or leaves as it begins: %+v", run)
		}
		close(begin)
		synctest.Wait()
		if !p.leave(t.Context(), a) {
			t.Fatal("it does not leave")
		}
		begin = make(chan struct{})
		if r, err = p.retire(t.Context(), a, p.node.System.Retire); err != nil {
			t.Fatal(err)
		}
		if p.again(a, r); p.leaves("k/a") {
			t.Error("it leaves as it begins again")
		}
		close(begin)
		synctest.Wait()
		_ = stop(t.Context(), p.node)
	})
}

// An agent that wakes is not begun by a call that has waited, too: two messages can cause one each,
// when the agent is to move between them, and stays.
func TestPassiveAgentBeginsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		offered := note{Step: stepOffer, Agent: "k/a", Activation: 1, First: 1, State: []byte("state")}
		p.take(cluster.Incarnation{Name: "n2", Epoch: 1}, offered)
		a, first := p.active["k/a"], p.runOf("k/a").Since
		p.mu.Lock()
		a.busy = make(chan struct{}) // by the other call, which has yet to begin the next run
		p.mu.Unlock()
		p.wake(a)
		synctest.Wait()
		if run := p.runOf("k/a"); run.Since != first {
			t.Errorf("it is begun twice: %+v", run)
		}
		_ = stop(t.Context(), p.node)
	})
}

// A node that hears the farewell of another one takes in its part of the directory, and answers
// behind all that it has sent.
func TestFarewellOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		links := &sentLinks{}
		_, n2 := beside(t, p, links)
		theirs := directory.New(n2.peer)
		theirs.Put(directory.Entry{Agent: hostEntry("k"), Hidden: true, Hosts: true, Since: 1}, nil)
		theirs.Put(directory.Entry{Agent: "a", Hidden: true, Since: 1}, nil)
		p.handleNote(n2, asMessage(t, n2, note{Step: stepLeaves, Number: 7, State: theirs.State()}))
		synctest.Wait()
		if _, known := p.node.System.Find("a"); !known || !n2.leaves.Load() {
			t.Errorf("its agent is known: %t, it leaves: %t", known, n2.leaves.Load())
		}
		h, err := performatives.PayloadAs[note](links.last())
		if err != nil || h.Step != stepHeard || h.Number != 7 || links.last().Priority() != performatives.Low {
			t.Errorf("the answer is %+v, of the priority %v: %v", h, links.last().Priority(), err)
		}
		_ = stop(t.Context(), p.node)
	})
}

// The entry of an agent that was handed over does not stand when the node that has taken it is lost.
func TestHandedToANodeThatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		c, n2 := beside(t, p, &sentLinks{})
		c.replica.Put(directory.Entry{Agent: "k/a", Hidden: true, Placed: true, Since: 1, First: 1}, nil)
		c.handOver("k/a", n2.peer)
		c.lose(n2.peer, "failed")
		synctest.Wait()
		if _, handed := (view{p.node}).HandedTo("k/a"); handed || len(c.replica.Lookup("k/a")) > 0 {
			t.Errorf("it is handed over: %t, its entries are %+v", handed, c.replica.Lookup("k/a"))
		}
		_ = stop(t.Context(), p.node)
	})
}

// An agent that leaves already is not moved once more when it stays after all.
func TestSettleLeavesAloneWhatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		beside(t, p, &sentLinks{})
		p.draining.Store(false)
		id := performatives.AgentID("k/0")
		for i := 0; p.pick(id).Link == nil; i++ {
			id = performatives.AgentID(fmt.Sprint("k/", i))
		}
		if err := p.activate(id, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		a := p.active[id]
		if !p.leave(t.Context(), a) {
			t.Fatal("it does not leave")
		}
		p.settle()
		synctest.Wait()
		p.free(a)
		synctest.Wait()
		if p.leaves(id) {
			t.Error("it is moved")
		}
		_ = stop(t.Context(), p.node)
	})
}

// An agent stays that is to run at a node whose link has just ended: it would begin anew here, as
// that node does not get the offer.
func TestNoMoveOverALinkThatHasEnded(t *testing.T) {
	for _, ended := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p, _ := newPlacing(t)
			links := &sentLinks{}
			_, n2 := beside(t, p, links)
			p.draining.Store(false)
			id := performatives.AgentID("k/0")
			for i := 0; p.pick(id).Link == nil; i++ {
				id = performatives.AgentID(fmt.Sprint("k/", i))
			}
			if err := p.activate(id, nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if ended {
				n2.beginLossLocked()
			}
			p.settle()
			synctest.Wait()
			if moves := p.leaves(id); moves == ended || p.runOf(id).Since != p.runOf(id).First {
				t.Errorf("the link has ended %t, and it moves %t: %+v", ended, moves, p.runOf(id))
			}
			_ = stop(t.Context(), p.node)
		})
	}
}

// A node does not host a kind that is registered while it drains, and says so to nobody.
func TestKindOfANodeThatDrains(t *testing.T) {
	for _, drains := range []bool{true, false} {
		p, k := newPlacing(t)
		c, _ := beside(t, p, &sentLinks{})
		p.draining.Store(drains)
		if err := p.node.Register("late", Kind{New: k.New}); err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		told := len(c.replica.Lookup(hostEntry("late"))) > 0
		c.mu.Unlock()
		if _, hosts := p.kindOf("late/a"); hosts == drains || told == drains {
			t.Errorf("it drains %t, hosts the kind %t, and has said so %t", drains, hosts, told)
		}
		p.drain()
		c.mu.Lock()
		told = len(c.replica.Lookup(hostEntry("late"))) > 0
		c.mu.Unlock()
		if told {
			t.Error("it drains, and has not said so")
		}
	}
}

// The id by which a node says that it hosts a kind is that of no agent of the kind. An agent that was
// spawned with it is not told to other nodes, in the place of that.
func TestIDOfTheHosts(t *testing.T) {
	p, k := newPlacing(t)
	c := newClustered(p.node)
	c.links, c.members, p.node.cluster = &sentLinks{}, aloneMembership{cluster.Member{Incarnation: c.self}}, c
	c.begin()
	c.hosting("k", true)
	if err := p.node.Route(act(t, "q", performatives.ActInform, func(e *performatives.Envelope) { e.Receiver = "K/" })); !errors.Is(err, performatives.CodeUnknownAgent) {
		t.Errorf("a message to it: %v", err)
	}
	self, err := p.node.System.Spawn(t.Context(), actors.Spec{ID: "K/", New: func() actors.Agent { return k.New("K/") }})
	if err != nil {
		t.Fatal(err)
	}
	p.node.AgentChanged(self.ID())
	if entries := c.replica.Lookup("k/"); len(entries) != 1 || !entries[0].Hosts {
		t.Errorf("the entries of the hosts are %+v", entries)
	}
}

// The ids of requests go along with an agent whose state leaves them at least half of a message, and
// not with one whose state is longer, which might not fit beside them.
func TestIDsYieldToTheState(t *testing.T) {
	p, _ := newPlacing(t)
	one := actors.TakenOn{Sender: "a", ID: "m", Until: time.Now().Add(time.Hour)}
	for state, want := range map[int]int{0: 1, nodelink.MaxMessage / 2: 1, nodelink.MaxMessage/2 + 1: 0} {
		r := reserved(t, p, performatives.AgentID(fmt.Sprint("k/", state)), state)
		r.TakeOn([]actors.TakenOn{one})
		if got := len(takenBy(r)); got != want {
			t.Errorf("beside %d bytes: %d, want %d", state, got, want)
		}
	}
}

// Of the time for a drain, the last part is for the stop of the node, and the one before for the offers
// of agents whose conversations have taken too long.
func TestTimeOfADrain(t *testing.T) {
	for deadline, want := range map[time.Duration][2]time.Duration{
		30 * time.Second: {27 * time.Second, 28500 * time.Millisecond},
		4 * time.Second:  {2 * time.Second, 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, _ := newPlacing(t)
			activated(t, p)
			c, _ := beside(t, p, &sentLinks{}) // which gets no answer
			c.members = aloneMembership{cluster.Member{Incarnation: c.self}}
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			began := time.Now()
			var talked time.Duration
			context.AfterFunc(p.moves, func() { talked = time.Since(began) })
			if err := p.node.HandOver(ctx); err == nil {
				t.Error("it was handed over")
			}
			offered := time.Since(began)
			synctest.Wait()
			if got := [2]time.Duration{talked, offered}; got != want {
				t.Errorf("of %v, the conversations have got %v, and the offers %v", deadline, talked, offered)
			}
			_ = stop(t.Context(), p.node)
		})
	}
}

// What becomes of an agent that has stopped, by the answers of the only other node that hosts its
// kind.
func TestOfferAround(t *testing.T) {
	answers := func(steps ...step) []note {
		var all []note
		for _, s := range steps {
			all = append(all, note{Step: s, Reason: "not now"})
		}
		return all
	}
	for name, one := range map[string]struct {
		answers []note // unanswered: the node is lost; after the last one, none comes
		hosts   bool   // this node hosts the kind, too, and the other one comes first
		offers  int
		after   time.Duration
		takes   bool   // the other node
		err     string // a part of it
	}{
		"it is taken":                    {answers(stepTaken), false, 1, 0, true, ""},
		"refused once":                   {answers(stepRefused, stepTaken), false, 2, offerAgain, true, ""},
		"refused three times":            {answers(stepRefused, stepRefused, stepRefused, stepTaken), false, 4, 7 * offerAgain, true, ""},
		"refused, and to run here":       {answers(stepRefused), true, 1, 0, false, ""},
		"no answer in time":              {nil, false, 1, time.Minute, false, "no other node hosts the kind k; context deadline exceeded"},
		"refused, and no answer in time": {answers(stepRefused), false, 2, time.Minute, false, "the node n2: not now; context deadline exceeded"},
		"the link is renewed":            {answers(unanswered, stepTaken), false, 2, offerAgain, true, ""},
		"renewed, and refused for ever":  {answers(unanswered, stepRefused), false, 3, time.Minute, false, "the node n2: not now"},
		"renewed, refused, then taken":   {answers(unanswered, stepRefused, stepTaken), false, 3, 3 * offerAgain, true, ""},
		"an answer of another version":   {answers("runs", stepTaken), false, 2, offerAgain, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, k := newPlacing(t)
				links := &sentLinks{}
				_, n2 := beside(t, p, links)
				p.mu.Lock()
				k.hosts = one.hosts
				p.draining.Store(!one.hosts)
				p.mu.Unlock()
				id := performatives.AgentID("k/a")
				for i := 0; one.hosts; i++ { // until the other node comes first
					id = performatives.AgentID(fmt.Sprint("k/", i))
					if p.pick(id).Link != nil {
						break
					}
				}
				a := &activation{kind: k, run: run{Entry: directory.Entry{Agent: id, Placed: true, Since: 7, First: 5}}}
				p.mu.Lock()
				p.active[id] = a
				p.mu.Unlock()
				left, offers := one.answers, 0
				links.offered = func(_ cluster.Incarnation, h note) {
					if offers++; h.Agent != id || h.Activation != 7 || h.First != 5 || !h.Ran || string(h.State) != "state" {
						t.Errorf("it offers %+v", h)
					}
					if len(left) > 0 {
						answer := left[0]
						answer.Agent = h.Agent
						left = left[1:]
						go p.answered(n2, answer)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				r := reserved(t, p, "k/other", 0)
				r.state, r.ran = []byte("state"), true
				to, err := p.offerAround(ctx, a, r)
				if waited := time.Since(began); offers != one.offers || waited != one.after || (to != nil) != one.takes {
					t.Errorf("after %v and %d offers, it is taken: %t", waited, offers, to != nil)
				}
				if text := fmt.Sprint(err); (err == nil) != (one.err == "") || !strings.Contains(text, one.err) && err != nil {
					t.Errorf("the error is %s, want %q", text, one.err)
				}
				r.Release(func(*performatives.Message) error { return nil })
				_ = stop(t.Context(), p.node)
			})
		})
	}
}

// An agent of a node that drains goes to another host of its kind when the nodes that come first refuse
// it, for good or for now. When all have refused it, they are asked again.
func TestOfferToTheNextHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, k := newPlacing(t)
		links := &sentLinks{}
		c, _ := beside(t, p, links)
		for _, name := range []string{"n3", "n4"} {
			peer := cluster.Incarnation{Name: name, Epoch: 1}
			c.addLocked(peer)
			theirs := directory.New(peer)
			theirs.Put(directory.Entry{Agent: hostEntry("k"), Hidden: true, Hosts: true, Since: 1}, nil)
			c.replica.Joined(peer)
			c.Merge(theirs.State())
		}
		var asked []string
		links.offered = func(peer cluster.Incarnation, h note) {
			answer := note{Step: stepRefused, Agent: h.Agent, Reason: "an agent of that id is here"}
			if asked = append(asked, peer.Name); len(asked) == 6 {
				answer.Step = stepTaken
			}
			go p.answered(c.peers[peer], answer)
		}
		a := &activation{kind: k, run: run{Entry: directory.Entry{Agent: "k/a", Placed: true, Since: 7, First: 5}}}
		to, err := p.offerAround(t.Context(), a, reserved(t, p, "k/other", 0))
		if err != nil || to == nil || to.peer.Name != asked[5] {
			t.Errorf("it is taken: %t, %v", to != nil, err)
		}
		first := slices.Sorted(slices.Values(asked[:3]))
		if !slices.Equal(first, []string{"n2", "n3", "n4"}) || !slices.Equal(asked[3:], asked[:3]) {
			t.Errorf("it has asked %q", asked)
		}
		_ = stop(t.Context(), p.node)
	})
}

// What a node answers to an offer, and the run that it begins.
func TestTake(t *testing.T) {
	from := cluster.Incarnation{Name: "n2", Epoch: 1}
	const earlier = 1 << 40 // a number before that of each run that begins now
	runs := func(number, first uint64) func(*testing.T, *placer, *kind) {
		return func(t *testing.T, p *placer, k *kind) {
			reserved(t, p, "k/a", 0)
			p.active["k/a"] = &activation{kind: k, run: run{Entry: directory.Entry{Agent: "k/a", Placed: true, Since: number, First: first}}}
		}
	}
	for name, one := range map[string]struct {
		before  func(*testing.T, *placer, *kind)
		offer   note
		want    note
		begins  bool
		first   uint64 // of the run; zero: its own number
		passive bool
	}{
		"it is free":                {nil, note{Activation: earlier, First: 3, Ran: true}, note{Step: stepTaken}, true, 3, false},
		"it was not in memory":      {nil, note{Activation: earlier, First: 3, State: []byte("state")}, note{Step: stepTaken}, true, 3, true},
		"it runs here, and yields":  {runs(7, 6), note{Activation: earlier, First: 3}, note{Step: stepRefused}, false, 6, false},
		"it has run here before":    {runs(7, 2), note{Activation: earlier, First: 3}, note{Step: stepTaken}, false, 2, false},
		"an earlier run of it does": {runs(7, 3), note{Activation: 8, First: 3}, note{Step: stepRefused}, false, 3, false},
		"it was taken before":       {runs(8, 3), note{Activation: 7, First: 3}, note{Step: stepTaken}, false, 3, false},
		"the node drains":           {func(_ *testing.T, p *placer, _ *kind) { p.draining.Store(true) }, note{}, note{Step: stepRefused, Reason: "it does not host the kind"}, false, 0, false},
		"it does not host the kind": {func(_ *testing.T, _ *placer, k *kind) { k.hosts = false }, note{}, note{Step: stepRefused, Reason: "it does not host the kind"}, false, 0, false},
		"it does not know the kind": {func(_ *testing.T, p *placer, _ *kind) { clear(p.kinds) }, note{}, note{Step: stepRefused, Reason: "it does not host the kind"}, false, 0, false},
		"the id is in use":          {func(t *testing.T, p *placer, _ *kind) { reserved(t, p, "K/A", 0) }, note{Activation: earlier}, note{Step: stepRefused}, false, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, k := newPlacing(t)
			if one.before != nil {
				one.before(t, p, k)
			}
			one.offer.Number, one.offer.Agent = 9, "k/a"
			one.offer.Taken = []taken{{"x", "m", time.Hour.Milliseconds()}}
			got := p.take(from, one.offer)
			if one.want.Reason == "" && one.want.Step == stepRefused {
				one.want.Reason = fmt.Sprint(actors.ErrExists)
				got.Reason = got.Reason[max(0, len(got.Reason)-len(one.want.Reason)):]
			}
			if one.want.Number, one.want.Agent = 9, "k/a"; !reflect.DeepEqual(got, one.want) {
				t.Errorf("the answer is %+v, want %+v", got, one.want)
			}
			run := p.runOf("K/A")
			if begins := run.Since > earlier; begins != one.begins || run.First != stdcmp.Or(one.first, run.Since) {
				t.Errorf("the run is %+v", run)
			}
			if b := run.before; one.begins && (b.Owner != from || b.Since != one.offer.Activation) {
				t.Errorf("it has followed %+v", run.before)
			}
			if a := p.active["k/a"]; one.begins {
				if !p.leave(t.Context(), a) { // which waits until it has started
					t.Error("it cannot leave")
				}
				if (a.passive != nil) != one.passive || one.passive && string(a.passive.state) != "state" {
					t.Errorf("it is passive: %t", a.passive != nil)
				}
			} else {
				p.mu.Lock()
				clear(p.active)
				p.mu.Unlock()
			}
		})
	}
}

// An agent without a state that is quiet leaves memory, and nothing of it is left. A message runs it
// again. A singleton stays.
func TestQuietAgentIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, k := newPlacing(t)
		request := act(t, "q", performatives.ActInform, toPlaced)
		if err := p.node.Register("boss", Kind{New: k.New, Singleton: true, Idle: time.Hour}); err != nil {
			t.Fatal(err)
		}
		last := uint64(0)
		for range 2 {
			if err := p.node.Route(request); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2*k.Idle - 1) // in the first half of it, the message has come
			synctest.Wait()
			if run := p.runOf("k/a"); run.Since <= last {
				t.Errorf("the run is %+v, that before was %d", run, last)
			} else {
				last = run.Since
			}
			time.Sleep(2 * time.Nanosecond)
			synctest.Wait()
			p.mu.Lock()
			active := len(p.active)
			p.mu.Unlock()
			if _, here := p.node.System.Find("k/a"); here || active != 1 || p.runOf("boss").Since == 0 {
				t.Errorf("it is here: %t, %d are active", here, active)
			}
		}
		_ = stop(t.Context(), p.node)
	})
}

// worker takes on any task, and ends none before it has to.
type worker struct{ still }

func (worker) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (worker) PerformTask(ctx context.Context, _ delegation.Task) (r performatives.InformResult, err error) {
	<-ctx.Done()
	return r, context.Cause(ctx)
}

// The conversations of an agent that moves may go on for as long as its kind says, or the drain leaves
// them, however long the agent was to wait before it could leave.
func TestTimeOfAMove(t *testing.T) {
	for drains, want := range map[bool]time.Duration{false: time.Minute, true: 10*time.Minute - 3*time.Second} {
		synctest.Test(t, func(t *testing.T) {
			n := newMeshOf(t, actors.Options{Protocols: library.Protocols(codons.Times{})})
			p, links := n.placer, &sentLinks{}
			of := Kind{New: func(performatives.AgentID) actors.Agent { return worker{} }, Idle: time.Hour, MoveTime: time.Minute}
			if err := n.Register("k", of); err != nil {
				t.Fatal(err)
			}
			beside(t, p, links)
			p.draining.Store(false)
			id := performatives.AgentID("k/0")
			for i := 0; p.pick(id).Link == nil; i++ {
				id = performatives.AgentID(fmt.Sprint("k/", i))
			}
			task := act(t, "q", performatives.ActTaskRequest, func(e *performatives.Envelope) {
				e.Receiver, e.Protocol, e.ReplyBy = id, "task-delegation", time.Now().Add(time.Hour)
				e.Timestamp, e.Payload = time.Now(), performatives.TaskRequest{TaskType: "long"}
			})
			if err := p.activate(id, task); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			a := p.active[id]
			p.mu.Lock()
			a.busy = make(chan struct{}) // as if it had yet to start
			p.mu.Unlock()
			offered := make(chan time.Time, 1)
			links.offered = func(cluster.Incarnation, note) { offered <- time.Now() }
			if drains {
				ctx, cancel := context.WithTimeout(t.Context(), 12*time.Minute)
				defer cancel()
				go func() { _ = n.HandOver(ctx) }()
			} else {
				p.settle()
			}
			time.Sleep(2 * time.Minute)
			began := time.Now()
			p.free(a)
			if after := (<-offered).Sub(began); after != want {
				t.Errorf("the node drains: %t: its conversation has ended after %v", drains, after)
			}
			_ = stop(t.Context(), n)
		})
	}
}
