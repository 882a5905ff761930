package wire

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

var start = time.Unix(1_000, 0)

// at returns the time a number of seconds after start.
func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func newLifecycle(s state) *lifecycle {
	return &lifecycle{
		state: s, keep: KeepAlive{Interval: 30 * time.Second, Timeout: 60 * time.Second}, closeTime: 5 * time.Second,
		authDeadline: at(10), lastReceived: start,
	}
}

func TestSilentPeerIsPingedThenDead(t *testing.T) {
	l := newLifecycle(stateOpen)
	if e := l.step(event{kind: timerFired, at: at(30)}); len(e.send) != 1 || e.send[0].Kind != KindPing || len(e.send[0].Data) != 8 {
		t.Fatalf("after 30 s of silence: %+v", e)
	}
	if e := l.step(event{kind: timerFired, at: at(59)}); len(e.send) != 0 || e.end {
		t.Fatalf("a second ping or an end before the timeout: %+v", e)
	}
	if e := l.step(event{kind: timerFired, at: at(60)}); !e.end || !errors.Is(l.reason, ErrDead) {
		t.Fatalf("after 60 s of silence: %+v, %v", e, l.reason)
	}
}

func TestAnyFrameResetsKeepAlive(t *testing.T) {
	for _, heard := range []eventKind{receivedData, receivedPing, receivedPong} {
		l := newLifecycle(stateOpen)
		l.step(event{kind: timerFired, at: at(30)})
		if e := l.step(event{kind: heard, at: at(45)}); !e.arm {
			t.Errorf("%d: the timer is not armed again after a ping was answered", heard)
		}
		if next := l.next(); !next.Equal(at(75)) {
			t.Errorf("%d: next is at %v", heard, next.Sub(start))
		}
		if e := l.step(event{kind: timerFired, at: at(75)}); len(e.send) != 1 || e.end {
			t.Errorf("%d: %+v", heard, e)
		}
	}
}

// While frames of the peer may wait to be read, its silence does not end the session.
func TestSilenceOfABusySession(t *testing.T) {
	l := newLifecycle(stateOpen)
	l.step(event{kind: timerFired, at: at(30)})
	if e := l.step(event{kind: timerFired, at: at(60), busy: true}); e.end || len(e.send) > 0 {
		t.Errorf("after 60 s: %+v", e)
	}
	if e := l.step(event{kind: timerFired, at: at(90)}); e.end || len(e.send) != 1 {
		t.Errorf("after 30 s more: %+v", e)
	}
	if e := l.step(event{kind: timerFired, at: at(120)}); !e.end || !errors.Is(l.reason, ErrDead) {
		t.Errorf("after 60 s more: %+v, %v", e, l.reason)
	}
	for name, keep := range map[string]KeepAlive{"no timeout": {Interval: 30 * time.Second, Timeout: -1}, "no interval": {Interval: -1, Timeout: 60 * time.Second}} {
		for _, busy := range []bool{false, true} {
			l := newLifecycle(stateOpen)
			l.keep = keep
			e := l.step(event{kind: timerFired, at: at(60), busy: busy})
			if e.end != (keep.Timeout > 0 && !busy) || len(e.send) > 0 != (keep.Interval > 0) {
				t.Errorf("%s, busy: %v: %+v", name, busy, e)
			}
		}
	}
}

func TestLifecycleWithoutKeepAlive(t *testing.T) {
	l := newLifecycle(stateOpen)
	l.keep = KeepAlive{Interval: -1, Timeout: -1}
	if !l.next().IsZero() {
		t.Error("the timer is armed without keep-alive")
	}
	if e := l.step(event{kind: timerFired, at: at(1_000_000)}); e.end || len(e.send) > 0 {
		t.Errorf("%+v", e)
	}
}

func TestAuthenticationTimeout(t *testing.T) {
	l := newLifecycle(stateOpening)
	if next := l.next(); !next.Equal(at(10)) {
		t.Fatalf("next is after %v", next.Sub(start))
	}
	e := l.step(event{kind: timerFired, at: at(10)})
	if len(e.last) != 2 || e.last[0].Kind != KindError || !errors.Is(e.last[0].Err, performatives.CodeUnauthorized) || e.last[1].Kind != KindClose {
		t.Errorf("without authentication: %+v", e)
	}
	if e := l.step(event{kind: outboxFlushed}); !e.end || !errors.Is(l.reason, performatives.CodeUnauthorized) {
		t.Errorf("%+v, %v", e, l.reason)
	}

	l = newLifecycle(stateOpening)
	l.step(event{kind: authenticated})
	if e := l.step(event{kind: timerFired, at: at(10)}); len(e.last) != 0 {
		t.Errorf("after authentication: %+v", e)
	}
}

func TestLifecycleEnds(t *testing.T) {
	broken := &performatives.Refusal{Code: performatives.CodeParsingError, Text: "no frame"}
	for name, c := range map[string]struct {
		events []event
		want   error
	}{
		"local close":                   {[]event{{kind: stopRequested}, {kind: outboxFlushed}, {kind: receivedClose}}, nil},
		"local close, peer EOF":         {[]event{{kind: stopRequested}, {kind: outboxFlushed}, {kind: peerClosed}}, nil},
		"peer close":                    {[]event{{kind: receivedClose}, {kind: outboxFlushed}}, nil},
		"both close before the flush":   {[]event{{kind: stopRequested}, {kind: receivedClose}, {kind: peerClosed}, {kind: outboxFlushed}}, nil},
		"EOF without close":             {[]event{{kind: peerClosed}}, ErrHungUp},
		"error from the peer":           {[]event{{kind: receivedError, refusal: broken}, {kind: outboxFlushed}}, performatives.CodeParsingError},
		"peer error, EOF":               {[]event{{kind: receivedError, refusal: broken}, {kind: peerClosed}, {kind: outboxFlushed}}, performatives.CodeParsingError},
		"peer error, CLOSE":             {[]event{{kind: receivedError, refusal: broken}, {kind: receivedClose}, {kind: outboxFlushed}}, performatives.CodeParsingError},
		"peer error, connection lost":   {[]event{{kind: receivedError, refusal: broken}, {kind: connectionLost, err: io.ErrUnexpectedEOF}}, performatives.CodeParsingError},
		"peer error, write failed":      {[]event{{kind: receivedError, refusal: broken}, {kind: writeFailed, err: io.ErrClosedPipe}}, performatives.CodeParsingError},
		"peer error, write timeout":     {[]event{{kind: receivedError, refusal: broken}, {kind: writeFailed, err: ErrSlow}}, performatives.CodeParsingError},
		"peer error, close timeout":     {[]event{{kind: receivedError, refusal: broken}, {kind: timerFired, at: at(5)}}, performatives.CodeParsingError},
		"peer error while closing":      {[]event{{kind: stopRequested}, {kind: receivedError, refusal: broken}, {kind: outboxFlushed}}, performatives.CodeParsingError},
		"peer error after the flush":    {[]event{{kind: stopRequested}, {kind: outboxFlushed}, {kind: receivedError, refusal: broken}}, performatives.CodeParsingError},
		"connection lost":               {[]event{{kind: connectionLost, err: io.ErrUnexpectedEOF}}, io.ErrUnexpectedEOF},
		"violation":                     {[]event{{kind: violation, err: broken, refusal: broken}, {kind: outboxFlushed}}, performatives.CodeParsingError},
		"close timeout":                 {[]event{{kind: stopRequested}, {kind: outboxFlushed}, {kind: timerFired, at: at(5)}}, nil},
		"violation, close timeout":      {[]event{{kind: violation, err: broken, refusal: broken}, {kind: timerFired, at: at(5)}}, performatives.CodeParsingError},
		"violation while closing":       {[]event{{kind: stopRequested}, {kind: outboxFlushed}, {kind: violation, err: broken, refusal: broken}}, nil},
		"write failed, EOF":             {[]event{{kind: writeFailed, err: io.ErrClosedPipe}, {kind: peerClosed}}, io.ErrClosedPipe},
		"write failed, then peer error": {[]event{{kind: writeFailed, err: io.ErrClosedPipe}, {kind: receivedError, refusal: broken}}, performatives.CodeParsingError},
		"peer close, write failed":      {[]event{{kind: receivedClose}, {kind: writeFailed, err: io.ErrClosedPipe}}, io.ErrClosedPipe},
		"write failed, close timeout":   {[]event{{kind: writeFailed, err: io.ErrClosedPipe}, {kind: timerFired, at: at(5)}}, io.ErrClosedPipe},
		"write failed while closing":    {[]event{{kind: stopRequested}, {kind: writeFailed, err: io.ErrClosedPipe}, {kind: peerClosed}}, io.ErrClosedPipe},
		"write timeout":                 {[]event{{kind: writeFailed, err: ErrSlow}}, ErrSlow},
	} {
		l := newLifecycle(stateOpen)
		var last effects
		for i, e := range c.events {
			if e.at.IsZero() {
				e.at = start
			}
			if last.end {
				t.Errorf("%s: ended before event %d", name, i)
			}
			last = l.step(e)
		}
		if !last.end || !errors.Is(l.reason, c.want) {
			t.Errorf("%s: end %v, %v; want %v", name, last.end, l.reason, c.want)
		}
	}
}

// The session answers the peer's error with one CLOSE frame and no error of its own.
func TestPeerErrorIsAnswered(t *testing.T) {
	l := newLifecycle(stateOpen)
	e := l.step(event{kind: receivedError, at: start, refusal: &performatives.Refusal{Code: performatives.CodeForbidden}})
	if len(e.last) != 1 || e.last[0].Kind != KindClose || len(e.last[0].Data) > 0 || e.end {
		t.Errorf("after the peer's error: %+v", e)
	}
}

// FuzzLifecycle applies events in any order. The session sends at most one CLOSE frame, has
// no effects after its end, can always be ended, and never sets its timer to a time that has
// passed.
func FuzzLifecycle(f *testing.F) {
	f.Add([]byte{0, 0, 6, 30, 6, 30, 6, 1})
	f.Add([]byte{10, 0, 11, 0, 4, 0})
	f.Add([]byte{5, 0, 201, 60, 201, 60, 6, 60})
	f.Add([]byte{7, 0, 4, 0, 9, 0, 11, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		l := newLifecycle(stateOpening)
		now, closes, ended := start, 0, false
		do := func(e event) {
			out := l.step(e)
			for _, frame := range out.last {
				if frame.Kind == KindClose {
					closes++
				}
			}
			if ended && (out.end || len(out.send)+len(out.last) > 0) {
				t.Fatalf("effects after the end: %+v", out)
			}
			ended = ended || out.end
			next := l.next()
			if ended != next.IsZero() {
				t.Fatalf("ended %v, and next is %v", ended, next)
			}
			if e.kind == timerFired && !ended && !next.After(e.at) {
				t.Fatalf("the timer spins: next is %v before now", e.at.Sub(next))
			}
		}
		for i := 0; i+1 < len(script); i += 2 {
			now = now.Add(time.Duration(script[i+1]) * time.Second)
			do(event{kind: eventKind(script[i]) % (writeFailed + 1), at: now, err: ErrSlow, busy: script[i]&0x80 != 0})
		}
		do(event{kind: stopRequested, at: now})
		do(event{kind: timerFired, at: now.Add(time.Hour)})
		if !ended || closes > 1 {
			t.Fatalf("ended %v, closed %d times", ended, closes)
		}
	})
}
