package terminal_test

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/terminal"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestIs(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	if terminal.Is(null) || terminal.Is(new(bytes.Buffer)) {
		t.Error("no terminal is taken for one")
	}
	if tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err == nil {
		defer func() { _ = tty.Close() }()
		if !terminal.Is(tty) {
			t.Error("a terminal is not found")
		}
	}
}

// The context ends when the reader of a pipe has gone, although nothing is written, and with its
// parent.
func TestUntilUnread(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	parent, end := context.WithCancel(context.Background())
	ctx, cancel := terminal.UntilUnread(parent, w)
	defer cancel()
	other, cancelOther := terminal.UntilUnread(parent, w)
	cancelOther()
	if ctx.Err() != nil || other.Err() == nil {
		t.Error("a context has ended, or has not")
	}
	_ = r.Close()
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	end()
	plain, cancel := terminal.UntilUnread(context.Background(), new(bytes.Buffer))
	if plain.Err() != nil {
		t.Error("a buffer is taken for closed")
	}
	cancel()
}
