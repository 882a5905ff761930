package tcp

import (
	"bytes"
	"testing"

	"github.com/ribosome-agents/ribosome/wire"
)

// versionedEnd is one end of a connection in the versioned form. Tests pass the written bytes
// to the other end.
type versionedEnd struct {
	conn *conn
	net  *scriptedNet
	in   *bytes.Buffer
}

func newVersionedEnd() versionedEnd {
	in := new(bytes.Buffer)
	c, t := newScripted(in, versioned, true, 1<<20)
	return versionedEnd{c, t, in}
}

func (e versionedEnd) write(t *testing.T, k wire.Kind) {
	t.Helper()
	if err := e.conn.Write([]wire.Frame{{Kind: k}}); err != nil {
		t.Fatal(err)
	}
}

// receive reads the bytes that the other end wrote, and returns the kinds of the frames.
func (e versionedEnd) receive(other versionedEnd) (kinds []wire.Kind) {
	e.in.Write(other.net.out.Bytes())
	other.net.out.Reset()
	_, _ = e.conn.Read(func(f wire.Frame) {
		if f.Kind != wire.KindClose { // the end of the input
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

// A health check has one answer, and the answer is not answered again.
func TestHealthCheck(t *testing.T) {
	a, b := newVersionedEnd(), newVersionedEnd()
	for range 3 {
		a.write(t, wire.KindPing)
		wantKinds(t, "b is asked", b.receive(a), wire.KindPing)
		b.write(t, wire.KindPong)
		wantKinds(t, "a is answered", a.receive(b), wire.KindPong)
	}
	b.write(t, wire.KindPing)
	wantKinds(t, "a is asked", a.receive(b), wire.KindPing)
}

// Two simultaneous health checks count as answers to each other, and no more frames follow.
func TestSimultaneousHealthChecks(t *testing.T) {
	a, b := newVersionedEnd(), newVersionedEnd()
	a.write(t, wire.KindPing)
	b.write(t, wire.KindPing)
	wantKinds(t, "a", a.receive(b), wire.KindPong)
	wantKinds(t, "b", b.receive(a), wire.KindPong)
}
