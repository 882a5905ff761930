//go:build unix

package pydebug

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// TestVerifyKillsTheGroup: a process that the script started ends with it. The
// process holds a connection, which closes when it dies.
func TestVerifyKillsTheGroup(t *testing.T) {
	racetest.Skip(t)
	listener := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	held := make(chan net.Conn, 1)
	go func() {
		if conn, err := listener.Accept(); err == nil {
			held <- conn
			cancel() // which kills as the timeout does
		}
		close(held)
	}()
	o := fake(t, "child", "print fine")
	o.Args = []string{listener.Addr().String()}
	if _, err := Verify(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_ = listener.Close()
	conn, ok := <-held
	if !ok {
		t.Fatal("the script's child never ran")
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) || err == nil || errors.Is(err, io.ErrNoProgress) {
		t.Errorf("the script's child still lives: %v", err)
	}
}
