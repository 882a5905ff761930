package runtime_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// worker is an agent whose PerformTask is a function.
type worker struct {
	perform func(context.Context, delegation.Task) (performatives.InformResult, error)
}

func (w worker) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Debugging"}}
}

func (w worker) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (w worker) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	return w.perform(ctx, t)
}

func TestDelegate(t *testing.T) {
	n, err := runtime.New(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = n.Spawn(ctx, "Jules", func() actors.Agent {
		return worker{func(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
			if err := t.Progress(50, "half"); err != nil {
				return performatives.InformResult{}, err
			}
			return performatives.InformResult{Status: performatives.StatusSuccess, Summary: t.Description}, nil
		}}
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := n.Delegate(ctx, "jules", performatives.TaskRequest{TaskType: "debug_code", Description: "x"})
	if err != nil || got.Summary != "x" {
		t.Errorf("Delegate = %v, %v", got, err)
	}
	_, err = n.Delegate(ctx, "nobody", performatives.TaskRequest{TaskType: "debug_code", Description: "x"})
	if !errors.Is(err, performatives.CodeUnknownAgent) {
		t.Errorf("got %v", err)
	}
	cs, err := n.Whisper(ctx, performatives.QueryCapabilities{Type: performatives.QuerySummary})
	if err != nil || len(cs) != 1 {
		t.Errorf("got %v %v", cs, err)
	}
	if err := n.Stop(ctx); err != nil {
		t.Error(err)
	}
}
