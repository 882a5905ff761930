package verify

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// small is a table, which need not compile. It has each kind of effects and symbols that has mutants.
func small() machine.Table {
	in := func(s ...machine.State) machine.Row { return machine.For(machine.Initiator, s...) }
	res := func(s ...machine.State) machine.Row { return machine.For(machine.Responder, s...) }
	return machine.Table{
		Timers: []machine.Timer{{Role: machine.Initiator, Name: "retry"}, {Role: machine.Responder, Name: "other"}, {Role: machine.Initiator, Name: "grace"}},
		Rows: []machine.Row{
			in(machine.Idle).When(machine.Commanded("start")).Goto("asked", machine.SendTagged(p.ActRequest, "x"), machine.Arm("retry"), machine.Report("begun")),
			in("asked").When(machine.Timeout("retry")).Stay(machine.Resend(p.ActRequest), machine.SendTagged(p.ActRequest, "y"), machine.Send(p.ActCancel)),
			in("asked", "agreed").When(machine.Receive(p.ActInform), machine.Duplicate(p.ActAgree)).Goto("done", machine.Disarm("grace")),
			in("asked").When(machine.Receive(p.ActAgree)).Goto("agreed"),
			res(machine.Idle).When(machine.Receive(p.ActRequest)).Goto("busy", machine.Run("job"), machine.Send(p.ActAgree), machine.Send(p.ActInform)),
		},
	}
}

// changedRows returns how many rows a mutant has changed or lost.
func changedRows(before, after []machine.Row) int {
	left := slices.Clone(before)
	for _, r := range after {
		left = slices.DeleteFunc(left, func(o machine.Row) bool { return cmp.Equal(r, o) })
	}
	return len(left)
}

// The mutants of a table are the same at each run, and each of them is one mistake.
func TestMutants(t *testing.T) {
	for _, all := range []bool{false, true} {
		var got []string
		table := small()
		for _, m := range Mutants(table, all) {
			if diff := cmp.Diff(small(), table); diff != "" {
				t.Fatalf("%s has changed the table: %s", m.Change, diff)
			}
			if n := changedRows(table.Rows, m.Table.Rows); n != 1 {
				t.Errorf("%s: %d rows are others", m.Change, n)
			}
			got = append(got, m.Change)
		}
		want := leastMutants
		if all {
			want += furtherMutants
		}
		lines := strings.FieldsFunc(want, func(r rune) bool { return r == '\n' })
		if diff := cmp.Diff(slices.Sorted(slices.Values(lines)), slices.Sorted(slices.Values(got))); diff != "" {
			t.Errorf("all: %v: %s", all, diff)
		}
	}
}

const leastMutants = `
initiator in asked on timeout retry: without resend REQUEST
initiator in asked on timeout retry: without send CANCEL
initiator in asked on timeout retry: without send REQUEST (y)
initiator in asked, agreed on receive INFORM, duplicate AGREE: without disarm grace
initiator in idle on command start: without arm retry
initiator in idle on command start: without report begun
initiator in idle on command start: without send REQUEST (x)
no row initiator in asked on receive AGREE
no row initiator in asked on timeout retry
no row initiator in asked, agreed on receive INFORM, duplicate AGREE
no row initiator in idle on command start
no row responder in idle on receive REQUEST
responder in idle on receive REQUEST: without run job
responder in idle on receive REQUEST: without send AGREE
responder in idle on receive REQUEST: without send INFORM
`

const furtherMutants = `
initiator in asked on receive AGREE: leads to asked
initiator in asked on receive AGREE: leads to done
initiator in asked on receive AGREE: stays
initiator in asked on receive AGREE: takes receive INFORM in place of receive AGREE
initiator in asked on timeout retry: does resend CANCEL in place of resend REQUEST
initiator in asked on timeout retry: does send CANCEL in place of send REQUEST (y)
initiator in asked on timeout retry: does send REQUEST (x) in place of send REQUEST (y)
initiator in asked on timeout retry: does send REQUEST in place of send CANCEL
initiator in asked on timeout retry: takes timeout grace in place of timeout retry
initiator in asked, agreed on receive INFORM, duplicate AGREE: does disarm retry in place of disarm grace
initiator in asked, agreed on receive INFORM, duplicate AGREE: leads to agreed
initiator in asked, agreed on receive INFORM, duplicate AGREE: leads to asked
initiator in asked, agreed on receive INFORM, duplicate AGREE: stays
initiator in asked, agreed on receive INFORM, duplicate AGREE: takes duplicate INFORM in place of duplicate AGREE
initiator in asked, agreed on receive INFORM, duplicate AGREE: takes receive AGREE in place of receive INFORM
initiator in asked, agreed on receive INFORM, duplicate AGREE: without state agreed
initiator in asked, agreed on receive INFORM, duplicate AGREE: without state asked
initiator in asked, agreed on receive INFORM, duplicate AGREE: without symbol duplicate AGREE
initiator in asked, agreed on receive INFORM, duplicate AGREE: without symbol receive INFORM
initiator in idle on command start: does arm grace in place of arm retry
initiator in idle on command start: does send CANCEL in place of send REQUEST (x)
initiator in idle on command start: does send REQUEST (y) in place of send REQUEST (x)
initiator in idle on command start: leads to agreed
initiator in idle on command start: leads to done
initiator in idle on command start: stays
responder in idle on receive REQUEST: does send AGREE in place of send INFORM
responder in idle on receive REQUEST: does send INFORM in place of send AGREE
responder in idle on receive REQUEST: stays
responder in idle on receive REQUEST: takes receive CANCEL in place of receive REQUEST
`
