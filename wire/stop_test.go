package wire_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// slowHandler is a handler whose Closed blocks.
type slowHandler struct {
	wiretest.Recorder
	until chan struct{}
}

// Closed waits until the test closes until.
func (l *slowHandler) Closed(s *wire.Session, err error) {
	<-l.until
	l.Recorder.Closed(s, err)
}

// Server.Stop returns after the last handler call of every session, also when its context has
// ended.
func TestStopWaitsForHandler(t *testing.T) {
	for name, patient := range map[string]bool{"in order": true, "at once": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &slowHandler{until: make(chan struct{})}
				server, _, _ := open(t, wire.Options{Handler: h})
				h.Session(t, 0)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if !patient {
					cancel()
				}
				stopped := make(chan error, 2)
				for range 2 {
					go func() {
						err := server.Stop(ctx)
						if n := len(server.Sessions()); n != 0 {
							t.Errorf("%d sessions are left", n)
						}
						stopped <- err
					}()
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if n := len(stopped); n != 0 {
					t.Error("Stop returned while Closed was running")
				}
				close(h.until)
				for range 2 {
					if err := <-stopped; (err == nil) != patient {
						t.Errorf("Stop: %v", err)
					}
				}
				if err := server.Stop(ctx); err != nil {
					t.Errorf("second Stop: %v", err)
				}
			})
		})
	}
}

// Stopping is closed from the beginning of the first Stop, before its end.
func TestStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &slowHandler{until: make(chan struct{})}
		server, _, _ := open(t, wire.Options{Handler: h})
		h.Session(t, 0)
		select {
		case <-server.Stopping():
			t.Fatal("it stops before Stop")
		default:
		}
		stopped := make(chan error, 1)
		go func() { stopped <- server.Stop(t.Context()) }()
		<-server.Stopping()
		if len(stopped) != 0 {
			t.Error("Stop has returned")
		}
		close(h.until)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if err := server.Stop(t.Context()); err != nil {
			t.Errorf("again: %v", err)
		}
	})
}
