package telemetry_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe/telemetry"
)

// jammed is an agent that decides about tasks, and ends them, when its test lets it.
type jammed struct{ decide, end chan struct{} }

func (jammed) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (j jammed) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	<-j.decide
	return delegation.Accept()
}

func (j jammed) PerformTask(context.Context, delegation.Task) (performatives.InformResult, error) {
	<-j.end
	return performatives.InformResult{Status: performatives.StatusSuccess}, nil
}

// The requests that a node refuses because it could not do them in time, and the handlers that wait
// for a processor, are counted.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
		if err != nil {
			t.Fatal(err)
		}
		n := newNode(t, nil)
		tel, err := telemetry.New(n, telemetry.Options{Meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))})
		if err != nil {
			t.Fatal(err)
		}
		defer tel.Close()
		want := func(refused, overloaded, queued float64) {
			t.Helper()
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]*dto.MetricFamily{}
			for _, f := range families {
				got[f.GetName()] = f
			}
			for name, want := range map[string]float64{
				"ribosome_node_overload_refused_total": refused, "ribosome_node_overloaded": overloaded, "ribosome_node_handlers_queued": queued,
			} {
				if got := samples(got[name]); len(got) != 1 || got[0] != want {
					t.Errorf("%s: %v, want %v", name, got, want)
				}
			}
		}
		j := jammed{make(chan struct{}), make(chan struct{})}
		if err := n.Spawn(patience.Context(t), "jammed", func() actors.Agent { return j }); err != nil {
			t.Fatal(err)
		}
		want(0, 0, 0)
		ctx := patience.Context(t)
		var tasks sync.WaitGroup
		for i := range 300 {
			tasks.Go(func() {
				if _, err := n.Delegate(ctx, "jammed", performatives.TaskRequest{TaskType: "work"}); err != nil {
					t.Error(err)
				}
			})
			if i == 0 {
				synctest.Wait() // it decides about the first one
			}
		}
		synctest.Wait()
		j.decide <- struct{}{} // it takes all others out of its mailbox
		time.Sleep(time.Second)
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := n.Delegate(soon, "jammed", performatives.TaskRequest{TaskType: "work"}); !errors.Is(err, performatives.CodeBusy) {
			t.Errorf("got %v", err)
		}
		want(1, 1, 0)
		close(j.decide)
		synctest.Wait() // no time passes, in which more handlers would begin
		queued := n.Counts().Queued
		if queued == 0 {
			t.Error("no handler waits for a processor")
		}
		want(1, 1, float64(queued))
		close(j.end)
		tasks.Wait()
		time.Sleep(5 * time.Second)
		want(1, 0, 0)
	})
}
