package verify

import (
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
)

// TestForgetfulRuns has each run that forgets combined with a stop and with the deadlines of each side that remembers.
func TestForgetfulRuns(t *testing.T) {
	m := tabletest.ContractNet().MustCompile()
	var got []string
	for _, r := range ForgetfulRuns(m) {
		got = append(got, r.Name)
		forgets := r.Forgets || r.Amnesia != [2]bool{}
		for _, role := range machine.Roles() {
			if r.Clocks[role] && r.Amnesia[role] {
				t.Errorf("%s: the deadlines of the side that has forgotten", r.Name)
			}
		}
		if !forgets || r.Stops == (r.Clocks != [2]bool{}) {
			t.Errorf("%+v: want a side that forgets, and either stops or deadlines", r)
		}
	}
	want := []string{
		"replies forgotten, and stops", "replies forgotten, and deadlines of the initiator", "replies forgotten, and deadlines of the responder",
		"amnesia of the initiator, and stops", "amnesia of the initiator, and deadlines of the responder",
		"amnesia of the responder, and stops", "amnesia of the responder, and deadlines of the initiator",
		"crash of the responder, and stops", "crash of the responder, and deadlines of the initiator",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
