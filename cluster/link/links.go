package link

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Stream carries frames between two nodes, in order.
// [github.com/ribosome-agents/ribosome/wire/grpc.LinkStream] is one.
type Stream interface {
	// Memory returns a slice of no length, and of that capacity or more, for a part of the next
	// frame. The goroutine that calls Send calls it once at most before each Send, and uses no such
	// slice after Send.
	Memory(capacity int) []byte
	// Send writes a frame, of parts that follow one another and are not changed afterwards. Only
	// one goroutine calls it.
	Send(parts ...[]byte) error
	// Recv waits for the next frame, which is valid until the next call, and is not changed. Only
	// one goroutine calls it.
	Recv() ([]byte, error)
	// CheckName returns an error if the peer has authenticated as another node than that one.
	CheckName(node string) error
	// Close ends the stream; Recv and Send return. It may be called from any goroutine, and more
	// than once.
	Close()
}

// Handler is the owner of [Links]. For one peer, the calls come one at a time and in order. None
// may block.
type Handler interface {
	// Connected says that messages pass, with the names of the codons of which the nodes have
	// different versions.
	Connected(peer cluster.Incarnation, differ []string)
	// Received takes a message. It returns how long that delays those of NORMAL and LOW priority
	// that follow, up to 5 ms in all. When they are as long as a frame, no more are read meanwhile,
	// so that the flow control of the stream slows the peer down.
	Received(peer cluster.Incarnation, m *performatives.Message) (pause time.Duration)
	// Control takes a text of [Links.Control].
	Control(peer cluster.Incarnation, text []byte)
	// Lost says that the session with the peer is over, although the peer may live: its agents are
	// lost. Messages that are received later belong to a new session. While a link stays down, Lost
	// is called again after each Timeout.
	Lost(peer cluster.Incarnation)
	// Undelivered returns a message that was not delivered. With [performatives.CodeDisconnected]
	// it may have arrived, and with [performatives.CodeStopped] it has not. With any other code it
	// cannot be sent.
	Undelivered(peer cluster.Incarnation, m *performatives.Message, why *performatives.Refusal)
}

// LinksOptions configures [Links]. Self, Handler, Dial and Dialect are required.
type LinksOptions struct {
	Self    cluster.Incarnation
	Handler Handler
	// Dial opens a stream to a member. It is called again, with a growing delay, as long as there
	// is none. The context bounds the dialling only, not the stream.
	Dial func(context.Context, cluster.Member) (Stream, error)
	// Dialect is the form of the messages, that of package grpc.
	Dialect wire.Dialect
	// Stamper is for the answers to messages that cannot be read.
	Stamper performatives.Stamper
	// Link has the limits and the Tables; Self, Peer, Session and DelayAcks are filled in.
	Link Options
	// Timeout is how long a link may be down before its agents are lost. Zero means DefaultTimeout.
	Timeout time.Duration
	// Backoff returns the delay after a number of failed attempts to open a stream. Nil means 50
	// ms, doubled up to 2 s, with jitter.
	Backoff func(attempt int) time.Duration
	// Logger gets the events of streams. Nil discards them.
	Logger *slog.Logger
}

// DefaultTimeout is the default of [LinksOptions].Timeout.
const DefaultTimeout = 10 * time.Second

func defaultBackoff(attempt int) time.Duration {
	most := min(2*time.Second, 50*time.Millisecond<<min(attempt-1, 6))
	return most/2 + rand.N(most/2)
}

// Links are the links of one node. The owner must call [Links.Stop].
type Links struct {
	o     LinksOptions
	codec wire.Codec
	began time.Time // for times that no change of the clock affects

	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup // goroutines

	mu      sync.Mutex
	self    cluster.Incarnation
	peers   map[cluster.Incarnation]*end
	added   uint64 // how many links there were
	stopped bool
}

// NewLinks returns links to no node yet. The error is that of the dialect.
func NewLinks(o LinksOptions) (*Links, error) {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Backoff == nil {
		o.Backoff = defaultBackoff
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	codec, err := o.Dialect.Open(wire.CodecOptions{Local: performatives.AgentID(o.Self.Name), Stamper: o.Stamper, MaxBytes: MaxMessage})
	if err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // Stop ends it
	return &Links{o: o, self: o.Self, codec: codec, began: time.Now(), ctx: ctx, cancel: cancel, peers: make(map[cluster.Incarnation]*end)}, nil
}

// Rename sets the incarnation of this node. The links to all nodes must have been removed.
func (ls *Links) Rename(self cluster.Incarnation) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.self = self
}

// Add opens a link to a node. Further calls for the same incarnation do nothing.
func (ls *Links) Add(m cluster.Member) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.stopped || ls.peers[m.Incarnation] != nil {
		return
	}
	o := ls.o.Link
	ls.added++
	o.Self, o.Peer, o.Session = ls.self, m.Incarnation, ls.added<<32 // a link has fewer sessions
	o.DelayAcks = true
	e := &end{links: ls, member: m, wake: make(chan struct{}, 1), room: make(chan struct{}, 1), link: New(o), why: errors.New("the link has not been opened yet")}
	e.ackTimer, e.down = time.AfterFunc(time.Hour, e.acknowledge), time.AfterFunc(time.Hour, e.expire)
	e.ackTimer.Stop()
	e.ctx, e.cancel = context.WithCancel(ls.ctx)
	e.down.Reset(ls.o.Timeout) // not before, since expire reads the field
	ls.peers[m.Incarnation] = e
	if ls.o.Self.Name < m.Name {
		ls.tasks.Go(e.dial)
	} else {
		e.why = fmt.Errorf("the node %s, which opens the link, has not done so yet; it can say why", m.Name)
	}
}

// Remove ends the link to a node. Before Remove returns, the handler gets the undelivered messages
// back. Afterwards it receives nothing more from that node. The handler must not call Remove.
func (ls *Links) Remove(peer cluster.Incarnation) {
	ls.mu.Lock()
	e := ls.peers[peer]
	delete(ls.peers, peer)
	ls.mu.Unlock()
	if e != nil {
		e.remove()
	}
}

func (ls *Links) find(peer cluster.Incarnation) *end {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.peers[peer]
}

// Send queues a message for a node. It does not block. The error is a [*performatives.Refusal].
func (ls *Links) Send(peer cluster.Incarnation, m *performatives.Message) error {
	e := ls.find(peer)
	if e == nil {
		return m.Refused(performatives.CodeStopped, "there is no link to the node "+peer.Name)
	}
	p, err := ls.encode(m)
	if err != nil {
		return wire.AsRefusal(err)
	}
	if err := e.send(p); err != nil {
		p.release()
		return err
	}
	return nil
}

// Wait returns how long a message for a node and its answer wait at present, from [Links.Send] to
// the acknowledgement of the other end. It is zero while few messages wait.
func (ls *Links) Wait(peer cluster.Incarnation) time.Duration {
	e := ls.find(peer)
	if e == nil {
		return 0
	}
	return e.wait.Delay() + max(0, time.Duration(e.back.Load())-time.Since(ls.began))
}

// encode returns a message with its form. A short one is in memory of forms.
func (ls *Links) encode(m *performatives.Message) (parcel, error) {
	raw, _ := m.Payload().(performatives.Raw)
	size := 384 + len(raw) // hardly exceeded by an encoded message, or by its first part: it saves the encoder some allocations
	if size >= short {
		data, err := ls.codec.Encode(make([]byte, 0, size), m)
		return parcel{message: m, data: data}, err
	}
	memory := forms.Get().(*[]byte) //nolint:forcetypeassert // there are no others
	data, err := ls.codec.Encode(slices.Grow((*memory)[:0], size), m)
	switch {
	case err != nil:
		forms.Put(memory)
		return parcel{}, err
	case len(data) >= short: // a frame may refer to it
		return parcel{message: m, data: data}, nil
	}
	*memory = data
	return parcel{m, data, memory}, nil
}

// Control sends a text to the owner of the links of a node. The text overtakes all messages, and
// may be lost. Control reports false if there is no connection, or if too many texts wait.
func (ls *Links) Control(peer cluster.Incarnation, text []byte) bool {
	e := ls.find(peer)
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.signal()
	return e.link.SendControl(text)
}

// States returns the nodes to which there are links. The value is nil if messages pass to the node
// now: there is a stream, and its ends know each other. Otherwise it is the reason why no messages
// pass, as far as this node knows it. The caller owns the map.
func (ls *Links) States() map[cluster.Incarnation]error {
	ls.mu.Lock()
	all := slices.Collect(maps.Values(ls.peers))
	ls.mu.Unlock()
	states := make(map[cluster.Incarnation]error, len(all))
	for _, e := range all {
		states[e.member.Incarnation] = e.state()
	}
	return states
}

// UnknownNodeError is the error for a stream of a node that is no member, or not known as one yet,
// or not any more.
type UnknownNodeError struct{ Node cluster.Incarnation }

// Error names the node.
func (e *UnknownNodeError) Error() string {
	return "link: the node " + e.Node.String() + " is not known here"
}

// Accept serves a stream that another node has opened, until it ends. Among its errors is
// [*UnknownNodeError].
func (ls *Links) Accept(stream Stream) error {
	defer stream.Close()
	greeting := time.AfterFunc(greetTime, stream.Close)
	defer greeting.Stop() // also bounds the sending of a Bye to a peer that does not read
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	f, err := readFrame(first)
	switch {
	case err != nil:
		return err
	case f.hello == nil:
		return streamError("the first frame is no hello")
	}
	e := ls.find(f.hello.from)
	if err := stream.CheckName(f.hello.from.Name); err != nil {
		if e != nil {
			e.refused(err)
		}
		_ = stream.Send(Bye(err.Error())) // the stream ends in any case
		return err
	}
	if e == nil {
		_ = stream.Send(Bye("the node is not known here")) // the stream ends in any case
		return &UnknownNodeError{f.hello.from}
	}
	if f.hello.from.Name > ls.o.Self.Name {
		return streamError("the node %s is not the one to open streams", f.hello.from.Name)
	}
	greeting.Stop()
	e.run(stream, first)
	return nil
}

// Stop waits until the connected nodes have acknowledged as many messages as there were when Stop
// began. Then it refuses and takes in no further message, and waits until the nodes have
// acknowledged those that were sent meanwhile, have read all frames and have ended their streams.
// It closes all links, and returns undelivered messages to the handler. Stop waits for a node as
// long as the node acknowledges messages: for five seconds without an acknowledgement, and ten more
// for each MiB that is sent and not acknowledged. Only ctx bounds the total: a node that
// acknowledges one message every few seconds holds Stop as long as there are messages. When ctx
// ends first, Stop stops waiting, and returns the cause. A call of the handler that does not return
// holds Stop in any case.
func (ls *Links) Stop(ctx context.Context) error {
	ls.mu.Lock()
	ls.stopped = true
	all := slices.Collect(maps.Values(ls.peers))
	ls.mu.Unlock()
	flushed := ls.awaitAll(ctx, all, (*end).flush)
	closed := ls.awaitAll(ctx, all, (*end).close)
	for _, e := range all {
		ls.Remove(e.member.Incarnation)
	}
	ls.cancel()
	ls.tasks.Wait()
	if !flushed || !closed {
		return fmt.Errorf("link: stop: %w", context.Cause(ctx))
	}
	return nil
}

// reportTime is the time after which a stop logs for which nodes it waits.
const reportTime = time.Second

// awaitAll begins something at each end, and waits until all of it is done. It reports false if ctx
// ends first.
func (ls *Links) awaitAll(ctx context.Context, all []*end, begin func(*end) <-chan struct{}) bool {
	awaited := make([]<-chan struct{}, len(all))
	for i, e := range all {
		awaited[i] = begin(e)
	}
	report := time.After(reportTime)
	for i := 0; i < len(awaited); {
		select {
		case <-awaited[i]:
			i++
		case <-report:
			for j, e := range all[i:] {
				select {
				case <-awaited[i+j]:
				default:
					ls.o.Logger.Warn("a stop waits for a node, which has not acknowledged all messages, or does not close its link", "peer", e.member.Name)
				}
			}
		case <-ctx.Done():
			return false
		}
	}
	return true
}
