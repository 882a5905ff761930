package tcp

import (
	"bytes"
	"testing"

	"github.com/ribosome-agents/ribosome/wire"
)

// ends are two ends of the versioned form; what one writes, the other reads when told.
type ends struct {
	conn *conn
	tape *tape
	in   *bytes.Buffer
}

func newEnd() ends {
	in := new(bytes.Buffer)
	c, t := play(in, versioned, true, 1<<20)
	return ends{c, t, in}
}

func (e ends) write(t *testing.T, k wire.Kind) {
	t.Helper()
	if err := e.conn.Write([]wire.Frame{{Kind: k}}); err != nil {
		t.Fatal(err)
	}
}

// hear takes what the other end has written, and returns the kind of it, once.
func (e ends) hear(other ends) (kinds []wire.Kind) {
	e.in.Write(other.tape.out.Bytes())
	other.tape.out.Reset()
	_, _ = e.conn.Read(func(f wire.Frame) {
		if f.Kind != wire.KindClose { // the end of what there is
			kinds = append(kinds, f.Kind)
		}
	})
	return kinds
}

func wantKinds(t *testing.T, what string, got []wire.Kind, want ...wire.Kind) {
	t.Helper()
	if len(got) != len(want) || len(want) == 1 && got[0] != want[0] {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// A health check has one answer, and its answer none.
func TestHealthCheck(t *testing.T) {
	a, b := newEnd(), newEnd()
	for range 3 {
		a.write(t, wire.KindPing)
		wantKinds(t, "b is asked", b.hear(a), wire.KindPing)
		b.write(t, wire.KindPong)
		wantKinds(t, "a is answered", a.hear(b), wire.KindPong)
	}
	b.write(t, wire.KindPing)
	wantKinds(t, "a is asked", a.hear(b), wire.KindPing)
}

// Two that ask at the same time are both answered by that, and nobody writes again.
func TestHealthChecksCross(t *testing.T) {
	a, b := newEnd(), newEnd()
	a.write(t, wire.KindPing)
	b.write(t, wire.KindPing)
	wantKinds(t, "a", a.hear(b), wire.KindPong)
	wantKinds(t, "b", b.hear(a), wire.KindPong)
}
