package verify

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// maxCommands is the largest number of different commands in the rules of a
// coordination.
const maxCommands = 15

// CheckCoordination finds the faults that show without an exploration: states and
// commands that the table does not have; a command of a rule that has no row in a state
// which the rule is about, or whose row there is inert. All faults come joined. [ExploreGroup]
// checks this first.
func CheckCoordination(c machine.Coordination) error {
	v := &coordinationChecker{coordination: c}
	if c.Name == "" {
		v.fault("", "the coordination has no name")
	}
	if c.Machine == nil {
		v.fault("", "the coordination has no machine")
		return errors.Join(v.faults...)
	}
	if len(c.Rules) == 0 {
		v.fault("", "the coordination has no rules")
	}
	for i, r := range c.Rules {
		v.checkRule(i, r)
	}
	if len(c.Commands()) > maxCommands {
		v.fault("", "the rules have more than %d commands", maxCommands)
	}
	v.checkUnbidden()
	return errors.Join(v.faults...)
}

// coordinationChecker collects the faults of one coordination.
type coordinationChecker struct {
	coordination machine.Coordination
	faults       []error
}

// fault adds a fault of a rule, or of the whole where rule is empty.
func (v *coordinationChecker) fault(rule, format string, args ...any) {
	about := v.coordination.Name
	if rule != "" {
		about += ": rule " + rule
	}
	v.faults = append(v.faults, fmt.Errorf("verify: %s: "+format, append([]any{about}, args...)...))
}

// checkRule checks one rule.
func (v *coordinationChecker) checkRule(i int, r machine.Rule) {
	same := func(o machine.Rule) bool { return o.Name == r.Name }
	if r.Name == "" || slices.ContainsFunc(v.coordination.Rules[:i], same) {
		v.fault(r.Name, "the name is empty or used twice")
	}
	if r.When == nil || len(r.Of) == 0 || len(r.Say) == 0 {
		v.fault(r.Name, "it has no condition, no state or no command")
	}
	unbounded := false
	for k, choice := range r.Say {
		v.checkChoice(r, k, choice)
		unbounded = unbounded || choice.Max == 0
	}
	if !unbounded {
		v.fault(r.Name, "every command has a Max, so a large group could not be decided")
	}
	for _, s := range r.Of {
		v.checkState(r, s)
	}
}

// checkChoice checks one command of a rule.
func (v *coordinationChecker) checkChoice(r machine.Rule, k int, c machine.Choice) {
	same := func(o machine.Choice) bool { return o.Command == c.Command }
	if c.Command == "" || slices.ContainsFunc(r.Say[:k], same) {
		v.fault(r.Name, "command %q is empty or used twice", c.Command)
	}
	if c.Min < 0 || c.Max < 0 || c.Max > 0 && c.Min > c.Max {
		v.fault(r.Name, "no number of members is both at least %d and at most %d", c.Min, c.Max)
	}
	if v.fromJob(c.Command) {
		v.fault(r.Name, "command %s is one of a job", c.Command)
	}
}

// checkState checks one state that a rule is about.
func (v *coordinationChecker) checkState(r machine.Rule, s machine.State) {
	m := v.coordination.Machine
	switch {
	case m.Terminal(s):
		v.fault(r.Name, "members in %s have ended", s)
		return
	case s != machine.Idle && !slices.Contains(m.Table().Live, s):
		v.fault(r.Name, "state %q is not declared", s)
		return
	}
	for _, c := range r.Say {
		switch t := m.Find(machine.Initiator, s, machine.Commanded(c.Command)); {
		case t == nil:
			v.fault(r.Name, "the initiator has no row for command %s in %s", c.Command, s)
		case t.Inert():
			v.fault(r.Name, "command %s does nothing in %s", c.Command, s)
		}
	}
}

// fromJob reports whether a job of the initiator gives the command.
func (v *coordinationChecker) fromJob(command string) bool {
	return slices.ContainsFunc(v.coordination.Machine.Table().Jobs, func(j machine.Job) bool {
		return j.Role == machine.Initiator && (slices.Contains(j.Says, command) || slices.Contains(j.Ends, command))
	})
}

func (v *coordinationChecker) checkUnbidden() {
	for _, name := range v.coordination.Unbidden {
		if !v.coordination.Machine.Table().Takes(machine.Initiator, machine.Commanded(name)) || v.fromJob(name) {
			v.fault("", "unbidden command %q is not one of the initiator's agent", name)
		}
	}
}
