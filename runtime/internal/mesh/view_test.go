package mesh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
	"github.com/ribosome-agents/ribosome/runtime/internal/route"
	"github.com/ribosome-agents/ribosome/runtime/internal/sessions"
)

// beside returns the cluster of a placer's node, which hosts nothing itself, beside a node that
// hosts the kind "k", with the link to that.
func beside(t *testing.T, p *placer, links *sentLinks) (*clustered, *nodeLink) {
	t.Helper()
	c, peer := newClustered(p.node), cluster.Incarnation{Name: "n2", Epoch: 1}
	c.links = links
	c.addLocked(peer)
	theirs := directory.New(peer)
	theirs.Put(directory.Entry{Agent: hostEntry("k"), Hidden: true, Hosts: true, Since: 1}, nil)
	c.replica.Joined(peer)
	if _, err := c.replica.Merge(theirs.State()); err != nil {
		t.Fatal(err)
	}
	p.node.cluster = c

	p.draining.Store(true)
	return c, c.peers[peer]
}

// What decisions are made from is what the mesh knows.
func TestView(t *testing.T) {
	p, _ := newPlacing(t)
	c, n2 := beside(t, p, &sentLinks{wait: time.Minute})
	v := view{p.node}
	if h := v.Host("k/a", nil); h != (route.Host{Placed: true, Link: n2}) {
		t.Errorf("the host is %+v, want n2", h)
	}
	if h := v.Host("k/a", n2); h != (route.Host{Placed: true}) {
		t.Errorf("the host besides n2 is %+v", h)
	}
	if h := v.Host("other/a", nil); h != (route.Host{}) {
		t.Errorf("of no kind: %+v", h)
	}
	p.draining.Store(false)
	if h := v.Host("k/a", n2); h != (route.Host{Placed: true, Here: true, May: true}) {
		t.Errorf("the host besides n2, when this node does not drain, is %+v", h)
	}
	p.draining.Store(true)
	if e := v.Entry("k/a"); e != (route.Entry{}) {
		t.Errorf("before it is in the directory: %+v", e)
	}
	r, err := p.node.System.Register("k/a", &nodeAgent{Entry: directory.Entry{Agent: "k/a", Placed: true}, link: n2})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Remove()
	if e := v.Entry("K/A"); e != (route.Entry{Agent: r, Home: n2, Link: n2, Placed: true}) || r.Destination().Wait() != time.Minute {
		t.Errorf("in the directory: %+v", e)
	}
	c.addLocked(cluster.Incarnation{Name: "n3", Epoch: 1})
	n3 := c.peers[cluster.Incarnation{Name: "n3", Epoch: 1}]
	c.heard.note("k/a", heardOver{n3, true})
	if e := v.Entry("k/a"); e.Home != n2 || e.Link != n3 || v.Heard("K/A") != n3 || v.Heard("k/b") != nil {
		t.Errorf("heard over the link to n3: %+v", e)
	}
	if to, handed := v.HandedTo("k/a"); to != nil || handed {
		t.Errorf("it is handed to %v", to)
	}
	c.handed = map[performatives.AgentID]*cluster.Incarnation{"k/a": &n2.peer}
	if to, handed := v.HandedTo("K/A"); to != n2 || !handed {
		t.Errorf("it is handed to %v: %t", to, handed)
	}
	ours, err := p.node.System.Register("ui", &sessions.Agent{})
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Remove()
	if e := v.Entry("ui"); !e.Here() || e.Agent != ours {
		t.Errorf("an agent of a session: %+v", e)
	}
	for a, hears := range map[performatives.Performative]bool{performatives.ActInform: true, performatives.ActRequest: false} {
		if got := listens(ours, act(t, "b", a, func(*performatives.Envelope) {})); got != hears {
			t.Errorf("a hidden agent of a session gets a broadcast of %s: %t", a, got)
		}
	}
}

// Why an agent that was lost with its node cannot be reached is told until the node is met again, or
// the agent is known again.
func TestUnreachable(t *testing.T) {
	p, _ := newPlacing(t)
	c, n2 := beside(t, p, &sentLinks{})
	v := view{p.node}
	n9 := cluster.Incarnation{Name: "n9", Epoch: 1}
	c.addLocked(n9)
	for _, id := range []performatives.AgentID{"k/a", "k/b"} {
		c.leadLocked(nil, wanted{entry: directory.Entry{Agent: id, Owner: n2.peer, Placed: true}, link: n2})
	}
	c.heard.note("k/c", heardOver{c.peers[n9], true})
	c.leadLocked(nil, wanted{entry: directory.Entry{Agent: "x", Owner: n9}, link: c.peers[n9]})
	linkHandler{c}.Lost(n2.peer)
	c.lose(n9, "failed")
	n2 = c.peers[n2.peer]
	for _, step := range []struct {
		name       string
		after      func()
		a, b, ofN9 bool
	}{
		{"all", func() {}, true, true, true},
		{"one is known again", func() { c.heard.forget("K/A") }, false, true, true},
		{"n2 is met again", func() { n2.met.Store(true) }, false, false, true},
	} {
		step.after()
		for id, want := range map[performatives.AgentID]bool{"K/A": step.a, "k/b": step.b, "k/c": step.ofN9, "other": false} {
			if text := v.Unreachable(id); (text != "") != want {
				t.Errorf("%s: %s: %q", step.name, id, text)
			}
		}
	}
	if text, want := v.Unreachable("k/c"), "the node n9 of the agent cannot be reached"; text != want {
		t.Errorf("it is %q, want %q", text, want)
	}
	m := act(t, "q", performatives.ActRequest, func(e *performatives.Envelope) { e.Receiver = "x" })
	if err := p.node.Route(m); !errors.Is(err, performatives.CodeStopped) {
		t.Errorf("a message to it: %v", err)
	}
}

// What was heard of agents, over which links, until a link ends or the directory knows better.
func TestHeard(t *testing.T) {
	p, _ := newPlacing(t)
	c := newClustered(p.node)
	p.node.cluster = c
	h := &c.heard
	links := make([]*nodeLink, 3)
	for i, name := range []string{"n2", "n3", "n4"} {
		peer := cluster.Incarnation{Name: name, Epoch: 1}
		c.addLocked(peer)
		links[i] = c.peers[peer]
	}
	n2, n3, n4 := links[0], links[1], links[2]
	ends := func(l *nodeLink, heard bool, want ...performatives.AgentID) {
		t.Helper()
		if got := h.end(heardOver{l, heard}); !slices.Equal(got, want) {
			t.Errorf("lost with %s are %q, want %q", l.peer.Name, got, want)
		}
	}
	for _, step := range []struct {
		does        string
		do          func()
		from, lives *nodeLink // of the agent a
		known       int
	}{
		{"nothing", func() { h.forget("a") }, nil, nil, 0},
		{"it is heard", func() { h.note("A", heardOver{n2, true}) }, n2, n2, 1},
		{"it is heard again", func() { h.note("a", heardOver{n2, true}) }, n2, n2, 1},
		{"it is sent to by n3", func() { h.note("a", heardOver{n3, false}); h.unsent("A") }, n2, n2, 1},
		{"it is heard at n3", func() { h.note("a", heardOver{n3, true}) }, n3, n3, 1},
		{"another is heard", func() { h.note("B", heardOver{n2, true}) }, n3, n3, 2},
		{"n3 ends", func() { n3.Close() }, nil, nil, 2},
		{"n3 is lost", func() { ends(n3, true, "a") }, nil, nil, 1},
		{"it is heard at n2", func() { h.note("A", heardOver{n2, true}) }, n2, n2, 2},
		{"n2 ends", func() { n2.Close() }, nil, nil, 2},
		{"n2 is lost", func() { ends(n2, true, "a", "b") }, nil, nil, 0},
		{"it is sent to", func() { h.note("A", heardOver{n2, false}) }, nil, nil, 1},
		{"n3 has ended", func() { ends(n3, false) }, nil, nil, 1},
		{"n2 has ended", func() { ends(n2, false, "a"); ends(n2, false) }, nil, nil, 0},
		{"it is sent to over n3 then", func() {
			h.note("a", heardOver{n2, false})
			h.note("a", heardOver{n3, false})
			ends(n2, false)
		}, nil, nil, 1},
		{"the message comes back", func() { h.unsent("A") }, nil, nil, 0},
		{"it answers", func() {
			h.note("a", heardOver{n2, false})
			h.note("a", heardOver{n4, true})
			ends(n2, false)
		}, n4, n4, 1},
		{"it is sent to by n2 after that", func() { h.note("a", heardOver{n2, false}); ends(n2, false) }, n4, n4, 1},
		{"and n4 has ended", func() { n4.Close(); h.note("a", heardOver{n2, false}); ends(n2, false, "a") }, nil, nil, 0},
		{"the directory has it", func() { h.note("a", heardOver{n2, false}); h.forget("A"); ends(n2, false) }, nil, nil, 0},
	} {
		step.do()
		var home *relay.Link
		if step.lives != nil {
			home = step.lives.Link
		}
		if from, lives := h.from("A"), p.node.LinkOf("A"); from != step.from || lives != home {
			t.Errorf("%s: heard over %p, lives at %p, want %p, %p", step.does, from, lives, step.from, home)
		}
		if known := len(h.by); known != step.known || h.n.Load() != int64(known) {
			t.Errorf("%s: %d are known, counted %d, want %d", step.does, known, h.n.Load(), step.known)
		}
	}
}

// The sender of a request is noted as one of the node that has sent it, or has passed it on.
func TestSenderIsHeard(t *testing.T) {
	p, _ := newPlacing(t)
	c, n2 := beside(t, p, &sentLinks{})
	m := act(t, "q", performatives.ActRequest, toPlaced)
	for _, m := range []*performatives.Message{m, m.Forward()} {
		c.heard.forget(m.Sender())
		n2.receive(m, time.Hour) // longer than any message waits
		if over := c.heard.overOf(m.Sender()); over != (heardOver{n2, true}) {
			t.Errorf("passed on %d times, the sender is known as %+v", m.Forwards(), over)
		}
	}
}

// A message of another node for an agent beyond an uplink, which is gone by now, is refused, and
// counted.
func TestMessageBeyondAnUplinkThatHasGone(t *testing.T) {
	p, _ := newPlacing(t)
	_, n2 := beside(t, p, &sentLinks{})
	p.node.decide = func(_ route.View, _ route.Entry, m *performatives.Message, from route.Link, _ time.Duration) route.Decision {
		if from == nil {
			return route.Decision{Why: m.Refused(performatives.CodeUnknownAgent, "the uplink has gone")}
		}
		return route.Decision{Do: route.Beyond}
	}
	m := act(t, "q", performatives.ActRequest, func(e *performatives.Envelope) { e.Receiver = "far" })
	for _, m := range []*performatives.Message{m, m.Forward()} {
		before := p.node.System.Counts().Refused
		n2.receive(m, 0)
		if refused := p.node.System.Counts().Refused - before; refused != 1 {
			t.Errorf("passed on %d times, it is refused %d times", m.Forwards(), refused)
		}
	}
}

// A change has the placement settled once, and not when the node drains.
func TestChangeSettlesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, one := range map[string]struct {
			before func(*placer)
			want   bool
		}{
			"with a kind":  {func(*placer) {}, true},
			"as it drains": {func(p *placer) { p.draining.Store(true) }, false},
		} {
			p, _ := newPlacing(t)
			time.Sleep(settleTime + 1)
			synctest.Wait() // that of the kind
			p.mu.Lock()
			one.before(p)
			p.mu.Unlock()
			p.changed()
			p.changed()
			if p.settles.runs.Load() != one.want {
				t.Errorf("%s: it is to be settled: %t", name, !one.want)
			}
			time.Sleep(settleTime + 1)
			synctest.Wait()
			if p.settles.runs.Load() {
				t.Errorf("%s: it has not been settled", name)
			}
			_ = stop(t.Context(), p.node)
		}
	})
}

func toPlaced(e *performatives.Envelope) { e.Receiver = "k/a" }

// A conversation with an agent that was to be activated at a node is lost with that node, though
// nothing was heard of the agent.
func TestFirstMessageIsRemembered(t *testing.T) {
	p, _ := newPlacing(t)
	c, n2 := beside(t, p, &sentLinks{})
	if err := p.node.Route(act(t, "q", performatives.ActRequest, toPlaced)); err != nil {
		t.Fatal(err)
	}
	if lost := c.heard.end(heardOver{n2, false}); !slices.Equal(lost, []performatives.AgentID{"k/a"}) {
		t.Errorf("lost with n2 are %q", lost)
	}
}

// An asker of such an agent is told of the loss, unless the node has left, which has handed over
// what it had.
func TestAskerOfAnAgentThatWasNotHeard(t *testing.T) {
	for reason, want := range map[string]bool{"failed": true, nodeLeft: false} {
		synctest.Test(t, func(t *testing.T) {
			p, _ := newPlacing(t)
			c, n2 := beside(t, p, &sentLinks{})
			self, err := p.node.System.Spawn(t.Context(), actors.Spec{ID: "asker", New: func() actors.Agent { return still{} }})
			if err != nil {
				t.Fatal(err)
			}
			m := act(t, "q", performatives.ActRequest, func(e *performatives.Envelope) {
				e.Sender, e.Receiver, e.ReplyBy = "asker", "k/a", time.Now().Add(time.Hour)
			})
			told := false
			go func() {
				_, _ = self.Ask(t.Context(), m)
				told = true
			}()
			synctest.Wait()
			c.lose(n2.peer, reason)
			if synctest.Wait(); told != want {
				t.Errorf("the node has %s: the asker is told: %t", reason, told)
			}
			_ = stop(t.Context(), p.node)
		})
	}
}

// A request that another node has passed on has its record with the link to its sender.
func TestRecordOfARequestThatWasPassedOn(t *testing.T) {
	p, _ := newPlacing(t)
	c, n2 := beside(t, p, &sentLinks{})
	n3 := cluster.Incarnation{Name: "n3", Epoch: 1}
	c.addLocked(n3)
	c.leadLocked(nil, wanted{entry: directory.Entry{Agent: "asker", Owner: n3}, link: c.peers[n3]})
	if _, err := p.node.System.Spawn(t.Context(), actors.Spec{ID: "worker", New: func() actors.Agent { return still{} }}); err != nil {
		t.Fatal(err)
	}
	m := act(t, "q", performatives.ActRequest, func(e *performatives.Envelope) { e.Sender, e.Receiver = "asker", "worker" })
	n2.receive(m.Forward(), 0)
	p.node.handover.Lock()
	defer p.node.handover.Unlock()
	if c.endLocked(n2, false); p.node.Relay.Open() != 1 {
		t.Errorf("%d records are open after the loss of the node that has passed the request on", p.node.Relay.Open())
	}
	if c.endLocked(c.peers[n3], false); p.node.Relay.Open() != 0 {
		t.Errorf("%d records are open after the loss of the sender's node", p.node.Relay.Open())
	}
}

// A message that comes back is not passed on for ever, and an answer not at all.
func TestRerouteHasAnEnd(t *testing.T) {
	p, _ := newPlacing(t)
	c, n2 := beside(t, p, &sentLinks{})
	giveUp := func(err error) { t.Errorf("given up: %v", err) }
	m := act(t, "q", performatives.ActRequest, toPlaced)
	c.heard.note(m.Receiver(), heardOver{n2, false})
	if !p.reroute(m, giveUp) {
		t.Error("it is not passed on once")
	}
	if over := c.heard.overOf(m.Receiver()); over.link != nil {
		t.Error("it is taken for one that has left by the link")
	}
	for range maxReroutes {
		m = m.Forward()
	}
	if p.reroute(m, giveUp) {
		t.Error("it is passed on once too often")
	}
	answer := act(t, "a", performatives.ActInform, func(e *performatives.Envelope) { e.Receiver, e.InReplyTo = "k/a", "q" })
	if p.reroute(answer, giveUp) {
		t.Error("an answer is passed on")
	}
}

// A message whose decision is out of date each time is refused, and counted.
func TestDecisionThatIsAlwaysOutOfDate(t *testing.T) {
	p, _ := newPlacing(t)
	_, n2 := beside(t, p, &sentLinks{gone: true})
	n2.beginLossLocked()
	decided := 0
	p.node.decide = func(route.View, route.Entry, *performatives.Message, route.Link, time.Duration) route.Decision {
		decided++
		return route.Decision{Do: route.Pass, Link: n2}
	}
	before := p.node.System.Counts().Refused
	n2.receive(act(t, "q", performatives.ActRequest, toPlaced), 0)
	if refused := p.node.System.Counts().Refused - before; decided != maxDecisions || refused != 1 {
		t.Errorf("decided %d times, refused %d times", decided, refused)
	}
	if err := p.node.Route(act(t, "r", performatives.ActRequest, toPlaced)); err == nil || decided != 2*maxDecisions {
		t.Errorf("a message of this node: %v, decided %d times", err, decided)
	}
}

// A message waits for twice as long each time, up to a limit, as long as the node runs and few
// others wait.
func TestMessagesThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		var mu sync.Mutex
		var waits []time.Duration
		wait := route.Decision{Do: route.Wait, Limit: 640 * time.Millisecond, Why: performatives.Refused(performatives.CodeBusy, "it moves")}
		p.node.decide = func(_ route.View, _ route.Entry, _ *performatives.Message, _ route.Link, waited time.Duration) route.Decision {
			mu.Lock()
			defer mu.Unlock()
			waits = append(waits, waited)
			return wait
		}
		m, began, letters := act(t, "i", performatives.ActInform, toPlaced), time.Now(), p.node.System.Counts().DeadLetters
		if err := p.node.Route(m); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := fmt.Sprint(waits); got != "[0s 10ms 20ms 40ms 80ms 160ms 320ms 640ms]" {
			t.Errorf("the waits are %s", got)
		}
		if n := p.node.System.Counts().DeadLetters - letters; n != 1 {
			t.Errorf("%d dead letters at the end of the waits", n)
		}
		waits, wait.Limit = nil, firstWait
		for range maxWaiting {
			if err := p.node.Route(m); err != nil {
				t.Fatal("there is no room")
			}
		}
		if err := p.node.Route(m); !errors.Is(err, performatives.CodeBusy) {
			t.Errorf("there is room for more than maxWaiting: %v", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if p.end(); !errors.Is(p.node.Route(m), performatives.CodeBusy) {
			t.Error("it waits after the end of the node")
		}
		if len(waits) != 2*maxWaiting+2 || time.Since(began) != 2*time.Minute {
			t.Errorf("%d decisions in %v", len(waits), time.Since(began))
		}
	})
}

// nowhere is the destination of an agent that gets nothing.
type nowhere struct{}

func (nowhere) Deliver(*performatives.Message) error { return nil }
func (nowhere) Load() *actors.Load                   { return nil }
func (nowhere) Wait() time.Duration                  { return 0 }

// A decision that is made again is about what the directory has by then.
func TestNextDecisionSeesTheDirectory(t *testing.T) {
	p, _ := newPlacing(t)
	_, n2 := beside(t, p, &sentLinks{gone: true})
	n2.beginLossLocked()
	m := act(t, "q", performatives.ActRequest, toPlaced)
	var found []bool
	p.node.decide = func(_ route.View, to route.Entry, _ *performatives.Message, _ route.Link, _ time.Duration) route.Decision {
		if found = append(found, to.Agent != nil); len(found) == 1 {
			if _, err := p.node.System.Register(m.Receiver(), nowhere{}); err != nil {
				t.Error(err)
			}
		}
		return route.Decision{Do: route.Pass, Link: n2}
	}
	if err := p.node.Route(m); err == nil || !slices.Equal(found, []bool{false, true, true, true}) {
		t.Errorf("%v, found %v", err, found)
	}
}

// A node remembers so many agents and no more, the latest among them.
func TestHeardIsBounded(t *testing.T) {
	h, l := heard{by: make(map[performatives.AgentID]heardOver)}, &nodeLink{}
	last := performatives.AgentID("")
	for i := range maxHeard + 2 {
		last = performatives.AgentID(fmt.Sprint(i))
		h.note(last, heardOver{l, false})
		h.note(last, heardOver{l, true})
	}
	if len(h.by) != maxHeard || h.n.Load() != maxHeard || !h.overOf(last).heard {
		t.Errorf("it remembers %d agents, the latest: %t", len(h.by), h.overOf(last).heard)
	}
}

// The end of a request is told over the link by which the other agent was heard or its first
// message was sent, though the directory does not have it.
func TestEndIsToldToAnAgentHeardOverALink(t *testing.T) {
	ask := func(from, to performatives.AgentID) *performatives.Message {
		return act(t, "q", performatives.ActRequest, func(e *performatives.Envelope) { e.Sender, e.Receiver = from, to })
	}
	abandon := func(ctx context.Context, self actors.Self, worker performatives.AgentID) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, _ = self.Ask(ctx, ask("ours", worker))
	}
	canceled := func(m *performatives.Message) bool { return m.Performative() == performatives.ActCancel }
	for name, one := range map[string]struct {
		ends func(context.Context, actors.Self, *nodeLink)
		told func(*performatives.Message) bool
	}{
		"the worker":                     {func(ctx context.Context, self actors.Self, _ *nodeLink) { abandon(ctx, self, "theirs") }, canceled},
		"a worker that was only sent to": {func(ctx context.Context, self actors.Self, _ *nodeLink) { abandon(ctx, self, "k/a") }, canceled},
		"the asker": {func(ctx context.Context, _ actors.Self, n2 *nodeLink) {
			n2.receive(ask("theirs", "ours"), 0)
			_ = n2.node.System.StopAgent(ctx, "ours")
		}, func(m *performatives.Message) bool { return m.AsRefusal() != nil }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _ := newPlacing(t)
				links := &sentLinks{}
				c, n2 := beside(t, p, links)
				c.heard.note("theirs", heardOver{n2, true})
				self, err := p.node.System.Spawn(t.Context(), actors.Spec{ID: "ours", New: func() actors.Agent { return still{} }})
				if err != nil {
					t.Fatal(err)
				}
				one.ends(t.Context(), self, n2)
				synctest.Wait()
				if m := links.last(); m == nil || m.InReplyTo() != "q" || !one.told(m) {
					t.Errorf("sent last: %v", m)
				}
				_ = stop(t.Context(), p.node)
			})
		})
	}
}
