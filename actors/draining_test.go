package actors

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// While a system that stops waits for its open conversations, it takes nothing new, and says so.
func TestNothingBeginsDuringTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open, late := &recording{}, &recording{}
		s, self := recordingSystem(t, Options{}, map[performatives.ConversationID]*recording{"open": open, "late": late})
		open.stop = func() { open.self.End(open, nil) }
		deliverAll(t, s, recordedMessage(t, "open", "m", performatives.Normal))
		synctest.Wait()
		stopped := make(chan error)
		go func() { stopped <- s.Stop(context.WithoutCancel(t.Context())) }()
		synctest.Wait()
		deliverAll(t, s, recordedMessage(t, "late", "n", performatives.Normal))
		_, spawned := s.Spawn(t.Context(), Spec{ID: "b", New: func() Agent { return silent{} }})
		_, registered := s.Register("c", nil)
		for what, err := range map[string]error{
			"an agent":                   spawned,
			"an agent elsewhere":         registered,
			"a conversation of an agent": self.Begin(&recording{key: Key{ID: "c", Peer: "x", Initiator: true}}),
			"a message for nobody":       s.Deliver("nobody", recordedMessage(t, "late", "o", performatives.Normal)),
		} {
			if !errors.Is(err, ErrStopped) && !errors.Is(err, performatives.CodeStopped) {
				t.Errorf("%s: %v", what, err)
			}
		}
		synctest.Wait()
		checkCalls(t, open, "start m")
		checkCalls(t, late, "")
		open.self.End(open, nil)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// Who asks an actor that has stopped is told at once.
func TestAskOfAStoppedAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, self := recordingSystem(t, Options{}, nil)
		pid, began := self.PID(), time.Now()
		if err := s.StopAgent(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if _, err := Ask(t.Context(), s.Engine(), pid, "?", time.Minute); !errors.Is(err, ErrStopped) || time.Since(began) != 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
