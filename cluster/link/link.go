package link

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The versions of the form of frames that this package knows.
const (
	minVersion = 1
	maxVersion = 1
)

// The defaults of [Options].
const (
	DefaultWindow   = 1 << 20
	DefaultBatch    = 32 << 10
	DefaultCapacity = 1 << 17
	DefaultBytes    = 256 << 20
)

// MaxMessage is the length of the longest message of a link, in bytes as it is sent.
const MaxMessage = 16 << 20

// Options configures a [Link]. Self and Peer are required.
type Options struct {
	Self, Peer cluster.Incarnation
	// Session is the number of the first session. It must be greater than those of each earlier
	// Link of Self to Peer. Zero means 1.
	Session uint64
	// Tables are the hashes of this node's codons and their payload types, by the name of the
	// codon. Two nodes can converse by a codon if they have the same hash of it.
	Tables map[string]uint64
	// Window bounds the bytes that are sent and not acknowledged. A message within it can no longer
	// be overtaken. A message is sent if it fits, or if less than a quarter is unacknowledged; so
	// there may be a quarter and one message ([MaxMessage]) unacknowledged. The link bounds them by
	// less, down to 64 KiB, while acknowledgements show that messages wait on their way. Zero means
	// DefaultWindow.
	Window int
	// Batch is the largest number of bytes in a frame with more than one message. Zero means
	// DefaultBatch. The link halves it after a stream that has ended with unacknowledged messages,
	// down to one message a frame. Each acknowledgement doubles it again.
	Batch int
	// Capacity is how many messages may wait in each band, and Bytes how many bytes in all bands.
	// Zero means DefaultCapacity and DefaultBytes.
	Capacity, Bytes int
	// DelayAcks holds an acknowledgement back until there is a frame to go with, a quarter of
	// Window was received (at most a quarter of DefaultWindow), or [Link.Acknowledge] is called. A
	// peer whose window is full does not need that call, unless its window is smaller at present.
	DelayAcks bool
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		of    *int
		value int
	}{{&o.Window, DefaultWindow}, {&o.Batch, DefaultBatch}, {&o.Capacity, DefaultCapacity}, {&o.Bytes, DefaultBytes}} {
		if *d.of == 0 {
			*d.of = d.value
		}
	}
	return o
}

// Returned is a message that was not delivered, as far as this end knows.
type Returned struct {
	Message *performatives.Message
	// Sent means that it may have arrived: it was sent and not acknowledged, and the peer has not
	// said that it takes in nothing more.
	Sent bool
}

// Link is this node's end of the link to one incarnation of another node. The numbers of its
// messages go on over all successive streams, so that a message that is sent again is not delivered
// twice.
//
// A session is one such numbering. It ends when either end gives the other one up; the other end
// learns this when the two meet again, at the latest. Unacknowledged messages of the session are
// then returned, and never sent again. A Link may have any number of sessions, one after the other.
//
// A Link has no goroutine, lock or clock, and writes to no stream: see the package.
type Link struct {
	o Options

	// ackBytes is the number of received bytes at which an acknowledgement is sent alone. A sender
	// with fewer unacknowledged bytes sends the next message, whatever its length: otherwise it would
	// wait for an acknowledgement that the peer delays.
	ackBytes int

	session uint64 // the number of the session in which this end sends
	bands   [performatives.Bands]queue
	bytes   int    // in the bands
	flight  queue  // sent and not acknowledged, in order
	weight  int    // bytes in flight
	pace    pace   // the present bound of weight, at most Options.Window
	resent  int    // how many of flight were sent over the present stream
	batch   int    // the present Options.Batch
	next    uint64 // the sequence number of the next message; those of flight precede it

	theirs   uint64 // the session in which the peer sends; zero: none yet
	floor    uint64 // the least session of the peer that is taken
	received uint64 // the last sequence number received in it

	open         bool // there is a stream
	met          bool // the peer's hello was taken, over the present stream
	greets       bool // a hello is to be sent
	ackPending   bool // an acknowledgement is to be sent
	unackedBytes int  // of the messages to be acknowledged
	ackNow       bool // the acknowledgement does not wait for a frame to go with
	finishing    bool // Finish was called
	saidLast     bool // Next has returned the frame that says so, over the present stream
	saidBye      bool // Next has returned the last frame, over the present stream
	gotLast      bool // the peer takes in nothing more than it has acknowledged
	controls     [][]byte
	// controlBytes is the length of controls.
	controlBytes int
	differ       []string // the codons of which the two nodes have different versions
	scratch      *scratch
}

// scratch has memory that is used for each frame anew.
type scratch struct {
	in, out  frame
	messages []Inbound
}

// New returns a link without a stream.
func New(o Options) *Link {
	o = o.withDefaults()
	ackBytes := max(1, min(o.Window, DefaultWindow)/4)
	return &Link{o: o, ackBytes: ackBytes, session: max(o.Session, 1), next: 1, batch: o.Batch, pace: pace{limit: o.Window}, scratch: new(scratch)}
}

// Peer returns the other end.
func (l *Link) Peer() cluster.Incarnation { return l.o.Peer }

// Open begins a stream, after the end of the one before.
func (l *Link) Open() {
	l.Close()
	l.open, l.greets = true, true
}

// Close records that the stream has ended. Unacknowledged messages are sent again over the next
// one.
func (l *Link) Close() {
	if l.resent > 0 && l.batch > 1 { // a shorter frame may arrive before the next one breaks
		l.batch /= 2
	}
	l.open, l.met, l.greets, l.ackPending, l.ackNow, l.saidLast, l.saidBye = false, false, false, false, false, false, false
	l.controls, l.controlBytes, l.resent, l.unackedBytes, l.pace.probe = nil, 0, 0, 0, 0
}

// Finish has the link closed in order. It holds for all later streams. From now on, Send refuses,
// and Receive takes nothing in and drops control texts. Next returns a frame that says so, with the
// last acknowledgement and the waiting messages. Once the peer has acknowledged these, Next returns
// a frame with a bye. So all messages that were received are acknowledged, and messages that were
// sent before Finish, such as the answers to them, arrive. Of two ends that both finish, neither
// waits for acknowledgements of what the other one does not take in. When the peer has read the
// bye, its Receive returns [ErrClosed], and it ends the stream. This end must not do so before:
// frames that the peer has not read may be lost with the stream.
func (l *Link) Finish() { l.finishing = true }

// Met reports whether both ends know each other over the present stream, so that messages pass.
func (l *Link) Met() bool { return l.met }

// Differ returns the codons of which the two nodes have different versions, sorted, as they said
// when they last met.
func (l *Link) Differ() []string { return l.differ }

// Pending returns how many messages the peer is yet to acknowledge: those that wait, and those that
// are sent. It is zero if the peer takes in nothing more.
func (l *Link) Pending() int {
	if l.gotLast {
		return 0
	}
	n := l.flight.len()
	for band := range l.bands {
		n += l.bands[band].len()
	}
	return n
}

// Send queues a message in the band of its priority. data is its form, as package grpc writes it.
// The error is a [*performatives.Refusal].
func (l *Link) Send(m *performatives.Message, data []byte) error {
	return l.send(parcel{message: m, data: data})
}

// send is [Link.Send] for a parcel, whose memory the link takes over if it takes the message.
func (l *Link) send(p parcel) error {
	m, size, band := p.message, len(p.data), p.message.Priority().Band()
	switch {
	case l.finishing:
		return m.Refused(performatives.CodeStopped, "the node "+l.o.Self.Name+" stops")
	case m.Principal() != "" && text([]byte(m.Principal())) != m.Principal():
		return m.Refused(performatives.CodeInvalidPayload, "the principal of the message is too long, or no UTF-8")
	case size > MaxMessage:
		return m.Refused(performatives.CodeInvalidPayload, fmt.Sprintf("the message has %d bytes, and a link takes %d", size, MaxMessage))
	case l.bands[band].len() >= l.o.Capacity, l.bytes > 0 && l.bytes+size > l.o.Bytes:
		return m.Refused(performatives.CodeBusy, "too many messages wait for the node "+l.o.Peer.Name)
	}
	l.bands[band].push(p)
	l.bytes += size
	return nil
}

// maxControls is the largest number of control texts that wait. They have at most MaxMessage bytes
// together.
const maxControls = 4096

// SendControl queues a text for the owner of the other end. The text overtakes all messages, has no
// number and is lost with the stream. SendControl reports false if the link does not take the text.
func (l *Link) SendControl(text []byte) bool {
	if !l.met || l.saidBye || len(l.controls) >= maxControls || l.controlBytes+len(text) > MaxMessage {
		return false
	}
	l.controls = append(l.controls, text)
	l.controlBytes += len(text)
	return true
}

// maxWait is the longest wait that a frame tells, in milliseconds.
const maxWait = 60_000

// Acknowledge has the next frame acknowledge all received messages, also if there is nothing else
// to send. It reports whether there are any without an acknowledgement.
func (l *Link) Acknowledge() bool {
	l.ackNow = l.ackPending
	return l.ackPending
}

// AckWaits reports whether an acknowledgement waits for a frame to go with, or for
// [Link.Acknowledge].
func (l *Link) AckWaits() bool { return l.ackPending && !l.ackDue() }

// ackDue reports whether a pending acknowledgement is sent alone.
func (l *Link) ackDue() bool {
	return !l.o.DelayAcks || l.ackNow || l.unackedBytes >= l.ackBytes
}

// Next returns the next frame to be written to the stream, and nil when there is none for now. now
// is the clock of this node, by which the peer translates deadlines.
func (l *Link) Next(now time.Time) []byte { return slices.Concat(l.NextParts(now, 0, newMemory)...) }

func newMemory(capacity int) []byte { return make([]byte, 0, capacity) }

// NextParts is Next for a stream that takes a frame in parts, which follow one another. They must
// not be changed. Short parts are joined in a slice from memory, which returns one of no length and
// of that capacity or more. The frame tells the peer how long messages of this end wait until they
// are acknowledged.
func (l *Link) NextParts(now time.Time, wait time.Duration, memory func(capacity int) []byte) [][]byte {
	switch {
	case !l.open:
		return nil
	case l.greets:
		l.greets = false
		return l.hello().parts(memory)
	case !l.met, l.saidBye:
		return nil
	}
	f := &l.scratch.out
	defer f.reset()
	f.controls, f.wait = l.controls, uint64(max(wait, 0).Milliseconds()) //nolint:gosec // not negative
	size := l.controlBytes
	l.controls, l.controlBytes = nil, 0
	l.pack(f, size, now)
	if l.finishing && !l.saidLast {
		l.saidLast, f.last = true, true
	}
	if len(f.controls) == 0 && len(f.envelopes) == 0 && !f.last && (!l.ackPending || !l.ackDue()) {
		if !l.finishing || l.Pending() > 0 {
			return nil
		}
		l.saidBye, f.bye = true, "the node stops"
	}
	if l.ackPending || f.last {
		l.ackPending, l.ackNow, l.unackedBytes, f.ack = false, false, 0, l.received
	}
	return f.parts(memory)
}

// pack puts messages into a frame that has size bytes: first those to be sent again, then new ones
// as long as the window has room. There are none for a peer that does not take them in.
func (l *Link) pack(f *frame, size int, now time.Time) {
	for !l.gotLast {
		if l.resent == l.flight.len() && !l.take() {
			return
		}
		p := l.flight.all()[l.resent]
		if size > 0 && size+len(p.data) > l.batch {
			return
		}
		if len(f.envelopes) == 0 {
			f.first, f.sent = l.next-uint64(l.flight.len()-l.resent), now.UnixNano()
		}
		if origin := p.message.Origin(); origin != (performatives.Origin{}) {
			f.origins = append(f.origins, originOf{len(f.envelopes), origin})
		}
		f.envelopes = append(f.envelopes, p.data)
		size += len(p.data)
		l.resent++
		l.pace.sent(l.next-uint64(l.flight.len()-l.resent)-1, now)
	}
}

// take numbers the next waiting message, of the highest band that has one. It reports false if
// there is none, or no room in the window.
func (l *Link) take() bool {
	for band := range slices.Backward(l.bands[:]) {
		if l.bands[band].len() == 0 {
			continue
		}
		p := l.bands[band].all()[0]
		if l.weight >= min(l.ackBytes, l.pace.limit) && l.weight+len(p.data) > l.pace.limit {
			l.pace.full = true
			return false
		}
		l.bands[band].pop()
		l.bytes -= len(p.data)
		l.flight.push(p)
		l.weight += len(p.data)
		l.next++
		return true
	}
	return false
}

// Inbound is a received message that is new.
type Inbound struct {
	Data   []byte // its form, as package grpc reads it; part of the frame
	Origin performatives.Origin
	Ahead  time.Duration // how far the clock of this node is ahead of the sender's, and the time on the way: to be added to deadlines
}

// Local changes the message that was read from Data to what it is for this node, and returns it:
// with its deadline by the clock of this node, with the time at which it arrived here, and with its
// principal. It is called once for each message, before any other goroutine has it.
func (in Inbound) Local(m *performatives.Message) *performatives.Message {
	m.ShiftReplyBy(in.Ahead)
	m.SetOrigin(in.Origin)
	m.Arrive(time.Now())
	return m
}

// Received is the content of a frame, and its effect on the session. Messages is valid until the
// next call of [Link.Receive].
type Received struct {
	Messages []Inbound
	Controls [][]byte // parts of the frame
	Met      bool     // the two ends know each other now
	Over     bool     // the session of this end is over, since the other end does not continue it: its agents are lost
	Returned []Returned
	// Wait is how long messages of the peer wait, as it estimates.
	Wait time.Duration
}

// ErrClosed is wrapped by the error of [Link.Receive] for the frame by which the peer closes or
// refuses the link.
var ErrClosed = errors.New("has closed the link")

// errStream is wrapped by the errors that end a stream.
var errStream = errors.New("link")

func streamError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errStream, fmt.Sprintf(format, args...))
}

// Receive takes in a frame of the stream. After an error the stream must be closed. An error leaves
// the link unchanged, except that a bye is recorded.
func (l *Link) Receive(data []byte, now time.Time) (Received, error) {
	f := &l.scratch.in
	defer f.reset()
	if err := f.read(data); err != nil {
		return Received{}, err
	}
	var r Received
	var err error
	if f.hello != nil {
		if r, err = l.meet(*f.hello); err != nil {
			return Received{}, err
		}
	}
	switch last := f.first + uint64(len(f.envelopes)); {
	case f.bye != "":
		l.gotLast = l.gotLast || l.met // a former build says only its bye; the ends have not met if the link is refused
		return r, fmt.Errorf("%w: the node %s %w: %s", errStream, l.o.Peer.Name, ErrClosed, f.bye)
	case !l.met && (f.ack != 0 || f.last || len(f.envelopes) > 0 || len(f.controls) > 0):
		return Received{}, streamError("the node %s has sent messages before its hello", l.o.Peer.Name)
	case f.ack >= l.next:
		return Received{}, streamError("the node %s acknowledges the message %d, which was not sent", l.o.Peer.Name, f.ack)
	case !l.finishing && len(f.envelopes) > 0 && (f.first == 0 || f.first > l.received+1 || last < f.first):
		return Received{}, streamError("the message %d of the node %s follows %d", f.first, l.o.Peer.Name, l.received)
	}
	l.acknowledge(f.ack)
	l.pace.acknowledged(f.ack, now, l.o.Window)
	l.gotLast = l.gotLast || f.last
	r.Wait = time.Duration(min(f.wait, maxWait)) * time.Millisecond
	if !l.finishing {
		r.Controls = f.controls
		l.unpack(f, &r, now)
	}
	return r, nil
}

// unpack takes the messages of a frame that are new.
func (l *Link) unpack(f *frame, r *Received, now time.Time) {
	if len(f.envelopes) == 0 {
		return
	}
	r.Messages = emptied(l.scratch.messages)
	origins := f.origins
	for i, envelope := range f.envelopes {
		m := Inbound{Data: envelope, Ahead: time.Duration(now.UnixNano() - f.sent)}
		if len(origins) > 0 && origins[0].index == i {
			m.Origin, origins = origins[0].Origin, origins[1:]
		}
		l.ackPending = true
		l.unackedBytes += len(envelope)
		if number := f.first + uint64(i); number > l.received {
			l.received = number
			r.Messages = append(r.Messages, m)
		}
	}
	l.scratch.messages = r.Messages
}

// acknowledge drops the messages that the peer has received.
func (l *Link) acknowledge(number uint64) {
	first := l.next - uint64(l.flight.len())
	if number < first {
		return
	}
	l.batch = min(2*l.batch, l.o.Batch)
	n := int(number - first + 1)
	for range n {
		p := l.flight.pop()
		l.weight -= len(p.data)
		p.release()
	}
	l.resent = max(0, l.resent-n)
}

// hello returns the first frame of this end.
func (l *Link) hello() *frame {
	h := &hello{
		from: l.o.Self, to: l.o.Peer, session: l.session, floor: l.floor, minVersion: minVersion, maxVersion: maxVersion, tables: l.o.Tables,
	}
	if l.theirs >= l.floor {
		h.theirs, h.received = l.theirs, l.received
	}
	return &frame{hello: h}
}

// meet handles the hello of the peer.
func (l *Link) meet(h hello) (r Received, err error) {
	switch {
	case h.from != l.o.Peer || h.to != l.o.Self:
		return r, streamError("%v wants a link to %v; this is one of %v to %v", h.from, h.to, l.o.Self, l.o.Peer)
	case h.minVersion > maxVersion || h.maxVersion < minVersion:
		return r, streamError("the node %s speaks the versions %d to %d of links, and the node %s %d to %d",
			l.o.Peer.Name, h.minVersion, h.maxVersion, l.o.Self.Name, minVersion, maxVersion)
	case h.theirs == l.session && h.received >= l.next:
		return r, streamError("the node %s has received the message %d, which was not sent", l.o.Peer.Name, h.received)
	}
	l.met = false
	switch {
	case l.session < h.floor:
		r.Over, r.Returned = true, l.restart(h.floor)
	case h.theirs == l.session:
		l.acknowledge(h.received)
	case h.session == l.theirs: // the peer goes on with its session, and has not read a hello of ours yet
	case l.next > 1, h.theirs == 0 && l.floor <= l.theirs && l.theirs > 0: // the peer has lost its state of our session
		r.Over, r.Returned = true, l.restart(l.session+1)
	}
	if h.theirs != 0 && h.theirs < l.o.Session { // its session is with an earlier Link of this node
		l.floor, l.greets = h.session+1, true
	}
	if h.session < max(l.floor, l.theirs) {
		return r, nil // it says hello again, with another session, when it has read ours
	}
	if h.session > l.theirs {
		l.theirs, l.received = h.session, 0
		l.ackPending, l.ackNow, l.unackedBytes = false, false, 0 // they were of the session before
	}
	l.met, r.Met, l.gotLast = true, true, false
	l.differ = differing(l.o.Tables, h.tables)
	return r, nil
}

// differing returns the names that both have with different hashes, sorted.
func differing(ours, theirs map[string]uint64) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if hash, both := theirs[name]; both && hash != ours[name] {
			names = append(names, name)
		}
	}
	return names
}

// restart begins a new session of this end, and returns the unacknowledged messages of the previous
// one.
func (l *Link) restart(session uint64) (all []Returned) {
	for l.flight.len() > 0 {
		p := l.flight.pop()
		all = append(all, Returned{p.message, !l.gotLast})
		p.release()
	}
	for band := range l.bands {
		for l.bands[band].len() > 0 {
			p := l.bands[band].pop()
			all = append(all, Returned{p.message, false})
			p.release()
		}
	}
	l.weight, l.resent, l.bytes, l.pace.probe = 0, 0, 0, 0
	l.session, l.next, l.greets = session, 1, true
	return all
}

// End gives the other end up: both sessions are over, and further messages of the peer's session
// are not accepted. End returns the unacknowledged messages. The link may be opened again, for new
// sessions.
func (l *Link) End() []Returned {
	l.Close()
	l.floor = l.theirs + 1
	all := l.restart(l.session + 1)
	l.greets = false
	return all
}

// Bye returns a frame that refuses a link, with the reason. The stream must be closed after it.
func Bye(reason string) []byte { return (&frame{bye: reason}).append(nil) }
