package library_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// goldenStep is one row of a table for one state and one symbol.
type goldenStep struct {
	role machine.Role
	from machine.State
	on   machine.Symbol
}

// canonical writes what a table does, sorted. The order of rows, their grouping and their reasons
// do not show, and neither does a step that changes nothing because the machine would do the same
// without it.
func canonical(t machine.Table) string {
	steps := map[goldenStep]string{}
	for _, r := range t.Rows {
		for _, from := range r.From {
			for _, on := range r.On {
				to := r.To
				if to == "" {
					to = from
				}
				steps[goldenStep{r.Role, from, on}] = fmt.Sprintf("-> %s%s", to, effectList(r.Do))
			}
		}
	}
	var lines []string
	for at, does := range steps {
		if steps[withoutStep(steps, at)] != does {
			lines = append(lines, fmt.Sprintf("%s %s: %s %s", at.role, at.from, at.on, does))
		}
	}
	for _, s := range t.Live {
		lines = append(lines, "live "+string(s))
	}
	for _, s := range t.Terminal {
		lines = append(lines, "terminal "+string(s))
	}
	for _, timer := range t.Timers {
		lines = append(lines, fmt.Sprintf("timer %s %s", timer.Role, timer.Name))
	}
	for _, j := range t.Jobs {
		lines = append(lines, fmt.Sprintf("job %s %s says %q ends %q", j.Role, j.Name, slices.Sorted(slices.Values(j.Says)), slices.Sorted(slices.Values(j.Ends))))
	}
	for _, p := range t.Agree {
		lines = append(lines, fmt.Sprintf("ends %s, %s after %v", p.Initiator, p.Responder, p.After))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// effectList returns the effects in their order, each after a comma.
func effectList(do []machine.Effect) string {
	var b strings.Builder
	for _, e := range do {
		b.WriteString(", " + e.String())
	}
	return b.String()
}

// withoutStep returns the step that the machine would take if it did not have this one: that of
// the act without its tag, that of the act in time, or that of a wildcard.
func withoutStep(steps map[goldenStep]string, at goldenStep) goldenStep {
	next := at
	switch {
	case at.on.Act == 0:
		return goldenStep{}
	case at.on.Name != "":
		next.on.Name = ""
	case at.on.Kind == machine.KindStale:
		next.on.Kind = machine.KindReceive
	case at.on.Kind == machine.KindDuplicate:
		next.on = machine.OtherDuplicates()
	case at.on.Act.ExpectsReply():
		next.on = machine.OtherRequests()
	default:
		next.on = machine.OtherNotices()
	}
	if _, ok := steps[next]; ok || next.on.Act == 0 {
		return next
	}
	return withoutStep(steps, next)
}
