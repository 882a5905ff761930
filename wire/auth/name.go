package auth

import "github.com/ribosome-agents/ribosome/performatives"

// checkName returns an error unless name is a valid agent id that can be logged.
func checkName(name string) error { return performatives.CheckID(performatives.AgentID(name)) }

// checkIDs is checkName for several.
func checkIDs(ids ...performatives.AgentID) error {
	for _, id := range ids {
		if err := performatives.CheckID(id); err != nil {
			return err
		}
	}
	return nil
}
