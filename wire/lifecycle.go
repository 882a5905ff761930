package wire

import (
	"cmp"
	"encoding/binary"
	"errors"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// lifecycle is the state machine of a session. It decides when to ping the peer, when to end
// the session, and how. It is pure: events carry their time, and step returns the effects
// that the session must perform.
type lifecycle struct {
	state         state
	keep          KeepAlive
	closeTime     time.Duration // longest duration of stateClosing
	authDeadline  time.Time     // deadline for the peer's authentication; zero for none
	lastReceived  time.Time     // when the peer last sent a frame
	closeDeadline time.Time
	pingSent      bool // a ping has been sent since lastReceived
	peerDone      bool // the peer sends nothing more
	localDone     bool // this end sends nothing more
	reason        error
}

// state is the state of a session.
type state uint8

const (
	stateOpening state = iota // the peer has not authenticated
	stateOpen
	stateClosing // this end has queued its last frames
	stateClosed
)

// eventKind is the kind of an event.
type eventKind uint8

const (
	receivedData eventKind = iota
	receivedPing           // data is the ping's data
	receivedPong
	receivedError // refusal is the error of the peer
	receivedClose
	authenticated  // the peer has authenticated
	timerFired     // the timer fired
	violation      // the peer violated the framing or a limit: refusal is sent to it
	connectionLost // the connection is lost
	peerClosed     // Read returned io.EOF
	stopRequested  // Stop or Dismiss was called
	outboxFlushed  // everything queued before closing has been written
	writeFailed    // a write failed, so that nothing more can be written
)

// event is one input of the state machine.
type event struct {
	kind    eventKind
	at      time.Time
	data    []byte
	err     error
	refusal *performatives.Refusal // of violation, receivedError and stopRequested
	busy    bool                   // of timerFired: the reader is busy with a frame and not reading
}

// effects are the actions that a session performs after an event. The writer writes last
// after everything queued and then reports outboxFlushed.
type effects struct {
	send        []Frame
	last        []Frame
	seal        bool // refuse further writes
	stopReading bool // discard everything that the peer sends from now on
	arm         bool // next returns an earlier time than before
	end         bool
}

// step applies an event and returns its effects. In stateClosed it ignores every event.
func (l *lifecycle) step(e event) effects {
	if l.state == stateClosed {
		return effects{}
	}
	switch e.kind {
	case receivedData, receivedPing, receivedPong, receivedError, receivedClose:
		return l.receive(e)
	case authenticated:
		if l.state == stateOpening {
			l.state = stateOpen
		}
		return effects{}
	case timerFired:
		return l.tick(e.at, e.busy)
	case violation:
		return l.abort(e)
	case stopRequested:
		if e.refusal != nil {
			return l.close(e.at, e.err, Frame{Kind: KindError, Err: e.refusal})
		}
		return l.close(e.at, e.err)
	case connectionLost:
		return l.endUnlessFailed(e.err)
	case writeFailed:
		return l.stopWriting(e.at, e.err)
	case peerClosed:
		if l.state != stateClosing {
			return l.end(ErrHungUp)
		}
		l.peerDone = true
		return l.endWhenDone()
	case outboxFlushed:
		l.localDone = true
		return l.endWhenDone()
	}
	return effects{}
}

// endWhenDone ends a closing session when neither end sends anything more.
func (l *lifecycle) endWhenDone() effects {
	if l.peerDone && l.localDone {
		return l.end(l.reason)
	}
	return effects{}
}

// receive handles a frame from the peer.
func (l *lifecycle) receive(e event) effects {
	answered := l.pingSent
	l.lastReceived, l.pingSent = e.at, false
	switch {
	case e.kind == receivedPing && l.state != stateClosing:
		return effects{send: []Frame{{Kind: KindPong, Data: e.data}}, arm: answered}
	case e.kind == receivedError:
		return l.peerFailed(e)
	case e.kind == receivedClose:
		l.peerDone = true
		if l.state == stateClosing {
			return l.endWhenDone()
		}
		return l.close(e.at, nil)
	}
	return effects{arm: answered}
}

// peerFailed ends the session with the peer's error, after a CLOSE frame: a WebSocket wants each
// close frame answered (RFC 6455 §5.5.1), whatever its code.
func (l *lifecycle) peerFailed(e event) effects {
	l.peerDone = true
	do := l.close(e.at, nil)
	l.reason = &PeerError{e.refusal}
	if l.localDone {
		return l.end(l.reason)
	}
	return do
}

// close starts an orderly end: the writer writes everything queued, then frames, then a CLOSE
// frame.
func (l *lifecycle) close(at time.Time, reason error, frames ...Frame) effects {
	if l.state == stateClosing {
		return effects{}
	}
	l.state, l.reason, l.closeDeadline = stateClosing, reason, at.Add(l.closeTime)
	var text []byte
	if reason != nil {
		text = []byte(publicText(reason))
	}
	return effects{last: append(frames, Frame{Kind: KindClose, Data: text}), arm: true}
}

// abort sends an error and a CLOSE frame to the peer. Everything that the peer sends
// afterwards is discarded.
func (l *lifecycle) abort(e event) effects {
	l.peerDone = true
	var do effects
	if l.state == stateClosing {
		do = l.endWhenDone()
	} else {
		do = l.close(e.at, e.err, Frame{Kind: KindError, Err: e.refusal})
	}
	do.stopReading = true
	return do
}

// stopWriting handles a failed write. The session continues to read, because the peer may
// have sent replies or an error before it closed the connection.
func (l *lifecycle) stopWriting(at time.Time, reason error) effects {
	if errors.Is(reason, ErrSlow) { // the peer is connected and does not read
		return l.endUnlessFailed(reason)
	}
	if l.state != stateClosing {
		l.state, l.closeDeadline = stateClosing, at.Add(l.closeTime)
	}
	l.localDone, l.reason = true, cmp.Or(l.reason, reason)
	if l.peerDone {
		return l.end(l.reason)
	}
	return effects{seal: true, arm: true}
}

// endUnlessFailed ends the session for reason, or for the peer's error if there was one before: the
// peer may close the connection right after it.
func (l *lifecycle) endUnlessFailed(reason error) effects {
	var failed *PeerError
	if errors.As(l.reason, &failed) {
		reason = l.reason
	}
	return l.end(reason)
}

func (l *lifecycle) end(reason error) effects {
	l.state, l.reason = stateClosed, reason
	return effects{end: true}
}

// tick handles the timer: the deadlines for closing and authentication, and keep-alive.
func (l *lifecycle) tick(now time.Time, busy bool) effects {
	switch {
	case l.state == stateClosing:
		if !now.Before(l.closeDeadline) {
			return l.end(l.reason)
		}
		return effects{}
	case l.state == stateOpening && !l.authDeadline.IsZero() && !now.Before(l.authDeadline):
		refusal := &performatives.Refusal{Code: performatives.CodeUnauthorized, Text: "the peer did not authenticate in time"}
		return l.abort(event{at: now, err: refusal, refusal: refusal})
	}
	silence := now.Sub(l.lastReceived)
	switch {
	case l.keep.Timeout > 0 && silence >= l.keep.Timeout && busy: // frames of the peer may be waiting to be read
		l.lastReceived, l.pingSent = now, false
	case l.keep.Timeout > 0 && silence >= l.keep.Timeout:
		return l.end(ErrDead)
	case l.keep.Interval > 0 && silence >= l.keep.Interval && !l.pingSent:
		l.pingSent = true
		return effects{send: []Frame{{Kind: KindPing, Data: timestamp(now)}}}
	}
	return effects{}
}

// next returns when tick must run if no other event occurs. Zero means never.
func (l *lifecycle) next() time.Time {
	switch l.state {
	case stateClosed:
		return time.Time{}
	case stateClosing:
		return l.closeDeadline
	case stateOpening, stateOpen:
	}
	var next time.Time
	if l.keep.Timeout > 0 {
		next = l.lastReceived.Add(l.keep.Timeout)
	}
	if l.keep.Interval > 0 && !l.pingSent {
		next = earlier(next, l.lastReceived.Add(l.keep.Interval))
	}
	if l.state == stateOpening {
		next = earlier(next, l.authDeadline)
	}
	return next
}

// earlier returns the earlier of two times. A zero time means none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// timestamp is the payload of a ping: milliseconds since 1970 in eight bytes, big-endian
// (wire specification, Binary Encoding Example).
func timestamp(t time.Time) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(t.UnixMilli()))
}
