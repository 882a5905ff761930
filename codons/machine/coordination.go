package machine

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Coordination binds the conversations of one initiator with many responders. Each
// conversation is a member: a pair that runs the same table and does not know of the
// others. The members are bound by decisions of the initiator's agent, such as to
// award one proposal and to decline the rest. A [Rule] says when a decision is due
// and which decisions are allowed; the agent chooses one.
//
// A coordination stores no members and never changes, so all goroutines may share
// one.
//
// # Duties of the shell
//
// The shell owns the members. It
//
//   - calls [Coordination.Due] after each change of a member, with the initiator's
//     state of every member as last reported;
//   - has the agent decide, checks the decision with [Rule.Check] and sends every
//     member its command; it may send the commands of Unbidden at any time;
//   - calls Due again only when each of these members has taken its command, in
//     whatever state it was by then, or has ended.
//
// Only the last duty is about order. The reported states may be out of date by any
// amount, and so may a command when it arrives. The exploration of package verify
// covers all such delays.
type Coordination struct {
	Name    string
	Machine *Machine // of each pair
	Rules   []Rule   // in order of precedence
	Never   []Ban

	// Unbidden are commands of the initiator that any member can get at any moment,
	// such as cancel, whether rules have them or not. The end of a group must not
	// depend on them. The other commands of the rules come from rules only, and the
	// other commands of the table at any moment.
	Unbidden []string
}

// Rule is one kind of decision: it assigns a command to each of certain members.
type Rule struct {
	Name string
	Doc  string            // when it is due, and its purpose
	When func(Census) bool // whether it is due; pure, over the initiator's states
	Of   []State           // it is about the members in these states of the initiator
	Say  []Choice          // each of these members gets exactly one of these commands
}

// Choice is a command that a rule can assign to members.
type Choice struct {
	Command string
	Min     int // the smallest number of members that get it
	Max     int // the largest number of members that get it; zero means any number
}

// Ban is a condition that must not hold in any state of any group.
type Ban struct {
	Name string
	When func(initiator, responder Census) bool // pure, over the states of the two sides of all members
}

// Census counts the members in each state.
type Census struct{ states []State }

// NewCensus returns the census of members in those states. It keeps the slice.
func NewCensus(states ...State) Census { return Census{states} }

// Count returns the number of members in one of the states.
func (c Census) Count(in ...State) int {
	n := 0
	for _, s := range c.states {
		if slices.Contains(in, s) {
			n++
		}
	}
	return n
}

// Len returns the number of members.
func (c Census) Len() int { return len(c.states) }

// Commands returns the commands of the rules, in their order.
func (c Coordination) Commands() []string {
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

// Due returns the first rule that is due for members in those states of the
// initiator and is about at least one of them. The rule belongs to c: do not
// modify it.
func (c Coordination) Due(states []State) (*Rule, bool) {
	census := Census{states}
	for i := range c.Rules {
		if r := &c.Rules[i]; slices.ContainsFunc(states, r.concerns) && r.When(census) {
			return r, true
		}
	}
	return nil, false
}

func (r Rule) concerns(s State) bool { return slices.Contains(r.Of, s) }

// About returns the members that the rule is about, as indices into states.
func (r Rule) About(states []State) []int {
	var members []int
	for i, s := range states {
		if r.concerns(s) {
			members = append(members, i)
		}
	}
	return members
}

// Decisions yields each decision about members in those states that the rule allows: the commands
// of all members, empty for those that it is not about. The slice is reused.
func (r Rule) Decisions(states []State) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		about, commands := r.About(states), make([]string, len(states))
		var give func(k int) bool
		give = func(k int) bool {
			if k == len(about) {
				return r.Check(states, commands) != nil || yield(commands)
			}
			for _, c := range r.Say {
				commands[about[k]] = c.Command
				if !give(k + 1) {
					return false
				}
			}
			return true
		}
		give(0)
	}
}

// Check returns a [*DecisionError] for a decision that the rule does not allow. A
// decision has a command for each member, which is empty for the members that the
// rule is not about. Check does not test whether the rule is due.
func (r Rule) Check(states []State, commands []string) error {
	if len(commands) != len(states) {
		return r.fault(-1, "", "it is about another number of members")
	}
	given := make([]int, len(r.Say))
	for i, command := range commands {
		at := slices.IndexFunc(r.Say, func(c Choice) bool { return c.Command == command })
		switch {
		case !r.concerns(states[i]) && command != "":
			return r.fault(i, command, "the rule is not about a member in "+string(states[i]))
		case !r.concerns(states[i]):
		case command == "":
			return r.fault(i, "", "the member gets no command")
		case at < 0:
			return r.fault(i, command, "the rule has no such command")
		default:
			given[at]++
		}
	}
	return r.checkCounts(given)
}

// checkCounts checks the number of members that get each command.
func (r Rule) checkCounts(given []int) error {
	for i, c := range r.Say {
		if given[i] < c.Min {
			return r.fault(-1, c.Command, "too few members get it")
		}
		if c.Max > 0 && given[i] > c.Max {
			return r.fault(-1, c.Command, "too many members get it")
		}
	}
	return nil
}

func (r Rule) fault(member int, command, fault string) error {
	return &DecisionError{Rule: r.Name, Member: member, Command: command, Fault: fault}
}

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
