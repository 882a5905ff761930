package actors_test

import (
	"math"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
)

func TestTracingRatioRefused(t *testing.T) {
	for _, ratio := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		if _, err := actors.NewSystem(actors.Options{Tracing: &actors.Tracing{Ratio: ratio}}); err == nil || !strings.Contains(err.Error(), "Options.Tracing.Ratio") {
			t.Errorf("%v: %v", ratio, err)
		}
	}
}

func TestTracingSamples(t *testing.T) {
	for _, test := range []struct {
		ratio float64
		low   uint64
		want  bool
	}{{0, math.MaxUint64, true}, {1, math.MaxUint64, true}, {0.5, 1<<63 - 1, true}, {0.5, 1 << 63, false}, {0.25, 1<<62 - 1, true}, {0.25, 1 << 62, false}} {
		if got := (&actors.Tracing{Ratio: test.ratio}).Samples(test.low); got != test.want {
			t.Errorf("%v samples %x: %v", test.ratio, test.low, got)
		}
	}
}
