package link

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/internal/admission"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// end is this node's end of the link to one incarnation of a node.
type end struct {
	links  *Links
	member cluster.Member
	ctx    context.Context // ends with Remove, and when Stop closes the link
	cancel context.CancelFunc
	wake   chan struct{} // has a value when the link may have something to send

	handling  sync.Mutex               // held while the handler is called; taken before mu
	held      []*performatives.Message // of NORMAL and LOW priority, received during a pause, in order; with handling
	heldBytes int                      // of their forms; with handling
	pausing   bool                     // until resumed is called; with handling
	room      chan struct{}            // has a value when the pause has ended: the reader may go on

	mu       sync.Mutex
	link     *Link
	wait     admission.Meter // of the messages until the peer has acknowledged them
	back     atomic.Int64    // when the backlog of the peer will have arrived, as it has told; since Links.began, in nanoseconds
	stream   Stream          // nil: none
	why      error           // why messages did not pass when the last stream ended, or could not be opened
	gone     bool
	down     *time.Timer   // set while there is no stream
	ackTimer *time.Timer   // for an acknowledgement that no frame takes along
	ackTimed bool          // ackTimer is set
	closing  bool          // Stop closes the link in order: it gets no other stream
	awaited  chan struct{} // closed when Stop need not wait for the peer any more; nil: Stop does not wait
	flushing int           // how many more messages the peer is to acknowledge before Stop goes on, unless closing
	progress time.Time     // when Stop began to wait, or the peer has acknowledged a message since
	silence  *time.Timer   // set while Stop waits
	silent   bool          // the peer has made no progress for so long that Stop does not wait for it any more
}

// maxPause is the longest pause.
const maxPause = 5 * time.Millisecond

// maxHeld is how many bytes of messages are held during a pause, before no frame is read until its
// end: the flow control of the stream then slows the peer down.
const maxHeld = DefaultBatch

// ackTime is how long an acknowledgement waits for a frame to go with.
const ackTime = time.Millisecond

// greetTime is how long a new stream may take until both ends know each other.
const greetTime = 5 * time.Second

// closeTime is how long Stop waits for a peer that acknowledges no message and does not end its
// stream. What the peer has not acknowledged then is returned as perhaps received, at both nodes.
const closeTime = 5 * time.Second

// mebiTime is how much longer Stop waits for each MiB that is sent and not acknowledged. It follows
// from dialPatience of package runtime: a stream whose network carries less than 1 MiB in that time
// is closed by its Send.
const mebiTime = 10 * time.Second

func (e *end) remove() {
	e.cancel()
	e.handling.Lock()
	defer e.handling.Unlock()
	e.pass()
	e.mu.Lock()
	e.gone = true
	e.down.Stop()
	e.ackTimer.Stop()
	if e.stream != nil {
		e.stream.Close()
		e.stream = nil
	}
	e.stopWaitingLocked()
	returned := e.endLocked()
	e.mu.Unlock()
	e.undelivered(returned)
}

// endLocked ends both sessions, and returns the unacknowledged messages.
func (e *end) endLocked() []Returned {
	e.wait.Popped(0, 0)
	return e.link.End()
}

// stopWaitingLocked lets Stop go on.
func (e *end) stopWaitingLocked() {
	if e.awaited != nil {
		close(e.awaited)
		e.awaited = nil
		e.silence.Stop()
	}
}

// checkProgress lets Stop go on if the peer has made no progress for too long.
func (e *end) checkProgress() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.awaited == nil {
		return
	}
	limit := closeTime + time.Duration(e.link.weight)*(mebiTime>>20)
	if left := limit - time.Since(e.progress); left > 0 {
		e.silence.Reset(left)
		return
	}
	e.silent = true
	e.links.o.Logger.Warn("a node is not waited for any more: it does not acknowledge messages, or does not read", "peer", e.member.Name)
	e.stopWaitingLocked()
}

func (e *end) send(p parcel) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return p.message.Refused(performatives.CodeStopped, "the node "+e.member.Name+" has gone")
	}
	if err := e.link.send(p); err != nil {
		return err
	}
	e.wait.Pushed(e.link.Pending())
	e.signal()
	return nil
}

func (e *end) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// state returns nil if messages pass, or the reason why not.
func (e *end) state() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stream != nil && e.link.Met() {
		return nil
	}
	return e.why
}

// refused notes why there is no stream.
func (e *end) refused(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.why = err
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
			e.refused(err)
			level := slog.LevelDebug
			if attempt&(attempt-1) == 0 { // a power of two: a failure that lasts does not fill the log
				level = slog.LevelWarn
			}
			o.Logger.Log(e.ctx, level, "no link to a node", "peer", e.member.Name, "attempt", attempt, "err", err)
		}
		select {
		case <-time.After(o.Backoff(max(attempt, 1))):
		case <-e.ctx.Done():
			return
		}
	}
}

// run serves a stream in place of the one before, until it ends. first is a frame that was read. It
// reports whether the ends knew each other.
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
	if e.leave(stream, err) {
		e.links.o.Logger.Info("the stream of a link has ended", "peer", e.member.Name, "err", err)
	}
	return met
}

// leave notes that a stream has ended, and why. It reports false if another one has replaced it, or
// the link has ended.
func (e *end) leave(stream Stream, why error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stream != stream {
		return false
	}
	e.stream, e.why = nil, why
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
		frame := e.link.NextParts(time.Now(), e.wait.Delay(), stream.Memory)
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

// read receives the frames of a stream until the stream ends. It sets met when both ends know each
// other.
func (e *end) read(stream Stream, first []byte, met *bool) error {
	greeting := time.AfterFunc(greetTime, stream.Close)
	defer greeting.Stop()
	for frame := first; ; frame = nil {
		if frame == nil {
			var err error
			for e.full() {
				<-e.room
			}
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
	now, pending := time.Now(), e.link.Pending()
	r, err := e.link.Receive(frame, now)
	if acknowledged := pending - e.link.Pending(); acknowledged > 0 {
		e.progress, e.silent = now, false
		e.flushing -= acknowledged
		e.wait.Popped(e.link.Pending(), acknowledged)
		switch {
		case e.awaited == nil:
		case e.flushing <= 0 && !e.closing:
			e.stopWaitingLocked()
		default: // it may be set for a long message, which is acknowledged now
			e.silence.Reset(closeTime)
		}
	}
	if err == nil {
		e.back.Store(int64(now.Sub(e.links.began) + r.Wait))
	}
	var differ []string
	if r.Met {
		differ, *met = e.link.Differ(), true
		greeting.Stop()
		e.down.Stop()
	}
	if !e.ackTimed && e.link.AckWaits() {
		e.ackTimed = true
		e.ackTimer.Reset(ackTime)
	}
	e.mu.Unlock()
	e.signal() // an acknowledgement, or room in the window
	h, peer := e.links.o.Handler, e.member.Incarnation
	if r.Over {
		e.pass()
		h.Lost(peer)
		e.undelivered(r.Returned)
	}
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
		if m = in.Local(m); e.pausing && m.Priority() <= performatives.Normal {
			e.held = append(e.held, m)
			e.heldBytes += len(in.Data)
			return
		}
		e.pauseFor(e.links.o.Handler.Received(e.member.Incarnation, m))
	}
}

// pauseFor holds the messages of NORMAL and LOW priority that follow. The others pass them.
func (e *end) pauseFor(d time.Duration) {
	if d > 0 && !e.pausing {
		e.pausing = true
		time.AfterFunc(min(d, maxPause), e.resumed)
	}
}

// pass passes on the messages that were held, and ends the pause, or begins the next one. The
// caller holds handling.
func (e *end) pass() {
	held := e.held
	e.held, e.heldBytes, e.pausing = nil, 0, false
	var pause time.Duration
	for _, m := range held {
		pause += e.links.o.Handler.Received(e.member.Incarnation, m)
	}
	e.pauseFor(pause)
	select {
	case e.room <- struct{}{}:
	default:
	}
}

// resumed is called when a pause ends.
func (e *end) resumed() {
	e.handling.Lock()
	defer e.handling.Unlock()
	e.pass()
}

// full reports whether the reader waits for the end of a pause.
func (e *end) full() bool {
	e.handling.Lock()
	defer e.handling.Unlock()
	return e.heldBytes > maxHeld
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

// expire gives up a link that has been down for too long. It may come up again. A link that either
// end has closed in order is down until it is removed.
func (e *end) expire() {
	e.handling.Lock()
	defer e.handling.Unlock()
	e.mu.Lock()
	if e.gone || e.closing || e.link.gotLast || e.link.Met() {
		e.mu.Unlock()
		return
	}
	returned := e.endLocked()
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

// flush returns a channel that is closed when the peer has acknowledged as many messages as there
// are now, or if Stop need not wait for the peer. While another Stop closes the link, that is when
// the peer has ended the stream.
func (e *end) flush() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.flushing = e.link.Pending()
	return e.awaitLocked(e.closing || e.flushing > 0)
}

// close has the link closed in order, and returns a channel that is closed when the peer has ended
// the stream, or if Stop need not wait for the peer.
func (e *end) close() <-chan struct{} {
	e.handling.Lock() // what the handler answers to messages that were received is sent before
	defer e.handling.Unlock()
	e.pass()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closing = true
	e.cancel() // it dials no more
	e.link.Finish()
	e.signal()
	return e.awaitLocked(true)
}

// awaitLocked returns a channel that stopWaitingLocked closes. It is closed at once if Stop need
// not wait for the peer, because there is nothing to wait for, there is no connection, or the peer
// is silent.
func (e *end) awaitLocked(needed bool) <-chan struct{} {
	if e.awaited == nil {
		e.awaited, e.progress = make(chan struct{}), time.Now()
		e.silence = time.AfterFunc(closeTime, e.checkProgress)
	}
	awaited := e.awaited
	if !needed || e.silent || !e.link.Met() {
		e.stopWaitingLocked()
	}
	return awaited
}
