package link

import (
	"bytes"
	"context"
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

// Stream carries frames between two nodes, in order. [github.com/ribosome-agents/ribosome/wire/grpc.LinkStream] is one.
type Stream interface {
	// Memory returns a slice of no length, and of that capacity or more, for a part of the next frame. The goroutine that calls Send calls it once at most
	// before each Send, and uses no such slice after Send.
	Memory(capacity int) []byte
	// Send writes a frame, of parts that follow one another and are not changed afterwards. Only one goroutine calls it.
	Send(parts ...[]byte) error
	// Recv waits for the next frame, which is valid until the next call, and is not changed. Only one goroutine calls it.
	Recv() ([]byte, error)
	// CheckName returns an error if the peer has authenticated as another node than that one.
	CheckName(node string) error
	// Close ends the stream; Recv and Send return. It may be called from any goroutine, and more than once.
	Close()
}

// Handler is the owner of [Links]. For one peer, the calls come one at a time and in order. None may block.
type Handler interface {
	// Connected says that messages pass, with the names of the codons of which the nodes have different versions.
	Connected(peer cluster.Incarnation, differ []string)
	// Received takes a message.
	Received(peer cluster.Incarnation, m *performatives.Message)
	// Control takes a text of [Links.Control].
	Control(peer cluster.Incarnation, text []byte)
	// Lost says that the session with the peer is over, although the peer may live: its agents are lost. Messages that are
	// received later belong to a new session. While a link stays down, Lost is called again after each Timeout.
	Lost(peer cluster.Incarnation)
	// Undelivered returns a message that was not delivered. With [performatives.CodeDisconnected] it may have arrived, and with
	// [performatives.CodeStopped] it has not. With any other code it cannot be sent.
	Undelivered(peer cluster.Incarnation, m *performatives.Message, why *performatives.Refusal)
}

// LinksOptions configures [Links]. Self, Handler, Dial and Dialect are required.
type LinksOptions struct {
	Self    cluster.Incarnation
	Handler Handler
	// Dial opens a stream to a member. It is called again, with a growing delay, as long as there is none. The context bounds the dialling only, not the
	// stream.
	Dial func(context.Context, cluster.Member) (Stream, error)
	// Dialect is the form of the messages, that of package grpc.
	Dialect wire.Dialect
	// Stamper is for the answers to messages that cannot be read.
	Stamper performatives.Stamper
	// Link has the limits and the Tables; Self, Peer, Session and DelayAcks are filled in.
	Link Options
	// Timeout is how long a link may be down before its agents are lost. Zero means DefaultTimeout.
	Timeout time.Duration
	// Backoff returns the delay after a number of failed attempts to open a stream. Nil means 50 ms, doubled up to 2 s, with jitter.
	Backoff func(attempt int) time.Duration
	// Logger gets the events of streams. Nil discards them.
	Logger *slog.Logger
}

// DefaultTimeout is the default of [LinksOptions].Timeout.
const DefaultTimeout = 10 * time.Second

// ackTime is how long an acknowledgement waits for a frame to go with.
const ackTime = time.Millisecond

// greetTime is how long a new stream may take until both ends know each other.
const greetTime = 5 * time.Second

// closeTime is how long Stop waits until the peers have read all and ended their streams. A peer that takes longer gets what it has not received an
// acknowledgement of back as perhaps received.
const closeTime = 5 * time.Second

func defaultBackoff(attempt int) time.Duration {
	most := min(2*time.Second, 50*time.Millisecond<<min(attempt-1, 6))
	return most/2 + rand.N(most/2)
}

// Links are the links of one node. The owner must call [Links.Stop].
type Links struct {
	o     LinksOptions
	codec wire.Codec

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
	return &Links{o: o, self: o.Self, codec: codec, ctx: ctx, cancel: cancel, peers: make(map[cluster.Incarnation]*end)}, nil
}

// end is this node's end of the link to one incarnation of a node.
type end struct {
	links  *Links
	member cluster.Member
	ctx    context.Context // ends with Remove, and when Stop closes the link
	cancel context.CancelFunc
	wake   chan struct{} // has a value when the link may have something to send

	handling sync.Mutex // held while the handler is called; taken before mu

	mu       sync.Mutex
	link     *Link
	stream   Stream // nil: none
	gone     bool
	down     *time.Timer   // set while there is no stream
	ackTimer *time.Timer   // for an acknowledgement that no frame takes along
	ackTimed bool          // ackTimer is set
	closing  bool          // Stop closes the link in order: it gets no other stream
	awaited  chan struct{} // closed when the peer has acknowledged all messages or, with closing, when it has ended the stream; nil: Stop does not wait
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
	e := &end{links: ls, member: m, wake: make(chan struct{}, 1), link: New(o)}
	e.ackTimer = time.AfterFunc(time.Hour, e.acknowledge)
	e.ackTimer.Stop()
	e.ctx, e.cancel = context.WithCancel(ls.ctx)
	e.down = time.AfterFunc(ls.o.Timeout, e.expire)
	ls.peers[m.Incarnation] = e
	if ls.o.Self.Name < m.Name {
		ls.tasks.Go(e.dial)
	}
}

// Remove ends the link to a node. Before Remove returns, the handler gets the undelivered messages back. Afterwards it receives
// nothing more from that node. The handler must not call Remove.
func (ls *Links) Remove(peer cluster.Incarnation) {
	ls.mu.Lock()
	e := ls.peers[peer]
	delete(ls.peers, peer)
	ls.mu.Unlock()
	if e != nil {
		e.remove()
	}
}

func (e *end) remove() {
	e.cancel()
	e.handling.Lock()
	defer e.handling.Unlock()
	e.mu.Lock()
	e.gone = true
	e.down.Stop()
	e.ackTimer.Stop()
	if e.stream != nil {
		e.stream.Close()
		e.stream = nil
	}
	e.stopWaitingLocked()
	returned := e.link.End()
	e.mu.Unlock()
	e.undelivered(returned)
}

// stopWaitingLocked lets Stop go on.
func (e *end) stopWaitingLocked() {
	if e.awaited != nil {
		close(e.awaited)
		e.awaited = nil
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
		return &performatives.Refusal{Code: performatives.CodeStopped, About: m.ID(), Text: "there is no link to the node " + peer.Name}
	}
	data, memory, err := ls.encode(m)
	if err != nil {
		return wire.AsRefusal(err)
	}
	if err := e.send(m, data, memory); err != nil {
		if memory != nil {
			forms.Put(memory)
		}
		return err
	}
	return nil
}

// encode returns the form of a message. A short one is in memory of forms.
func (ls *Links) encode(m *performatives.Message) (data []byte, memory *[]byte, err error) {
	size := envelopeSize(m)
	if size >= short {
		data, err = ls.codec.Encode(make([]byte, 0, size), m)
		return data, nil, err
	}
	memory = forms.Get().(*[]byte) //nolint:forcetypeassert // there are no others
	data, err = ls.codec.Encode(slices.Grow((*memory)[:0], size), m)
	switch {
	case err != nil:
		forms.Put(memory)
		return nil, nil, err
	case len(data) >= short: // a frame may refer to it
		return data, nil, nil
	}
	*memory = data
	return data, memory, nil
}

func (e *end) send(m *performatives.Message, data []byte, memory *[]byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return &performatives.Refusal{Code: performatives.CodeStopped, About: m.ID(), Text: "the node " + e.member.Name + " has gone"}
	}
	if err := e.link.send(m, data, memory); err != nil {
		return err
	}
	e.signal()
	return nil
}

// envelopeSize returns a length that an encoded message hardly has, or that of its first part: it saves the encoder some allocations.
func envelopeSize(m *performatives.Message) int {
	const fields = 384 // without the payload
	raw, _ := m.Payload().(performatives.Raw)
	return fields + len(raw)
}

// Control sends a text to the owner of the links of a node. The text overtakes all messages, and may be lost. Control reports false if
// there is no connection, or if too many texts wait.
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

// Up returns to how many nodes messages pass now: those to which there is a stream whose ends know each other.
func (ls *Links) Up() (up int) {
	ls.mu.Lock()
	all := slices.Collect(maps.Values(ls.peers))
	ls.mu.Unlock()
	for _, e := range all {
		e.mu.Lock()
		if e.stream != nil && e.link.Met() {
			up++
		}
		e.mu.Unlock()
	}
	return up
}

func (e *end) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// dial keeps a stream to the node, until Remove.
func (e *end) dial() {
	o := e.links.o
	for attempt := 1; ; attempt++ {
		stream, err := o.Dial(e.ctx, e.member)
		if err == nil {
			err = stream.CheckName(e.member.Name)
			if err == nil && e.run(stream, nil) {
				attempt = 0
			}
			stream.Close()
		}
		if err != nil && e.ctx.Err() == nil {
			level := slog.LevelDebug
			if attempt&(attempt-1) == 0 { // a power of two: a failure that lasts does not fill the log
				level = slog.LevelWarn
			}
			o.Logger.Log(e.ctx, level, "no link to a node", "peer", e.member.Name, "attempt", attempt, "err", err)
		}
		retry := time.NewTimer(o.Backoff(max(attempt, 1)))
		select {
		case <-retry.C:
		case <-e.ctx.Done():
			retry.Stop()
			return
		}
	}
}

// UnknownNodeError is the error for a stream of a node that is no member, or not known as one yet, or not any more.
type UnknownNodeError struct{ Node cluster.Incarnation }

// Error names the node.
func (e *UnknownNodeError) Error() string {
	return "link: the node " + e.Node.String() + " is not known here"
}

// Accept serves a stream that another node has opened, until it ends. Among its errors is [*UnknownNodeError].
func (ls *Links) Accept(stream Stream) error {
	defer stream.Close()
	greeting := time.AfterFunc(greetTime, stream.Close)
	first, err := stream.Recv()
	greeting.Stop()
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
	if err := stream.CheckName(f.hello.from.Name); err != nil {
		return err
	}
	e := ls.find(f.hello.from)
	if e == nil {
		_ = stream.Send(Bye("the node is not known here")) // the stream ends in any case
		return &UnknownNodeError{f.hello.from}
	}
	if f.hello.from.Name > ls.o.Self.Name {
		return streamError("the node %s is not the one to open streams", f.hello.from.Name)
	}
	e.run(stream, first)
	return nil
}

// run serves a stream in place of the one before, until it ends. first is a frame that was read. It reports whether the ends
// knew each other.
func (e *end) run(stream Stream, first []byte) (met bool) {
	e.mu.Lock()
	if e.stream != nil {
		e.stream.Close() // the peer has ended it, or it would not open another one
	}
	if e.gone || e.closing {
		e.mu.Unlock()
		return false
	}
	e.stream = stream
	e.link.Open()
	e.mu.Unlock()
	var writer sync.WaitGroup
	over := make(chan struct{})
	writer.Go(func() { e.write(stream, over) })
	err := e.read(stream, first, &met)
	close(over)
	stream.Close()
	writer.Wait()
	if e.leave(stream) {
		e.links.o.Logger.Info("the stream of a link has ended", "peer", e.member.Name, "err", err)
	}
	return met
}

// leave notes that a stream has ended. It reports false if another one has replaced it, or the link has ended.
func (e *end) leave(stream Stream) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stream != stream {
		return false
	}
	e.stream = nil
	e.link.Close()
	e.down.Reset(e.links.o.Timeout)
	e.stopWaitingLocked() // there may be no other stream
	return true
}

// write writes the frames of the link, until the stream ends.
func (e *end) write(stream Stream, over <-chan struct{}) {
	for {
		e.mu.Lock()
		if e.stream != stream {
			e.mu.Unlock()
			e.signal() // this writer may have taken the signal for the next one
			return
		}
		frame := e.link.NextParts(time.Now(), stream.Memory)
		e.mu.Unlock()
		if frame != nil {
			if stream.Send(frame...) != nil {
				stream.Close() // the reader sees it
				return
			}
			continue
		}
		select {
		case <-e.wake:
		case <-over:
			return
		}
	}
}

// read receives the frames of a stream until the stream ends. It sets met when both ends know each other.
func (e *end) read(stream Stream, first []byte, met *bool) error {
	greeting := time.AfterFunc(greetTime, stream.Close)
	defer greeting.Stop()
	for frame := first; ; frame = nil {
		if frame == nil {
			var err error
			if frame, err = stream.Recv(); err != nil {
				return err
			}
		}
		current, err := e.receive(stream, frame, greeting, met)
		if err != nil || !current {
			return err
		}
	}
}

// receive takes in one frame. It reports false if the stream is no longer the link's.
func (e *end) receive(stream Stream, frame []byte, greeting *time.Timer, met *bool) (current bool, err error) {
	e.handling.Lock()
	defer e.handling.Unlock()
	e.mu.Lock()
	if e.stream != stream {
		e.mu.Unlock()
		return false, nil
	}
	r, err := e.link.Receive(frame, time.Now())
	differ := e.link.Differ()
	if r.Met {
		*met = true
		greeting.Stop()
		e.down.Stop()
	}
	if e.link.Idle() && !e.closing {
		e.stopWaitingLocked()
	}
	if !e.ackTimed && e.link.AckWaits() {
		e.ackTimed = true
		e.ackTimer.Reset(ackTime)
	}
	e.mu.Unlock()
	e.signal() // an acknowledgement, or room in the window
	h, peer := e.links.o.Handler, e.member.Incarnation
	if r.Over {
		h.Lost(peer)
	}
	e.undelivered(r.Returned)
	if r.Met {
		h.Connected(peer, differ)
	}
	for _, text := range r.Controls {
		h.Control(peer, bytes.Clone(text)) // the frame is not ours
	}
	e.deliver(r.Messages)
	return true, err
}

// acknowledge sends an acknowledgement that no frame has taken along.
func (e *end) acknowledge() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ackTimed = false
	if e.link.Acknowledge() {
		e.signal()
	}
}

// deliver decodes messages and passes them on, and forgets them.
func (e *end) deliver(all []Inbound) {
	var in *Inbound
	take := func(item wire.Inbound) { e.take(*in, item) }
	for i := range all {
		in = &all[i]
		e.links.codec.Decode(in.Data, take)
	}
	clear(all)
}

// take passes a message on. One that cannot be read is answered.
func (e *end) take(in Inbound, item wire.Inbound) {
	switch m := item.Message; {
	case m == nil && len(item.Answer) > 0:
		e.links.codec.Decode(item.Answer, func(answer wire.Inbound) { // in the form in which a session would send it
			if answer.Message != nil {
				_ = e.links.Send(e.member.Incarnation, answer.Message) // the link is full, or has ended
			}
		})
	case m == nil:
		e.links.o.Logger.Warn("a message of a node cannot be read", "peer", e.member.Name, "err", item.Err)
	default:
		e.links.o.Handler.Received(e.member.Incarnation, in.Local(m))
	}
}

// undelivered returns messages to the owner. The caller holds handling.
func (e *end) undelivered(all []Returned) {
	for _, r := range all {
		why := &performatives.Refusal{Code: performatives.CodeStopped, About: r.Message.ID(), Text: "the node " + e.member.Name + " cannot be reached"}
		if r.Sent {
			why.Code, why.Text = performatives.CodeDisconnected, "the node "+e.member.Name+" was lost before it acknowledged the message"
		}
		e.links.o.Handler.Undelivered(e.member.Incarnation, r.Message, why)
	}
}

// expire gives up a link that has been down for too long. It may come up again.
func (e *end) expire() {
	e.handling.Lock()
	defer e.handling.Unlock()
	e.mu.Lock()
	if e.gone || e.link.Met() {
		e.mu.Unlock()
		return
	}
	returned := e.link.End()
	if e.stream != nil { // it says hello again, over another stream
		e.stream.Close()
		e.stream = nil
	}
	e.stopWaitingLocked()
	e.down.Reset(e.links.o.Timeout)
	e.mu.Unlock()
	e.links.o.Handler.Lost(e.member.Incarnation)
	e.undelivered(returned)
}

// Stop waits until the connected nodes have acknowledged all messages, then, for five seconds at most, until they have read all frames and ended their streams.
// It closes all links, and returns undelivered messages to the handler. When ctx ends first, Stop stops waiting, and returns the cause.
func (ls *Links) Stop(ctx context.Context) error {
	ls.mu.Lock()
	ls.stopped = true
	all := slices.Collect(maps.Values(ls.peers))
	ls.mu.Unlock()
	flushed := awaitAll(ctx, all, (*end).flush)
	closing, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	closed := awaitAll(closing, all, (*end).close) || ctx.Err() == nil // it is no error if only closeTime has run out
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

// awaitAll begins something at each end, and waits until all of it is done. It reports false if ctx ends first.
func awaitAll(ctx context.Context, all []*end, begin func(*end) <-chan struct{}) bool {
	var awaited []<-chan struct{}
	for _, e := range all {
		awaited = append(awaited, begin(e))
	}
	for _, c := range awaited {
		select {
		case <-c:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// flush returns a channel that is closed when the peer has acknowledged all messages, or if there is no connection. While another Stop closes the link, that
// is when the peer has ended the stream.
func (e *end) flush() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.awaitLocked(e.closing || !e.link.Idle())
}

// close has the link closed in order, and returns a channel that is closed when the peer has ended the stream, or if there is no connection.
func (e *end) close() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closing = true
	e.cancel() // it dials no more
	e.link.Finish()
	e.signal()
	return e.awaitLocked(true)
}

// awaitLocked returns a channel that stopWaitingLocked closes. It is closed at once if Stop need not wait for the peer, or there is no connection.
func (e *end) awaitLocked(needed bool) <-chan struct{} {
	if e.awaited == nil {
		e.awaited = make(chan struct{})
	}
	awaited := e.awaited
	if !needed || !e.link.Met() {
		e.stopWaitingLocked()
	}
	return awaited
}
