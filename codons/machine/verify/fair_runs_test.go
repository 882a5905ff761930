package verify

import (
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TestForgetfulRuns has each run that forgets combined with a stop and with the deadlines of each
// side that remembers.
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

// TestRounds bounds a walk to one request of each act: it has fewer states, and at most one of
// them.
func TestRounds(t *testing.T) {
	m := tabletest.Haggle().MustCompile()
	walked := map[int]int{}
	for _, rounds := range []int{0, 1} {
		x := newFair(m, Run{Name: "no loss", Rounds: rounds})
		if err := x.walk(); err != nil {
			t.Fatal(err)
		}
		walked[rounds] = len(x.nodes)
		for _, message := range x.messages[machine.Initiator] {
			if rounds == 1 && message.act.ExpectsReply() && message.n > 1 {
				t.Errorf("with one round: %s", message)
			}
		}
	}
	if walked[1] >= walked[0] {
		t.Errorf("%d states with one round, %d with two", walked[1], walked[0])
	}
}

// TestWithoutPast has a bidder lose its memory. What it sent before, or without a conversation, is
// gone from the walk when it is not under way any more, but for proposals, and answers without a
// conversation have numbers of their own: otherwise a walk has no room for both lives.
func TestWithoutPast(t *testing.T) {
	for _, table := range []machine.Table{tabletest.ContractNet(), tabletest.Auction()} {
		x := newFair(table.MustCompile(), Run{Name: "crash", Amnesia: [2]bool{machine.Responder: true}, Crash: true})
		if err := x.walk(); err != nil {
			t.Fatal(err)
		}
		var forgotten, underWay, proposals int
		for _, n := range x.nodes {
			me := n.at.joint[machine.Responder]
			if n.at.memory[machine.Responder] != amnesiac {
				continue
			}
			forgotten++
			past := n.at.former
			if x.nodes[0].at.joint[machine.Responder].state == me.state { // no conversation yet
				past |= me.sent
			}
			for i := range past.All {
				switch m := x.messages[machine.Responder][i]; {
				case me.out.Has(i):
					underWay++
				case m.act == performatives.ActPropose:
					proposals++
				default:
					t.Fatalf("%s: %s is kept", table.Name, m)
				}
			}
		}
		if forgotten == 0 || underWay == 0 || proposals == 0 {
			t.Errorf("%s: %d states without memory, %d former messages under way, %d former proposals", table.Name, forgotten, underWay, proposals)
		}
		for _, m := range x.messages[machine.Responder] {
			if table.Name == "net" && m.act == performatives.ActFailure && m.n > 1 {
				t.Errorf("%s: each answer without a conversation is the first to its request", m)
			}
		}
	}
}
