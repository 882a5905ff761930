package codontest

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
)

// Conform runs conversations of a codon between two agents, in virtual time, and compares them with
// the codon's table. For each seed it opens several, with deadlines and cancellations, over a
// network that loses, duplicates, delays and reorders messages. In some seeds an agent stops, an
// agent is lost to its peers although it runs on, or a receiver cannot read some messages. The jobs
// take a while and end by one of their Ends, as the seed chooses. The test fails when
//
//   - a side takes a step that the table has not, or an event or message finds no row, or only
//     the row for any unexpected message;
//   - a side does not end, or the two end in a pair of states that Agree has not;
//   - a job runs on, or a job panics or gives an answer that is not valid, or an error is logged;
//   - a payload changes after it was sent;
//   - the record of a side does not lead to the same state and messages again.
//
// A codon whose package has an initiator or a responder of its own, or that needs several agents,
// is driven by [Calling] and [Agents]. Conform then checks each conversation of two by its table,
// not the rules that bind several of them: those are a [machine.Coordination]. It does not cover a
// codon without conversations, such as a saga, whose steps are calls of a function: give the codon
// of the conversations that its steps open. The pair of ends is not checked where the responder's
// agent had stopped, or the deadline had passed, and the runtime answered in its place.
//
// A failure names the seed: [Seed] repeats it. After three seeds with faults no
// more are tried. Conform must not be called in a
// testing/synctest bubble. [codons.CheckPayloads] is on meanwhile.
func Conform(t *testing.T, c *codons.Codon, opts ...Option) {
	t.Helper()
	for _, fault := range conform(t, c, newOptions(opts)) {
		t.Error(fault)
	}
}

// maxFaults is the number of seeds with faults after which no more are tried.
const maxFaults = 3

// conform returns the faults, one text for each seed.
func conform(t *testing.T, c *codons.Codon, o options) (faults []string) {
	if c.Machine() == nil && (o.agents == nil || o.call == nil) {
		return []string{fmt.Sprintf("codontest: %s has no table of its own: give a call of it by the option Calling, and the roles of the codons that it uses by Agents", c.Name())}
	}
	taken, unjudged := map[*machine.Transition]bool{}, 0
	var callErr error
	for _, seed := range o.seeds {
		if len(faults) == maxFaults {
			break
		}
		systemtest.Bubble(t, func(t *testing.T) {
			w, err := newWorld(t.Context(), c, o, seed)
			if w == nil {
				faults = append(faults, err.Error())
				return
			}
			if err == nil {
				w.play(t.Context())
			} else {
				w.fault("%v", err)
			}
			w.stop(context.WithoutCancel(t.Context()))
			for step := range w.check() {
				taken[step] = true
			}
			unjudged += w.unjudged
			for _, c := range w.calls {
				if c.done.Load() {
					callErr = cmp.Or(callErr, c.err)
				}
			}
			if len(w.faults) > 0 {
				faults = append(faults, fmt.Sprintf("codontest: %s, seed %d:\n%s", c.Name(), seed, strings.Join(w.faults, "\n")))
			}
		})
	}
	if len(taken) == 0 && len(faults) == 0 {
		return []string{fmt.Sprintf("codontest: %s: no conversation took a step; the first error of a call is: %v", c.Name(), callErr)}
	}
	t.Logf("%s: %d seeds took %d different steps; %d conversations ended by an answer of the runtime", c.Name(), len(o.seeds), len(taken), unjudged)
	return faults
}
