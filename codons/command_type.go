package codons

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// standardCommands are the contents of the commands that all tables share.
var standardCommands = map[string]any{
	CommandStart:         nil, // the event has the opening act
	CommandCancel:        nil,
	CommandStop:          nil,
	CommandRefuse:        performatives.Refuse{},
	CommandNotUnderstood: performatives.NotUnderstood{},
	CommandFail:          performatives.Failure{},
}

// contentsOf returns the types of the contents of a table's commands, given the codon's
// own. The error names a command that no row takes.
func contentsOf(t machine.Table, own map[string]any) (map[string]reflect.Type, error) {
	types := make(map[string]reflect.Type, len(standardCommands)+len(own))
	for name, content := range standardCommands {
		types[name] = reflect.TypeOf(content)
	}
	for name, content := range own {
		if !slices.ContainsFunc(t.Rows, func(r machine.Row) bool { return slices.Contains(r.On, machine.Command(name)) }) {
			return nil, fmt.Errorf("no row takes the command %q of Definition.Commands", name)
		}
		types[name] = reflect.TypeOf(content)
	}
	return types, nil
}

// checkContent returns an error for a command whose content is not of the registered
// type. No content passes for every type.
func (c *Codon) checkContent(m Command) error {
	want, ok := c.contents[m.Name]
	if !ok || m.Data == nil || reflect.TypeOf(m.Data) == want {
		return nil
	}
	if want == nil {
		return fmt.Errorf("codons: %s: the command %s has no content, got %T", c.Name(), m.Name, m.Data)
	}
	return fmt.Errorf("codons: %s: want %s as the content of the command %s, got %T", c.Name(), want, m.Name, m.Data)
}

// commanded returns the event of a command. A content that is not of the registered
// type is a programmer's mistake: it is logged, and the conversation fails, or is
// cancelled where the table has no failure.
func (c *Conversation) commanded(m Command, final bool) Event {
	err := c.codon.checkContent(m)
	if err != nil {
		c.agent.Logger().Error("command with another content than its codon registers", "conversation", string(c.key.ID), "command", m.Name, "err", err)
		m = Command{CommandFail, performatives.Failure{ErrorCode: performatives.CodeInternal, ErrorText: performatives.CodeInternal.Traits().Text}}
		if !c.machine.Takes(c.at, machine.Command(CommandFail)) {
			m = Command{Name: CommandCancel}
		}
	}
	return Event{On: machine.Command(m.Name), Data: m.Data, Final: final}
}
