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
	case !utf8.ValidString(name) || strings.ContainsFunc(name, invisible):
		return errors.New("the name of the agent is not plain text: it has a character that is not displayed")
	}
	return nil
}

// invisible reports whether c is a control character, or one of format: a byte order mark, a zero-width or a bidirectional one.
func invisible(c rune) bool { return unicode.IsControl(c) || unicode.Is(unicode.Cf, c) }

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
