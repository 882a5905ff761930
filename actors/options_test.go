package actors

import (
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

// The error of a system's options names the wrong one. The least and the greatest values are right.
func TestSystemOptions(t *testing.T) {
	name := strings.Repeat("n", performatives.MaxIDLength)
	for want, o := range map[string]Options{
		"":                             {},
		"Capacity":                     {Capacity: -1},
		"LongBytes":                    {LongBytes: -1},
		"Options.Tracing.Ratio is -1":  {Tracing: &Tracing{Ratio: -1}},
		"Options.Tracing.Ratio is 1.5": {Tracing: &Tracing{Ratio: 1.5}},
		`Options.Groups["g"]`:          {Groups: map[string]Supervision{"g": {MaxRestarts: -2}}},
		"Options.Protocols[0] is nil":  {Protocols: make([]Protocol, 1)},
		"Options.RequestIDs is -1":     {RequestIDs: -1},
		"Options.Node is too long":     {Node: name + "n"},
		" ":                            {Node: name, RequestIDs: 1, Capacity: 1, Tracing: &Tracing{Ratio: 1}, Groups: map[string]Supervision{"g": {}}},
	} {
		err := o.withDefaults().validate()
		if strings.TrimSpace(want) == "" {
			if err != nil {
				t.Errorf("%+v: %v", o, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if s, err := NewSystem(o); err == nil || s != nil {
			t.Errorf("%s: a system begins", want)
		}
	}
}

// A trace is sampled by the bits of its id, all of them for no ratio and for one.
func TestTracingSamples(t *testing.T) {
	const half = 1 << 63
	for _, test := range []struct {
		ratio float64
		low   uint64
		want  bool
	}{
		{0, 1<<64 - 1, true}, {1, 1<<64 - 1, true}, {0.5, half - 2, true}, {0.5, half, false}, {0.25, half/2 - 2, true}, {0.25, half / 2, false}, {0.5, 0, true},
	} {
		if got := (&Tracing{Ratio: test.ratio}).Samples(test.low); got != test.want {
			t.Errorf("%x with the ratio %v: %v", test.low, test.ratio, got)
		}
	}
}
