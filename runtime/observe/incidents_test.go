package observe

import (
	"fmt"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Agents beyond the bound have no counts of their own, and their incidents are counted together.
func TestIncidentsBounded(t *testing.T) {
	r := &Recorder{incidents: map[performatives.AgentID]*Incidents{}}
	for i := range maxIncidents + 2 {
		r.incidentsLocked(performatives.AgentID(fmt.Sprint("a", i))).Errors++
	}
	r.incidentsLocked("A0").Errors++
	if len(r.incidents) != maxIncidents || r.counts.Uncounted != 2 || r.incidents["a0"].Errors != 2 {
		t.Errorf("%d agents, %d incidents without one, %+v", len(r.incidents), r.counts.Uncounted, r.incidents["a0"])
	}
}
