package wire_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// lingering is a handler that takes its time with the end of a session.
type lingering struct {
	wiretest.Recorder
	until chan struct{}
}

// Closed waits.
func (l *lingering) Closed(s *wire.Session, err error) {
	<-l.until
	l.Recorder.Closed(s, err)
}

// A server has stopped when nothing of any session is left, also when it may not wait.
func TestStopLeavesNothing(t *testing.T) {
	for name, patient := range map[string]bool{"in order": true, "at once": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &lingering{until: make(chan struct{})}
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
					t.Error("stopped while the handler is told of an end")
				}
				close(h.until)
				for range 2 {
					if err := <-stopped; (err == nil) != patient {
						t.Errorf("stopped with %v", err)
					}
				}
				if err := server.Stop(ctx); err != nil {
					t.Errorf("stopped again with %v", err)
				}
			})
		})
	}
}
