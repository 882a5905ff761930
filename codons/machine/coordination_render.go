package machine

import (
	"fmt"
	"strings"
)

// Markdown returns the documentation of the coordination, to follow that of its
// table: a row for each rule, the forbidden conditions, and the unbidden commands.
// Equal coordinations give equal texts.
func (c Coordination) Markdown() string {
	var b strings.Builder
	b.WriteString("\n## Rules over many members\n\n")
	b.WriteString("Each member is a conversation as above. The first rule that is due decides about the members in these states of the initiator.\n\n")
	b.WriteString("| rule | when | about members in | each gets one of |\n|---|---|---|---|\n")
	for _, r := range c.Rules {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.Name, r.Doc, cells(r.Of), cells(r.Say))
	}
	if len(c.Never) > 0 {
		b.WriteString("\nNever:\n\n")
	}
	for _, n := range c.Never {
		fmt.Fprintf(&b, "- %s\n", n.Name)
	}
	if len(c.Unbidden) > 0 {
		fmt.Fprintf(&b, "\nAt any moment, without a rule: %s.\n", join(c.Unbidden))
	}
	return b.String()
}

// String returns words such as "award (at most 1)" or "decline".
func (c Choice) String() string {
	switch {
	case c.Min > 0 && c.Min == c.Max:
		return fmt.Sprintf("%s (exactly %d)", c.Command, c.Min)
	case c.Min > 0 && c.Max > 0:
		return fmt.Sprintf("%s (%d to %d)", c.Command, c.Min, c.Max)
	case c.Min > 0:
		return fmt.Sprintf("%s (at least %d)", c.Command, c.Min)
	case c.Max > 0:
		return fmt.Sprintf("%s (at most %d)", c.Command, c.Max)
	}
	return c.Command
}
