package performatives_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestRefusalError(t *testing.T) {
	tests := []struct {
		refusal p.Refusal
		want    string
	}{
		{p.Refusal{Code: p.CodeBusy}, "the agent is busy (busy)"},
		{p.Refusal{Code: p.CodeBusy, Text: "later"}, "later (busy)"},
		{p.Refusal{Code: p.CodeBusy, From: "Jules"}, "Jules: the agent is busy (busy)"},
		{p.Refusal{Code: p.CodeBusy, From: "Jules", Text: "100%s"}, "Jules: 100%s (busy)"},
		{p.Refusal{Code: "no_coffee"}, "the agent failed (no_coffee)"},
		{p.Refusal{Text: "later"}, "later"},
	}
	for _, tt := range tests {
		if got := tt.refusal.Error(); got != tt.want {
			t.Errorf("%#v: %q, want %q", tt.refusal, got, tt.want)
		}
	}
}

func TestRefusalIs(t *testing.T) {
	err := fmt.Errorf("delegate: %w", &p.Refusal{Code: p.CodeTimeout})
	var r *p.Refusal
	if !errors.Is(err, p.CodeTimeout) || errors.Is(err, p.CodeExpired) || !errors.As(err, &r) {
		t.Errorf("%v is not told apart by its code", err)
	}
}

// A RetryAfter travels in whole milliseconds. What a peer writes otherwise is no hint, and is
// passed on as it came.
func TestRetryAfterTravels(t *testing.T) {
	for value, want := range map[string]time.Duration{
		`1`: time.Millisecond, `250`: 250 * time.Millisecond, `86400000`: p.MaxRetryAfter, `86400001`: p.MaxRetryAfter, `99999999999999999999999`: p.MaxRetryAfter,
		`0`: 0, `-1`: 0, `-0`: 0, `1.5`: 0, `1.0`: 0, `1e3`: 0, `"250"`: 0, `true`: 0, `null`: 0, `{}`: 0, `[250]`: 0,
	} {
		for _, act := range []p.Performative{p.ActTaskReject, p.ActRefuse, p.ActRejectProposal, p.ActFailure} {
			e := envelope(act)
			e.Payload = p.Raw(`{"retry_after_ms":` + value + `}`)
			m := mustNew(t, e)
			r := m.AsRefusal()
			if r.RetryAfter != want || r.Act != act {
				t.Errorf("%s with %s: %+v", act, value, r)
			}
			typed, _, ok := p.RefusalIn(r.Payload(nil))
			if !ok || typed.RetryAfter != want || typed.Act != act {
				t.Errorf("%s with %s: the payload %+v", act, value, typed)
			}
		}
		payload, err := p.Decode[p.TaskReject](p.RawContent([]byte(`{"retry_after_ms":` + value + `}`)))
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		out, err := json.Marshal(payload)
		if want != 0 {
			value = fmt.Sprint(want.Milliseconds())
		}
		if text := `{"retry_after_ms":` + value + `,"status":"rejected"}`; err != nil || string(out) != text {
			t.Errorf("%s, %v, want %s", out, err, text)
		}
	}
	for d, want := range map[time.Duration]string{
		0: `{}`, -time.Second: `{}`, 1: `{"retry_after_ms":1}`, time.Millisecond + 1: `{"retry_after_ms":2}`, 25 * time.Hour: `{"retry_after_ms":86400000}`,
	} {
		if got, err := json.Marshal(p.Refuse{RetryAfter: d}); err != nil || string(got) != want {
			t.Errorf("%v: %s, %v", d, got, err)
		}
	}
}
