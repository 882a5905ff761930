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
)

// TestVerifyKillsTheGroup: a process that the script started ends with it. The
// process holds a connection, which closes when it dies.
func TestVerifyKillsTheGroup(t *testing.T) {
	listener := listen(t)
	held := make(chan net.Conn, 1)
	go func() {
		if conn, err := listener.Accept(); err == nil {
			held <- conn
		}
		close(held)
	}()
	o := fake(t, "child", "print fine")
	o.Args = []string{listener.Addr().String()}
	o.Timeout = 3 * time.Second
	if _, err := Verify(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	conn, ok := <-held
	if !ok {
		t.Fatal("the script's child never ran")
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) || err == nil || errors.Is(err, io.ErrNoProgress) {
		t.Errorf("the script's child still lives: %v", err)
	}
}
