package verify

import "github.com/ribosome-agents/ribosome/codons/machine"

// Run is one walk of [ExploreFair]: what can happen besides the moves that must.
type Run struct {
	Name    string
	Losses  int     // the largest number of copies that are lost
	Stops   bool    // an agent may stop
	Misread bool    // a side may be unable to read a message, see [machine.CommandMisreads]
	Clocks  [2]bool // of each role: its deadlines may expire at any moment, and then those of the other role must
	Forgets bool    // a side that has ended may forget the replies that it would send again
	Amnesia [2]bool // of each role: it may lose its state
	Crash   bool    // with its state, the ids of the requests that it has taken on are lost, too
	Cut     bool    // the connection may be lost, and then each side that has begun and not ended loses its peer
	Rounds  int     // how many different messages of an act a role sends on command that expect a reply; 0 means 2
	Slow    bool    // the ends are checked a second time, with jobs that need not end until they are asked to stop

	// Refusals says that the runtime refuses the copies that are lost. Once all copies of a
	// message were refused, rough ends count, and the deadlines of a side must expire when the
	// other has ended.
	Refusals bool
}

// Runs returns the walks of [ExploreFair], those with the fewest states first.
func Runs(m *machine.Machine) []Run {
	if !m.Table().Has(machine.Responder) {
		return []Run{{Name: "no loss"}, {Name: "stops", Stops: true, Slow: true}, {Name: "deadlines", Clocks: [2]bool{true, true}}}
	}
	return []Run{
		{Name: "no loss"},
		{Name: "refusals", Losses: 1, Refusals: true},
		{Name: "one loss", Losses: 1},
		{Name: "stops", Stops: true, Slow: true},
		{Name: "a lost connection", Cut: true, Slow: true},
		{Name: "misread messages", Misread: true, Slow: true},
		{Name: "deadlines of the responder", Clocks: [2]bool{machine.Responder: true}},
		{Name: "deadlines of the initiator", Clocks: [2]bool{machine.Initiator: true}},
		{Name: "replies forgotten", Losses: 1, Forgets: true},
		{Name: "two losses", Losses: 2},
	}
}

// AmnesiaRuns returns the walks in which a side loses its state at any moment: its conversation,
// its tombstone and its jobs. An initiator does not come back, and messages to it are dropped. A
// responder begins anew: its node answers the requests that it remembers by FAILURE (see
// [performatives.CodeConversationEnded]), and none of them starts a job again. After a crash the
// node remembers no request. Each side has to come to an end of its own, if need be by its
// deadline: see FairResult.Deadlines. The pair of their ends is not compared with Agree.
//
// These walks have more states than those of [Runs], up to a million for a table with several
// rounds.
func AmnesiaRuns(m *machine.Machine) []Run {
	if !m.Table().Has(machine.Responder) {
		return nil
	}
	return []Run{
		{Name: "amnesia of the initiator", Amnesia: [2]bool{machine.Initiator: true}},
		{Name: "amnesia of the responder", Amnesia: [2]bool{machine.Responder: true}},
		{Name: "crash of the responder", Amnesia: [2]bool{machine.Responder: true}, Crash: true},
	}
}

// ForgetfulRuns returns walks with two faults. A side forgets its replies or its state, as in the
// last but one of [Runs] and in [AmnesiaRuns]. Besides, an agent stops, or the deadlines of a side
// with its memory pass. They have several times the states of those. Where an initiator has stopped
// and its CANCEL is lost, a deadline of the responder counts as an end, too, and is among
// FairResult.Deadlines.
func ForgetfulRuns(m *machine.Machine) []Run {
	if !m.Table().Has(machine.Responder) {
		return nil
	}
	forgets := append([]Run{{Name: "replies forgotten", Losses: 1, Forgets: true}}, AmnesiaRuns(m)...)
	var runs []Run
	for _, r := range forgets {
		stops := r
		stops.Name, stops.Stops = r.Name+", and stops", true
		runs = append(runs, stops)
		for _, other := range machine.Roles() {
			if r.Forgets || r.Amnesia[other.Other()] {
				clock := r
				clock.Name, clock.Clocks[other] = r.Name+", and deadlines of the "+other.String(), true
				runs = append(runs, clock)
			}
		}
	}
	return runs
}
