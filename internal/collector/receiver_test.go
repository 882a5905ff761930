package collector

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/patience"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// receiver is the OTLP receiver of the OpenTelemetry collector on a free port, by HTTP, with sinks
// that keep what it has taken.
type receiver struct {
	url     string
	traces  consumertest.TracesSink
	metrics consumertest.MetricsSink
	came    chan struct{} // has an element after a request
	refuses atomic.Bool   // whether the pipelines behind the receiver refuse everything
	stop    func()        // stops the receiver; the sinks keep what they have
}

// await waits until what the receiver has taken fulfils a condition. It ends the test when the
// condition has reported an error.
func (r *receiver) await(t *testing.T, what string, fulfilled func() bool) {
	t.Helper()
	for late := time.After(patience.Time); !fulfilled(); {
		if t.Failed() {
			t.FailNow()
		}
		select {
		case <-r.came:
		case <-late:
			t.Fatalf("the receiver does not get %s", what)
		}
	}
}

// awaitCounts waits until metrics of a node, by their names, have values, by their attributes.
func (r *receiver) awaitCounts(t *testing.T, node string, resources map[string]string, all map[string]map[string]uint64) {
	t.Helper()
	for name, want := range all {
		covered.value(name, want)
		r.awaitCount(t, node, resources, name, want)
	}
}

func (r *receiver) awaitCount(t *testing.T, node string, resources map[string]string, name string, want map[string]uint64) {
	t.Helper()
	var got map[string]uint64
	defer func() {
		if !maps.Equal(got, want) {
			t.Logf("%s is %v, want %v", name, got, want)
		}
	}()
	r.await(t, name, func() bool {
		got = r.metricsOf(t, node, resources)[name].counts()
		return maps.Equal(got, want)
	})
}

// take gives the content of a request to its sink, or refuses it. The receiver answers a refused
// one with the status 500, after which OTLP has the sender not try again.
func (r *receiver) take(sink func() error) error {
	if r.refuses.Load() {
		return consumererror.NewPermanent(errors.New("the pipeline refuses everything"))
	}
	err := sink()
	select {
	case r.came <- struct{}{}:
	default:
	}
	return err
}

// receive starts a receiver, which is stopped at the end of the test.
func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{came: make(chan struct{}, 1)}
	traces, err := consumer.NewTraces(func(ctx context.Context, all ptrace.Traces) error {
		return r.take(func() error { return r.traces.ConsumeTraces(ctx, all) })
	})
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := consumer.NewMetrics(func(ctx context.Context, all pmetric.Metrics) error {
		return r.take(func() error { return r.metrics.ConsumeMetrics(ctx, all) })
	})
	if err != nil {
		t.Fatal(err)
	}

	factory := otlpreceiver.NewFactory()
	config, ok := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	if !ok {
		t.Fatal("the receiver has a configuration of another type")
	}
	server := &config.Protocols.HTTP.GetOrInsertDefault().ServerConfig
	server.NetAddr.Endpoint = "127.0.0.1:0"
	server.IncludeMetadata = true // the headers of requests
	core, log := observer.New(zapcore.InfoLevel)
	settings := receivertest.NewNopSettings(factory.Type())
	settings.Logger = zap.New(core)
	ofTraces, err := factory.CreateTraces(t.Context(), settings, config, traces)
	if err != nil {
		t.Fatal(err)
	}
	ofMetrics, err := factory.CreateMetrics(t.Context(), settings, config, metrics) // the same receiver, because it has the same configuration
	if err != nil {
		t.Fatal(err)
	}
	host := componenttest.NewNopHost()
	if err := errors.Join(ofTraces.Start(t.Context(), host), ofMetrics.Start(t.Context(), host)); err != nil {
		t.Fatal(err)
	}
	r.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
		defer cancel()
		if err := errors.Join(ofTraces.Shutdown(ctx), ofMetrics.Shutdown(ctx)); err != nil {
			t.Errorf("the receiver: %v", err)
		}
	})
	t.Cleanup(r.stop)
	for _, entry := range log.All() {
		if at, ok := entry.ContextMap()["endpoint"].(string); ok {
			r.url = "http://" + at
		}
	}
	if r.url == "" {
		t.Fatalf("the receiver does not log its address: %v", log.All())
	}
	return r
}
