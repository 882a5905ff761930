package codons_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/standard"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// lateCommand is a side whose conversation gets a command right after it was abandoned, while its
// agent is busy.
type lateCommand struct {
	codons.InitiatorSide
	busy, goOn chan struct{}
}

func (s *lateCommand) Ended(*codons.Conversation, *p.Message) { s.Close(nil) }

func (s *lateCommand) Abandoned(c *codons.Conversation, cause error) {
	_ = c.Agent().Later(func(actors.Agent) {
		close(s.busy)
		<-s.goOn
	})
	<-s.busy
	c.Tell(codons.Command{Name: standard.CommandCancel})
	s.InitiatorSide.Abandoned(c, cause)
}

// TestCommandAfterWithdrawalBeforeStart withdraws a conversation before its first step. A CANCEL of
// the caller that comes at that moment is dropped: no row is missing.
func TestCommandAfterWithdrawalBeforeStart(t *testing.T) {
	var log bytes.Buffer
	o := actors.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))}
	kit.InWorldWith(t, codons.Times{}, o, func(t *testing.T, w *kit.World) {
		began, goOn := make(chan struct{}), make(chan struct{})
		if err := w.Eddy.Later(func(actors.Agent) { close(began); <-goOn }); err != nil {
			t.Fatal(err)
		}
		<-began
		ctx, cancel := context.WithCancel(t.Context())
		s := &lateCommand{busy: make(chan struct{}), goOn: make(chan struct{})}
		opening := codons.Opening{Codon: delegation.Codon, To: "Jules", Act: p.ActTaskRequest, Payload: kit.Task()}
		if err := s.Start(ctx, w.Eddy, opening, s); err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait()
		close(goOn)
		<-s.Handle().Done()
		synctest.Wait()
		close(s.goOn)
		w.Settled(0)
		kit.WantEnd(t, s.Err(), "abandoned", p.CodeCanceled)
	})
	if log.Len() > 0 {
		t.Errorf("logged: %s", &log)
	}
}

// lockedContext is a context whose cause cannot be read while it ends, like that of a context of
// many children.
type lockedContext struct {
	context.Context
	ended chan struct{} // closed when the end of everything that depends on it has been told
}

func (c lockedContext) Value(key any) any {
	if c.Err() != nil {
		<-c.ended
	}
	return c.Context.Value(key)
}

// TestWithdrawalDoesNotWaitForTheCause withdraws a conversation by a context whose cause is not yet
// readable: the worker gets the CANCEL all the same, and the caller the cause when it has its
// receipt.
func TestWithdrawalDoesNotWaitForTheCause(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		cancelled := make(chan struct{})
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			<-ctx.Done()
			close(cancelled)
			return p.InformResult{}, context.Cause(ctx)
		}})
		why := errors.New("as the test wants it")
		inner, cancel := context.WithCancelCause(t.Context())
		ctx := lockedContext{inner, make(chan struct{})}
		d, err := delegation.Start(ctx, w.Eddy, "Jules", kit.Task())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel(why)
		synctest.Wait()
		select {
		case <-cancelled:
		default:
			t.Error("the worker has no CANCEL")
		}
		close(ctx.ended)
		if _, err = d.Wait(); !errors.Is(err, why) {
			t.Errorf("got %v, want the cause", err)
		}
	})
}
