package machine

import "slices"

// Coordination binds the conversations that one initiator has at a time with
// many responders: each a pair that runs the same table, and none knows of the
// others. What joins them are decisions of the initiator's agent, such as to
// award one proposal and to decline the rest. A [Rule] says when one is due and
// which are allowed; the agent only chooses.
//
// The members are the conversations. A coordination holds none of them and never
// changes, so every goroutine may use it.
//
// # What the shell owes the coordination
//
// The shell is whoever owns the members. It
//
//   - calls [Coordination.Due] with the initiator's state of every member, as the
//     members last told, after each change of one;
//   - has the agent decide, checks the decision with [Rule.Check] and sends every
//     member its command; it may also say the commands of Unbidden at any time;
//   - does not ask again before each of these members has taken its command, be
//     it in another state than the one it was decided on, or has ended.
//
// The last point alone is about order: what the shell knows of a member may be
// out of date by any amount, and so may a command be when it arrives.
// [ExploreGroup] walks all that can come of it.
type Coordination struct {
	Name    string
	Machine *Machine // of each pair
	Rules   []Rule   // in order of precedence
	Never   []Never

	// Unbidden are commands of the initiator that may come to any member at any
	// moment, whether rules have them too or not, such as cancel. A group may not
	// depend on them for its end. All other commands of the rules come from rules
	// only, and all other commands of the table at any moment.
	Unbidden []string
}

// Rule is one decision about members: who gets which command.
type Rule struct {
	Name string
	Doc  string            // when it is due, and what it is for
	When func(Census) bool // whether it is due; pure, over the initiator's states
	Of   []State           // it is about the members in these states of the initiator
	Say  []Choice          // each of them gets exactly one of these
}

// Choice is a command that a rule has members get.
type Choice struct {
	Command string
	Min     int // how many members have to get it at least
	Max     int // and may get it at most; zero means any number
}

// Never is a condition that must not come about in any group.
type Never struct {
	Name string
	When func(initiator, responder Census) bool // pure, over the states of the two sides of all members
}

// Census tells how many members are in which state.
type Census struct{ states []State }

// NewCensus returns the census of members in those states. It keeps the slice.
func NewCensus(states ...State) Census { return Census{states} }

// Count returns how many members are in one of the states.
func (c Census) Count(in ...State) int {
	n := 0
	for _, s := range c.states {
		if slices.Contains(in, s) {
			n++
		}
	}
	return n
}

// Len returns how many members there are.
func (c Census) Len() int { return len(c.states) }

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

// About returns which members the rule is about, as indices into states.
func (r Rule) About(states []State) []int {
	var members []int
	for i, s := range states {
		if r.concerns(s) {
			members = append(members, i)
		}
	}
	return members
}

// Check says whether a decision is allowed: for each member its command, empty
// for those that the rule is not about. What is wrong with it is a
// [*DecisionError]. It does not ask whether the rule is due.
func (r Rule) Check(states []State, commands []string) error {
	if len(commands) != len(states) {
		return r.wrong(-1, "", "it is about another number of members")
	}
	given := make([]int, len(r.Say))
	for i, command := range commands {
		at := slices.IndexFunc(r.Say, func(c Choice) bool { return c.Command == command })
		switch {
		case !r.concerns(states[i]) && command != "":
			return r.wrong(i, command, "the rule is not about a member in "+string(states[i]))
		case !r.concerns(states[i]):
		case command == "":
			return r.wrong(i, "", "the member gets no command")
		case at < 0:
			return r.wrong(i, command, "the rule has no such command")
		default:
			given[at]++
		}
	}
	return r.count(given)
}

// count checks how many members get each command.
func (r Rule) count(given []int) error {
	for i, c := range r.Say {
		if given[i] < c.Min {
			return r.wrong(-1, c.Command, "too few members get it")
		}
		if c.Max > 0 && given[i] > c.Max {
			return r.wrong(-1, c.Command, "too many members get it")
		}
	}
	return nil
}

func (r Rule) wrong(member int, command, fault string) error {
	return &DecisionError{Rule: r.Name, Member: member, Command: command, Fault: fault}
}
