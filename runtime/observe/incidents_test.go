package observe

import (
	"fmt"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Agents beyond the bound have no counts of their own, and their incidents are counted together.
func TestIncidentsBounded(t *testing.T) {
	r := &Recorder{vitals: newHealth()}
	for i := range maxVitals + 2 {
		r.incidentsLocked(performatives.AgentID(fmt.Sprint("a", i))).Errors++
	}
	r.incidentsLocked("A0").Errors++
	if n, a := len(r.vitals.agents), r.vitals.agents["a0"]; n != maxVitals || r.counts.Uncounted != 2 || a.incidents.Errors != 2 {
		t.Errorf("%d agents, %d incidents without one, %+v", n, r.counts.Uncounted, a)
	}
}
