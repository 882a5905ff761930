package auth

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/performatives"
)

// checkName returns an error unless name is a valid agent id that can be logged.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the name of the agent is empty")
	case len(name) > performatives.MaxIDLength:
		return fmt.Errorf("the name of the agent is longer than %d bytes", performatives.MaxIDLength)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("the name of the agent is not plain text")
	}
	return nil
}

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
