package observe

import "github.com/ribosome-agents/ribosome/performatives"

// Incidents are a recorder's counts of one agent since the agent started, or since the recorder
// began.
type Incidents struct {
	Errors   uint64 // jobs and handlers that failed or panicked
	Restarts uint64
}

// maxIncidents is how many agents have [Incidents] of their own.
const maxIncidents = 10_000

// Incidents returns the incidents of each agent that has had some and runs, by the
// [performatives.AgentID.Fold] of its id. The caller owns the result.
func (r *Recorder) Incidents() map[performatives.AgentID]Incidents {
	defer r.lock().Unlock()
	all := make(map[performatives.AgentID]Incidents, len(r.incidents))
	for id, i := range r.incidents {
		all[id] = *i
	}
	return all
}

// incidentsLocked returns the incidents of an agent.
func (r *Recorder) incidentsLocked(id performatives.AgentID) *Incidents {
	id = id.Fold()
	i := r.incidents[id]
	switch {
	case i != nil:
	case len(r.incidents) >= maxIncidents:
		r.counts.Uncounted++
		return &Incidents{}
	default:
		i = &Incidents{}
		r.incidents[id] = i
	}
	return i
}
