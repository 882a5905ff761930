package wire

import (
	"cmp"
	"encoding/binary"
	"errors"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// life is the state machine of a session: when it pings, when it gives its peer up, and
// how it ends. It is pure: what happens comes in as an event, with its time; what is to
// be done goes out as an effect.
type life struct {
	state   state
	keep    KeepAlive
	closes  time.Duration // how long closing may take
	authBy  time.Time     // until when the peer has to authenticate; zero: it need not
	heard   time.Time     // when the peer last said anything
	closeBy time.Time
	asked   bool // a ping is out
	slow    bool // the peer does not read
	hungUp  bool // the peer says nothing more
	flushed bool // nor does this end
	reason  error
}

// state is where a session is.
type state uint8

const (
	stateOpening state = iota // the peer has not authenticated
	stateOpen
	stateClosing // this end says nothing more
	stateClosed
)

// happening is what an event is about.
type happening uint8

const (
	heardData happening = iota
	heardPing           // with the ping's data
	heardPong
	heardError // with what the peer says was wrong
	heardClose
	proved    // the peer has authenticated
	ticked    // time has passed
	broke     // the peer broke the framing, or a rule of the session: err tells it
	lost      // the connection is gone
	hungUp    // the peer closed without a word
	stopping  // this end wants to close
	flushed   // all that was queued when closing began has been written
	overflown // the peer does not read
	unwritten // a write failed, and nothing more can be written
)

// event is one thing that happens to a session.
type event struct {
	what happening
	at   time.Time
	data []byte
	err  error
	tell *performatives.Refusal // of broke, and of heardError
	busy bool                   // of ticked: this end has not listened all the while
}

// effects are what a session does about an event. last is written after all that waits,
// and then flushed is due; end closes the connection.
type effects struct {
	send []Frame
	last []Frame
	seal bool // nothing more is to be written
	deaf bool // what else the peer says, nobody reads
	arm  bool // next has come nearer
	end  bool
}

// step changes the state and says what to do. After its end a session does nothing.
func (l *life) step(e event) effects {
	if l.state == stateClosed {
		return effects{}
	}
	switch e.what {
	case heardData, heardPing, heardPong, heardError, heardClose:
		return l.hear(e)
	case proved:
		if l.state == stateOpening {
			l.state = stateOpen
		}
		return effects{}
	case ticked:
		return l.tick(e.at, e.busy)
	case broke:
		return l.giveUp(e)
	case stopping:
		return l.close(e.at, e.err)
	case lost:
		return l.end(e.err)
	case overflown:
		l.slow = true // tick sees, since who sends must not wait for the end
		return effects{arm: true}
	case unwritten:
		return l.cutOff(e.at, e.err)
	case hungUp:
		if l.state != stateClosing {
			return l.end(ErrHungUp)
		}
		l.hungUp = true
		return l.settle()
	case flushed:
		l.flushed = true
		return l.settle()
	}
	return effects{}
}

// settle ends a session that closes, once neither end has anything more to say.
func (l *life) settle() effects {
	if l.hungUp && l.flushed {
		return l.end(l.reason)
	}
	return effects{}
}

// hear is anything that the peer says.
func (l *life) hear(e event) effects {
	answered := l.asked
	l.heard, l.asked = e.at, false
	switch {
	case e.what == heardPing && l.state != stateClosing:
		return effects{send: []Frame{{Kind: KindPong, Data: e.data}}, arm: answered}
	case e.what == heardError:
		return l.end(&PeerError{e.tell})
	case e.what == heardClose:
		l.hungUp = true
		if l.state == stateClosing {
			return l.settle()
		}
		return l.close(e.at, nil)
	}
	return effects{arm: answered}
}

// close begins the end: what is queued is written, then frames and that this end
// closes.
func (l *life) close(at time.Time, reason error, frames ...Frame) effects {
	if l.state == stateClosing {
		return effects{}
	}
	l.state, l.reason, l.closeBy = stateClosing, reason, at.Add(l.closes)
	var text []byte
	if reason != nil {
		text = []byte(publicText(reason))
	}
	return effects{last: append(frames, Frame{Kind: KindClose, Data: text}), arm: true}
}

// giveUp tells the peer what is wrong, and that this is the end. Whatever it says, nobody
// reads it.
func (l *life) giveUp(e event) effects {
	l.hungUp = true
	var do effects
	if l.state == stateClosing {
		do = l.settle()
	} else {
		do = l.close(e.at, e.err, Frame{Kind: KindError, Err: e.tell})
	}
	do.deaf = true
	return do
}

// cutOff is when the peer takes nothing more. It has perhaps said why, or answered what it
// got, before it left: that is still read.
func (l *life) cutOff(at time.Time, reason error) effects {
	if errors.Is(reason, ErrSlow) { // it is there, and does not read
		return l.end(reason)
	}
	if l.state != stateClosing {
		l.state, l.closeBy = stateClosing, at.Add(l.closes)
	}
	l.flushed, l.reason = true, cmp.Or(l.reason, reason)
	if l.hungUp {
		return l.end(l.reason)
	}
	return effects{seal: true, arm: true}
}

func (l *life) end(reason error) effects {
	l.state, l.reason = stateClosed, reason
	return effects{end: true}
}

// tick looks at the clock.
func (l *life) tick(now time.Time, busy bool) effects {
	switch {
	case l.state == stateClosing:
		if !now.Before(l.closeBy) {
			return l.end(l.reason)
		}
		return effects{}
	case l.slow:
		return l.end(ErrSlow)
	case l.state == stateOpening && !l.authBy.IsZero() && !now.Before(l.authBy):
		refusal := &performatives.Refusal{Code: performatives.CodeUnauthorized, Text: "nobody has authenticated in time"}
		return l.giveUp(event{at: now, err: refusal, tell: refusal})
	}
	silence := now.Sub(l.heard)
	switch {
	case l.keep.Timeout > 0 && silence >= l.keep.Timeout && busy: // who knows what it has said
		l.heard, l.asked = now, false
	case l.keep.Timeout > 0 && silence >= l.keep.Timeout:
		return l.end(ErrDead)
	case l.keep.Interval > 0 && silence >= l.keep.Interval && !l.asked:
		l.asked = true
		return effects{send: []Frame{{Kind: KindPing, Data: timestamp(now)}}}
	}
	return effects{}
}

// next is when tick has something to do, if nothing happens before; zero for never.
func (l *life) next() time.Time {
	switch l.state {
	case stateClosed:
		return time.Time{}
	case stateClosing:
		return l.closeBy
	case stateOpening, stateOpen:
	}
	if l.slow {
		return l.heard // at once
	}
	var next time.Time
	if l.keep.Timeout > 0 {
		next = l.heard.Add(l.keep.Timeout)
	}
	if l.keep.Interval > 0 && !l.asked {
		next = earlier(next, l.heard.Add(l.keep.Interval))
	}
	if l.state == stateOpening {
		next = earlier(next, l.authBy)
	}
	return next
}

// earlier returns the earlier of two times; a zero one is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// timestamp is the payload of a ping: milliseconds since 1970, in eight bytes (wire,
// Binary Encoding Example).
func timestamp(t time.Time) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(t.UnixMilli()))
}
