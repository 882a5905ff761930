package runtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
)

// mixedClient is a program that asks many questions over connections of one transport and dialect.
// It cancels some, and aborts some of its connections.
type mixedClient struct {
	t      *testing.T
	name   string
	way    transport
	addr   string
	speaks wire.Dialect
	silent bool // a request that was cancelled is not answered in its dialect (Model Context Protocol, Cancellation)
	dice   *rand.Rand

	session *wire.Session
	conn    wire.Conn
	number  int

	mu    sync.Mutex
	open  map[string]*mixedRequest // by conversation
	ended chan struct{}            // a conversation has ended; it holds one
	tally mixedTally
}

// mixedRequest is a request of a connection that was not aborted.
type mixedRequest struct {
	id      string
	ends    int // its ends that were received
	cancels bool
}

type mixedTally struct{ asked, cancelled, silenced, aborted, answered int }

func (c *mixedClient) Opened(*wire.Session)        {}
func (c *mixedClient) Closed(*wire.Session, error) {}

// Undelivered takes what an aborted connection has not written.
func (c *mixedClient) Undelivered(_ *wire.Session, m *p.Message, why *p.Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r := c.open[string(m.ConversationID())]; {
	case r == nil:
	case r.cancels && string(m.ID()) == r.id && why.Code == p.CodeCanceled: // its CANCEL, which is more urgent, was written before it
		c.endLocked(r)
	default:
		c.t.Errorf("%s: %s was not written: %v", c.name, m.ID(), why)
	}
}

// endLocked counts an end of a request.
func (c *mixedClient) endLocked(r *mixedRequest) {
	if r.ends++; r.ends > 1 {
		return
	}
	if !c.silent || !r.cancels {
		c.tally.answered++
	}
	select {
	case c.ended <- struct{}{}:
	default:
	}
}

// Receive counts the end of a conversation.
func (c *mixedClient) Receive(_ *wire.Session, m *p.Message) error {
	if act := m.Performative(); act == p.ActTaskAccept || act == p.ActStatusUpdate {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.open[string(m.ConversationID())]
	if r == nil { // of a connection that was aborted
		return nil
	}
	if r.ends > 0 && (!r.cancels || r.ends > 1) { // the end that a CANCEL has crossed comes again as the answer to that
		c.t.Errorf("%s: %s was answered again by %s %+v", c.name, r.id, m.Performative(), m.Payload())
	}
	c.endLocked(r)
	return nil
}

func (c *mixedClient) connect(ctx context.Context) {
	conn, err := c.way.dial(ctx, c.addr)
	if err == nil {
		c.session, err = wire.Connect(conn, wire.Options{Handler: c, Dialects: []wire.Dialect{c.speaks}})
	}
	if err != nil {
		c.t.Errorf("%s: %v", c.name, err)
		return
	}
	c.conn = conn
	c.number++
}

// run asks n questions, at most eight at a time.
func (c *mixedClient) run(ctx context.Context, n int) {
	c.connect(ctx)
	for range n {
		if c.t.Failed() || !c.await(ctx, 8) {
			return
		}
		c.ask()
		if c.dice.IntN(100) == 0 {
			c.abort(ctx)
		}
	}
	c.await(ctx, 1)
	if err := c.session.Stop(ctx); err != nil {
		c.t.Errorf("%s: %v", c.name, err)
	}
}

// ask sends a task: one in four is never done, and is cancelled.
func (c *mixedClient) ask() {
	c.tally.asked++
	id, r := fmt.Sprintf("%s-%d", c.name, c.tally.asked), &mixedRequest{}
	r.id, r.cancels = id, c.dice.IntN(4) == 0
	what := "quick"
	if r.cancels {
		what = "endless"
		c.tally.cancelled++
	}
	if r.cancels && c.silent {
		c.tally.silenced++
	}
	request := message(c.t, p.AgentID(fmt.Sprintf("%s/%d", c.name, c.number)), "Jules", p.ActTaskRequest, with(task(what)), func(e *p.Envelope) {
		e.ID, e.ConversationID, e.Protocol = p.MessageID(id), p.ConversationID(id), delegation.Codon.Name()
	})
	c.mu.Lock()
	c.open[id] = r
	c.mu.Unlock()
	c.send(request)
	if r.cancels {
		cancel, err := request.Follow(p.Stamp{ID: p.MessageID(id + "c"), Time: request.Timestamp()}, p.Cancel{})
		if err != nil {
			c.t.Error(err)
			return
		}
		c.send(cancel)
	}
}

func (c *mixedClient) send(m *p.Message) {
	if err := c.session.Send(m); err != nil {
		c.t.Errorf("%s: %v", c.name, err)
	}
}

// abort closes the connection in the midst of what it does, and opens another under another name.
func (c *mixedClient) abort(ctx context.Context) {
	c.mu.Lock()
	for id, r := range c.open {
		if c.awaits(r) {
			c.tally.aborted++
		}
		delete(c.open, id)
	}
	c.mu.Unlock()
	_ = c.conn.Close()
	<-c.session.Done()
	c.connect(ctx)
}

// awaits reports whether a request is still to be answered.
func (c *mixedClient) awaits(r *mixedRequest) bool { return r.ends == 0 && !(c.silent && r.cancels) }

// await waits until fewer than n requests have no answer.
func (c *mixedClient) await(ctx context.Context, n int) bool {
	for {
		c.mu.Lock()
		waiting := 0
		for _, r := range c.open {
			if c.awaits(r) {
				waiting++
			}
		}
		c.mu.Unlock()
		if waiting < n {
			return true
		}
		select {
		case <-c.ended:
		case <-ctx.Done():
			c.t.Errorf("%s: %d requests have no answer", c.name, waiting)
			return false
		}
	}
}

// TestMixedClients has clients of each transport and dialect ask one agent at once. Each request is
// answered once, but for those whose connection was aborted. In the long form they are 200 clients,
// for some minutes.
func TestMixedClients(t *testing.T) {
	clients, each, most := 20, 100, 2*patience.Time
	switch {
	case exhaustive.Enabled():
		clients, each, most = 200, 6500, 10*patience.Time
	case racetest.Enabled:
		each = 30
	}
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	rpc := gateway.New(gateway.Options{})
	h := newHub(t, noPeerOptions, func(o *wire.Options) { o.Dialects = []wire.Dialect{rpc, bridge.Dialect{Node: "hub"}, acl.Dialect{}} })
	h.spawn("Jules", returning(worker{func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
		if t.TaskType == "endless" {
			<-ctx.Done()
			return p.InformResult{}, context.Cause(ctx)
		}
		return p.InformResult{Status: p.StatusSuccess}, nil
	}}))
	ways := []struct {
		transport
		dialect wire.Dialect
	}{{overTCP, acl.Dialect{}}, {overTCP, rpc}, {overWS, acl.Dialect{}}, {overWS, rpc}, {overGRPC, acl.Dialect{}}, {overTCP, bridge.Dialect{Node: "program"}}, {overWS, bridge.Dialect{}}}
	addrs := make([]string, len(ways))
	var stops []listener
	for i, way := range ways {
		l, addr, err := way.listen(h.server)
		if err != nil {
			t.Fatal(err)
		}
		addrs[i], stops = addr, append(stops, l)
	}
	var running sync.WaitGroup
	all := make([]*mixedClient, clients)
	for i := range all {
		k := i % len(ways)
		c := &mixedClient{
			t: t, name: fmt.Sprint("client", i), way: ways[k].transport, addr: addrs[k], speaks: ways[k].dialect, silent: ways[k].dialect == rpc, dice: rand.New(rand.NewPCG(uint64(i), 1)),
			open: make(map[string]*mixedRequest), ended: make(chan struct{}, 1),
		}
		all[i] = c
		running.Go(func() { c.run(ctx, each) })
	}
	running.Wait()
	h.stopServer()
	for _, l := range stops {
		if err := l.Stop(ctx); err != nil {
			t.Error(err)
		}
	}
	var sum mixedTally
	for _, c := range all {
		sum.asked += c.tally.asked
		sum.cancelled += c.tally.cancelled
		sum.silenced += c.tally.silenced
		sum.aborted += c.tally.aborted
		sum.answered += c.tally.answered
	}
	t.Logf("%d clients: %+v", clients, sum)
	if sum.answered+sum.silenced+sum.aborted != sum.asked {
		t.Errorf("%+v: not each request was answered or aborted", sum)
	}
	if sum.aborted == 0 || sum.cancelled == 0 {
		t.Errorf("%+v: too mild", sum)
	}
}
