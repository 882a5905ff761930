package codons_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// lateCommand is a side whose conversation gets a command right after it was abandoned, while its agent is
// busy.
type lateCommand struct {
	codons.Initiator
	busy, goOn chan struct{}
}

func (s *lateCommand) Ended(*codons.Conversation, *p.Message) { s.Close(nil) }

func (s *lateCommand) Abandoned(c *codons.Conversation, cause error) {
	_ = c.Agent().Later(func(actors.Agent) {
		close(s.busy)
		<-s.goOn
	})
	<-s.busy
	c.Tell(codons.Command{Name: codons.CommandCancel})
	s.Initiator.Abandoned(c, cause)
}

// TestCommandAfterWithdrawalBeforeStart withdraws a conversation before its first step. A CANCEL of the
// caller that comes at that moment is dropped: no row is missing.
func TestCommandAfterWithdrawalBeforeStart(t *testing.T) {
	var log bytes.Buffer
	o := actors.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))}
	kit.InWorldWith(t, o, func(t *testing.T, w *kit.World) {
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
