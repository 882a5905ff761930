package codons_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestAnOwnTimerStopsAJob has a timer of the table stop the job of a seller long before the
// deadline. The job is told so, and its error is no failure.
func TestAnOwnTimerStopsAJob(t *testing.T) {
	d := dealOf()
	d.Table.Timers = append(d.Table.Timers, machine.Timer{Role: machine.Responder, Name: "packing", Doc: "of the seller", After: 10 * time.Second})
	d.Table.Rows[11].Do = append(d.Table.Rows[11].Do, machine.Arm("packing"))
	d.Table.Rows = append(d.Table.Rows, machine.Answers("shipping").When(machine.Timeout("packing")).Goto("lapsed", machine.Stop("ship"), machine.SendTagged(p.ActInform, "LAPSED")).Because("too slow"))
	deal, causes := codons.MustDefine(d), make(chan error, 1)
	role := deal.Answer(codons.Method("quote", seller.Quote), codons.Method("ship", func(_ seller, ctx context.Context, _ codons.Turn[order]) (codons.Command, error) {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return codons.Command{}, context.Cause(ctx)
	}))
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, err := actors.NewSystem(actors.Options{Protocols: []actors.Protocol{role}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		kit.Spawn(t.Context(), s, "Shop", shop{})
		buyer := kit.Spawn(t.Context(), s, "Buyer", critic(nil))
		end, err := deal.Ask(t.Context(), buyer, "Shop", wish{"bolt"}, codons.On("decide", func(context.Context, codons.Turn[price]) (codons.Command, error) {
			return codons.Command{Name: "order", Data: order{"Rome"}}, nil
		}))
		if err != nil || end.State != "lapsed" {
			t.Errorf("got %s, %v", end.State, err)
		}
		cause := <-causes
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second) // the engine has a goroutine that waits for a timer
		if want := "codons: a timer of the table has stopped the job: packing"; cause.Error() != want || !errors.Is(cause, codons.ErrTimer) || errors.Is(cause, codons.ErrDeadline) {
			t.Errorf("the context of the job ended by %v, want %s", cause, want)
		}
		if bytes.Contains(log.Bytes(), []byte("handler failed")) {
			t.Errorf("the log has %s", &log)
		}
	})
}
