package wire

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

var start = time.Unix(1_000, 0)

// at is a time in the life of a test.
func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func newLife(s state) *life {
	return &life{
		state: s, keep: KeepAlive{Interval: 30 * time.Second, Timeout: 60 * time.Second}, closes: 5 * time.Second,
		authBy: at(10), heard: start,
	}
}

func TestLifePingsAndGivesUp(t *testing.T) {
	l := newLife(stateOpen)
	if e := l.step(event{what: ticked, at: at(30)}); len(e.send) != 1 || e.send[0].Kind != KindPing || len(e.send[0].Data) != 8 {
		t.Fatalf("after 30 s of silence: %+v", e)
	}
	if e := l.step(event{what: ticked, at: at(59)}); len(e.send) != 0 || e.end {
		t.Fatalf("a ping is out: %+v", e)
	}
	if e := l.step(event{what: ticked, at: at(60)}); !e.end || !errors.Is(l.reason, ErrDead) {
		t.Fatalf("after 60 s of silence: %+v, %v", e, l.reason)
	}
}

func TestLifeGoesOnWhenThePeerSaysAnything(t *testing.T) {
	for _, heard := range []happening{heardData, heardPing, heardPong} {
		l := newLife(stateOpen)
		l.step(event{what: ticked, at: at(30)})
		if e := l.step(event{what: heard, at: at(45)}); !e.arm {
			t.Errorf("%d: the next ping is due earlier than the timer knows", heard)
		}
		if next := l.next(); !next.Equal(at(75)) {
			t.Errorf("%d: next is at %v", heard, next.Sub(start))
		}
		if e := l.step(event{what: ticked, at: at(75)}); len(e.send) != 1 || e.end {
			t.Errorf("%d: %+v", heard, e)
		}
	}
}

func TestLifeWithoutKeepAlive(t *testing.T) {
	l := newLife(stateOpen)
	l.keep = KeepAlive{Interval: -1, Timeout: -1}
	if !l.next().IsZero() {
		t.Error("there is something to wait for")
	}
	if e := l.step(event{what: ticked, at: at(1_000_000)}); e.end || len(e.send) > 0 {
		t.Errorf("%+v", e)
	}
}

func TestLifeAuthenticatesInTime(t *testing.T) {
	l := newLife(stateOpening)
	if next := l.next(); !next.Equal(at(10)) {
		t.Fatalf("next is after %v", next.Sub(start))
	}
	e := l.step(event{what: ticked, at: at(10)})
	if len(e.last) != 2 || e.last[0].Kind != KindError || !errors.Is(e.last[0].Err, performatives.CodeUnauthorized) || e.last[1].Kind != KindClose {
		t.Errorf("nobody has authenticated: %+v", e)
	}
	if e := l.step(event{what: flushed}); !e.end || !errors.Is(l.reason, performatives.CodeUnauthorized) {
		t.Errorf("%+v, %v", e, l.reason)
	}

	l = newLife(stateOpening)
	l.step(event{what: proved})
	if e := l.step(event{what: ticked, at: at(10)}); len(e.last) != 0 {
		t.Errorf("the peer has authenticated: %+v", e)
	}
}

func TestLifeEnds(t *testing.T) {
	broken := &performatives.Refusal{Code: performatives.CodeParsingError, Text: "no frame"}
	for name, c := range map[string]struct {
		events []event
		want   error
	}{
		"this end first":               {[]event{{what: stopping}, {what: flushed}, {what: heardClose}}, nil},
		"this end, and it hangs up":    {[]event{{what: stopping}, {what: flushed}, {what: hungUp}}, nil},
		"the peer first":               {[]event{{what: heardClose}, {what: flushed}}, nil},
		"both, before all is written":  {[]event{{what: stopping}, {what: heardClose}, {what: hungUp}, {what: flushed}}, nil},
		"the peer hangs up":            {[]event{{what: hungUp}}, ErrHungUp},
		"the peer gives up":            {[]event{{what: heardError, tell: broken}}, performatives.CodeParsingError},
		"the connection breaks":        {[]event{{what: lost, err: io.ErrUnexpectedEOF}}, io.ErrUnexpectedEOF},
		"the peer breaks a rule":       {[]event{{what: broke, err: broken, tell: broken}, {what: flushed}}, performatives.CodeParsingError},
		"the peer does not read":       {[]event{{what: overflown}, {what: ticked}}, ErrSlow},
		"the peer does not close":      {[]event{{what: stopping}, {what: flushed}, {what: ticked, at: at(5)}}, nil},
		"it breaks a rule, won't read": {[]event{{what: broke, err: broken, tell: broken}, {what: ticked, at: at(5)}}, performatives.CodeParsingError},
		"it breaks a rule at the end":  {[]event{{what: stopping}, {what: flushed}, {what: broke, err: broken, tell: broken}}, nil},
		"a write fails, and it left":   {[]event{{what: unwritten, err: io.ErrClosedPipe}, {what: hungUp}}, io.ErrClosedPipe},
		"a write fails, it said why":   {[]event{{what: unwritten, err: io.ErrClosedPipe}, {what: heardError, tell: broken}}, performatives.CodeParsingError},
		"a write fails, it closed":     {[]event{{what: heardClose}, {what: unwritten, err: io.ErrClosedPipe}}, io.ErrClosedPipe},
		"a write fails, and no more":   {[]event{{what: unwritten, err: io.ErrClosedPipe}, {what: ticked, at: at(5)}}, io.ErrClosedPipe},
		"a write fails, at the end":    {[]event{{what: stopping}, {what: unwritten, err: io.ErrClosedPipe}, {what: hungUp}}, io.ErrClosedPipe},
		"a write takes too long":       {[]event{{what: unwritten, err: ErrSlow}}, ErrSlow},
	} {
		l := newLife(stateOpen)
		var last effects
		for i, e := range c.events {
			if e.at.IsZero() {
				e.at = start
			}
			if last.end {
				t.Errorf("%s: over before event %d", name, i)
			}
			last = l.step(e)
		}
		if !last.end || !errors.Is(l.reason, c.want) {
			t.Errorf("%s: end %v, %v; want %v", name, last.end, l.reason, c.want)
		}
	}
}

// FuzzLife lets anything happen in any order: the session says that it closes at most
// once, nothing comes after its end, it can always be brought to one, and its timer does
// not spin.
func FuzzLife(f *testing.F) {
	f.Add([]byte{0, 0, 6, 30, 6, 30, 6, 1})
	f.Add([]byte{10, 0, 11, 0, 4, 0})
	f.Add([]byte{5, 0, 201, 60, 201, 60, 6, 60})
	f.Add([]byte{7, 0, 4, 0, 9, 0, 11, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		l := newLife(stateOpening)
		now, closes, ended := start, 0, false
		do := func(e event) {
			out := l.step(e)
			for _, frame := range out.last {
				if frame.Kind == KindClose {
					closes++
				}
			}
			if ended && (out.end || len(out.send)+len(out.last) > 0) {
				t.Fatalf("after its end: %+v", out)
			}
			ended = ended || out.end
			next := l.next()
			if ended != next.IsZero() {
				t.Fatalf("ended %v, and next is %v", ended, next)
			}
			if e.what == ticked && !ended && !next.After(e.at) {
				t.Fatalf("the timer spins: next is %v before now", e.at.Sub(next))
			}
		}
		for i := 0; i+1 < len(script); i += 2 {
			now = now.Add(time.Duration(script[i+1]) * time.Second)
			do(event{what: happening(script[i]) % (unwritten + 1), at: now, err: ErrSlow, busy: script[i]&0x80 != 0})
		}
		do(event{what: stopping, at: now})
		do(event{what: ticked, at: now.Add(time.Hour)})
		if !ended || closes > 1 {
			t.Fatalf("ended %v, closed %d times", ended, closes)
		}
	})
}
