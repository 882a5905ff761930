package observe

import "github.com/ribosome-agents/ribosome/performatives"

// Incidents are a recorder's counts of one agent since the agent started, or since the recorder
// began.
type Incidents struct {
	Errors   uint64 // jobs and handlers that failed or panicked
	Restarts uint64
}

// Incidents returns the incidents of each agent that has had some and runs, by the
// [performatives.AgentID.Fold] of its id. The caller owns the result.
func (r *Recorder) Incidents() map[performatives.AgentID]Incidents {
	defer r.lock().Unlock()
	all := make(map[performatives.AgentID]Incidents)
	for id, v := range r.vitals.agents {
		if v.incidents != (Incidents{}) {
			all[id] = v.incidents
		}
	}
	return all
}

// incidentsLocked returns the incidents of an agent. Those of the agents beyond the bound of vitals
// are counted together.
func (r *Recorder) incidentsLocked(id performatives.AgentID) *Incidents {
	if v := r.vitals.of(id.Fold()); v != nil {
		return &v.incidents
	}
	r.counts.Uncounted++
	return &Incidents{}
}
