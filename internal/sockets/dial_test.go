package sockets

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"
)

// A connection ends when its handshake fails.
func TestDialWithoutTLS(t *testing.T) {
	l, err := Listen("127.0.0.1:0", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing is lost
	ended := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			ended <- err
			return
		}
		defer c.Close() //nolint:errcheck // nothing is lost
		_, _ = c.Write([]byte("this is no TLS\n"))
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		_, err = io.Copy(io.Discard, c)
		ended <- err
	}()
	if c, err := Dial(context.Background(), l.Addr().String(), &tls.Config{ServerName: "x", MinVersion: tls.VersionTLS12}); err == nil || c != nil {
		t.Errorf("%v, %v", c, err)
	}
	if err := <-ended; errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection goes on")
	}
}
