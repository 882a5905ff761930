package machine

import (
	"errors"
	"fmt"
	"slices"
)

// maxCommands is how many different commands the rules of a coordination may have.
const maxCommands = 15

// Validate refuses, naming the rule, what can be seen without exploring: states
// and commands that the table does not have, commands without a row where a rule
// says them or with one that does nothing. All faults come joined; each is a
// [*CoordinationError].
func (c Coordination) Validate() error {
	v := &validator{coordination: c}
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
	if len(c.commands()) > maxCommands {
		v.fault("", "the rules have more than %d commands", maxCommands)
	}
	v.checkNever()
	v.checkUnbidden()
	return errors.Join(v.faults...)
}

// validator collects the faults of one coordination.
type validator struct {
	coordination Coordination
	faults       []error
}

func (v *validator) fault(rule, format string, args ...any) {
	v.faults = append(v.faults, &CoordinationError{
		Coordination: v.coordination.Name, Rule: rule, Fault: fmt.Sprintf(format, args...),
	})
}

// checkRule looks at one rule.
func (v *validator) checkRule(i int, r Rule) {
	same := func(o Rule) bool { return o.Name == r.Name }
	if r.Name == "" || slices.ContainsFunc(v.coordination.Rules[:i], same) {
		v.fault(r.Name, "the name is empty or there twice")
	}
	if r.When == nil || len(r.Of) == 0 || len(r.Say) == 0 {
		v.fault(r.Name, "it has no condition, is about no state, or says nothing")
	}
	unbounded := false
	for k, choice := range r.Say {
		v.checkChoice(r, k, choice)
		unbounded = unbounded || choice.Max == 0
	}
	if !unbounded {
		v.fault(r.Name, "every command has a largest number, so a large group could not be decided")
	}
	for _, s := range r.Of {
		v.checkAbout(r, s)
	}
}

// checkChoice looks at one command of a rule.
func (v *validator) checkChoice(r Rule, k int, c Choice) {
	same := func(o Choice) bool { return o.Command == c.Command }
	if c.Command == "" || slices.ContainsFunc(r.Say[:k], same) {
		v.fault(r.Name, "command %q is empty or there twice", c.Command)
	}
	if c.Min < 0 || c.Max < 0 || c.Max > 0 && c.Min > c.Max {
		v.fault(r.Name, "no number of members is both at least %d and at most %d", c.Min, c.Max)
	}
	if v.fromJob(c.Command) {
		v.fault(r.Name, "command %s is a word of a job", c.Command)
	}
}

// checkAbout looks at one state that a rule is about.
func (v *validator) checkAbout(r Rule, s State) {
	m := v.coordination.Machine
	switch {
	case m.Terminal(s):
		v.fault(r.Name, "members in %s have ended", s)
		return
	case s != Idle && !slices.Contains(m.table.Live, s):
		v.fault(r.Name, "state %q is not declared", s)
		return
	}
	for _, c := range r.Say {
		switch on := Command(c.Command); {
		case m.find(Initiator, s, on) == nil:
			v.fault(r.Name, "the initiator has no row for command %s in %s", c.Command, s)
		case !m.layout.stirs(Initiator, s, on):
			v.fault(r.Name, "command %s does nothing in %s", c.Command, s)
		}
	}
}

// fromJob reports whether a job of the initiator says the command.
func (v *validator) fromJob(command string) bool {
	return slices.ContainsFunc(v.coordination.Machine.table.Jobs, func(j Job) bool {
		return j.Role == Initiator && (slices.Contains(j.Says, command) || slices.Contains(j.Ends, command))
	})
}

func (v *validator) checkNever() {
	for _, n := range v.coordination.Never {
		if n.Name == "" || n.When == nil {
			v.fault("", "what must never be has no name or no condition: %q", n.Name)
		}
	}
}

func (v *validator) checkUnbidden() {
	for _, name := range v.coordination.Unbidden {
		known := slices.ContainsFunc(v.coordination.Machine.order, func(s *step) bool {
			return s.role == Initiator && s.on == Command(name)
		})
		if !known || v.fromJob(name) {
			v.fault("", "unbidden command %q is none of the initiator's agent", name)
		}
	}
}

// commands returns the commands of the rules, in their order.
func (c Coordination) commands() []string {
	var names []string
	for _, r := range c.Rules {
		for _, choice := range r.Say {
			if !slices.Contains(names, choice.Command) {
				names = append(names, choice.Command)
			}
		}
	}
	return names
}
