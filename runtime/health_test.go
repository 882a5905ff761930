package runtime_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/runtime"
)

// Figures that nobody knows are missing, and not zero.
func TestHealthAsJSON(t *testing.T) {
	at := time.Unix(1, 0).UTC()
	for _, test := range []struct {
		name string
		h    runtime.Health
		want string
	}{
		{"unknown", runtime.Health{Agent: "w", Status: runtime.HealthError, LastHeartbeat: at}, `{"agent_id":"w","status":"error","last_heartbeat":"1970-01-01T00:00:01Z"}`},
		{
			"reported",
			runtime.Health{Agent: "w", Status: runtime.HealthActive, Reported: true},
			`{"agent_id":"w","status":"active","messages_processed":0,"average_response_time_ms":0,"error_rate":0}`,
		},
		{
			"counted",
			runtime.Health{Agent: "w", Status: runtime.HealthActive, Processed: 4, ResponseMillis: 1.5, ErrorRate: 0.25, CountedSince: at},
			`{"agent_id":"w","status":"active","messages_processed":4,"average_response_time_ms":1.5,"error_rate":0.25,"counted_since":"1970-01-01T00:00:01Z"}`,
		},
	} {
		if got, err := json.Marshal(test.h); err != nil || string(got) != test.want {
			t.Errorf("%s: %s (%v)", test.name, got, err)
		}
	}
}
