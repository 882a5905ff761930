package auth

import "github.com/ribosome-agents/ribosome/performatives"

// checkName returns an error unless name is a valid agent id that can be logged.
func checkName(name string) error { return performatives.CheckID(performatives.AgentID(name)) }

// agentIDs checks names and converts them to agent ids.
func agentIDs(names []string) ([]performatives.AgentID, error) {
	var ids []performatives.AgentID
	for _, n := range names {
		if err := checkName(n); err != nil {
			return nil, err
		}
		ids = append(ids, performatives.AgentID(n))
	}
	return ids, nil
}
