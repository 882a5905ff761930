package machine

import (
	"errors"
	"strings"
	"testing"

	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestCompileRefuses(t *testing.T) {
	row := func(i int, change func(*Row)) func(*Table) { return func(t *Table) { change(&t.Rows[i]) } }
	add := func(r Row) func(*Table) { return func(t *Table) { t.Rows = append(t.Rows, r) } }
	for _, c := range []struct {
		name   string
		change func(*Table)
		want   string
	}{
		{"no name", func(t *Table) { t.Name = "" }, "has no name"},
		{"no rows", func(t *Table) { t.Rows = nil }, "has no rows"},
		{"a state twice", func(t *Table) { t.Live = append(t.Live, "asked") }, `state "asked" is empty or declared twice`},
		{"a state that nobody gets to", func(t *Table) { t.Live = append(t.Live, "limbo") }, "no role gets to limbo"},
		{
			"two rows for one event", add(For(Initiator, "asked").When(Timeout("deadline")).Goto("done")),
			"row 12 (initiator in asked on timeout deadline): row 2 has timeout deadline in asked too",
		},
		{
			"two wildcards for one event", add(For(Initiator, "done").When(OtherDuplicates()).Stay(Drop("again"))),
			"row 4 has a wildcard for duplicate ACCEPT_PROPOSAL in done too",
		},
		{"an unknown state to leave", add(For(Initiator, "limbo").When(Command("go")).Goto("done")), `state "limbo" is not declared`},
		{"an unknown state to enter", row(1, func(r *Row) { r.To = "limbo" }), `row 1 (initiator in asked on receive INFORM_REF): state "limbo" is not declared`},
		{"a row that is never reached", row(5, func(r *Row) { r.To = "done"; r.Do = nil }), "the responder never gets to answering"},
		{
			"a live state without an end", func(t *Table) {
				t.Live = append(t.Live, "limbo")
				t.Rows[1].To = "limbo"
			}, "the initiator cannot get from limbo to a terminal state",
		},
		{"no role", row(0, func(r *Row) { r.Role = 7 }), "Role(7) is no role"},
		{"no symbol", row(0, func(r *Row) { r.On = nil }), "it has no state or no symbol"},
		{"no act", row(1, func(r *Row) { r.On = []Symbol{Receive(0)} }), "is no act"},
		{"a tagged duplicate", row(7, func(r *Row) { r.On[0].Name = "x" }), "only fresh messages are tagged"},
		{"a timeout of nothing", row(2, func(r *Row) { r.On = []Symbol{Timeout("")} }), "has an act or lacks a name"},
		{"no kind", row(2, func(r *Row) { r.On = []Symbol{{}} }), "Kind(0) is no kind of symbol"},
		{"no effect", row(1, func(r *Row) { r.Do = []Effect{{}} }), "EffectKind(0) is no effect"},
		{"an effect on nothing", row(1, func(r *Row) { r.Do = []Effect{Report("")} }), "report of nothing"},
		{"an invalid act to send", row(6, func(r *Row) { r.Do[0].Act = 0 }), "it sends Performative(0)"},
		{"an act that nobody receives", row(6, func(r *Row) { r.Do = []Effect{Send(p.ActAgree)} }), "row 6 (responder in answering on command answer): it would send AGREE, which no row of the initiator receives"},
		{"two messages in one step", row(6, func(r *Row) { r.Do = append(r.Do, r.Do[0]) }), "more than one message"},
		{"a message again that is never sent", row(9, func(r *Row) { r.Do = []Effect{Resend(p.ActAgree)} }), "it sends AGREE again, which the responder never sends"},
		{"a refusal without a code", add(For(Responder, "done").When(OtherRequests()).Stay(Refuse("whim"))), `it refuses with "whim", which is no code`},
		{"a refusal of a duplicate", row(9, func(r *Row) { r.Do = []Effect{Refuse(p.CodeBusy)} }), "which is no fresh message that expects a reply"},
		{"a terminal state that is left", add(For(Initiator, "done").When(Command("back")).Goto("asked")), "it leaves the terminal state done"},
		{"a terminal state that works", add(For(Initiator, "done").When(Command("go")).Stay(Report("x"))), "a terminal state can resend, refuse and drop, not report x"},
		{"a job started at the end", row(5, func(r *Row) { r.To = "done" }), "it would run answer in the terminal state done"},
		{"a timer that is not armed", row(0, func(r *Row) { r.Do = r.Do[:1] }), "the initiator's timer deadline is never armed"},
		{"a timer that is not declared", func(t *Table) { t.Timers = t.Timers[1:] }, "timer deadline is not declared"},
		{"a job that is not declared", func(t *Table) { t.Jobs = nil }, "job answer is not declared"},
		{"a job that is not run", row(5, func(r *Row) { r.Do = r.Do[1:] }), "the responder's job answer is never run"},
		{"a job without a last word", func(t *Table) { t.Jobs[0].Ends = nil }, "has no last word"},
		{"a job that nobody listens to", func(t *Table) { t.Jobs[0].Says = []string{"hum"} }, "the responder's job answer says hum, for which there is no row"},
		{"a pair of live states", func(t *Table) { t.Agree = append(t.Agree, Pair{Initiator: "asked", Responder: "done"}) }, "the pair asked, done names no end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := ping()
			c.change(&table)
			_, err := table.Compile()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestCompileErrorsNameTheRow(t *testing.T) {
	table := ping()
	table.Rows[1].To = "limbo"
	_, err := table.Compile()
	var fault *RowError
	if !errors.As(err, &fault) || fault.Index != 1 || fault.Table != "ping" {
		t.Errorf("got %v", err)
	}
}

func TestMustCompilePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Table{}.MustCompile()
}

func TestWildcardsTakeWhatIsLeft(t *testing.T) {
	m := haggle().MustCompile()
	c := Conversation{Role: Responder, State: "bought"}
	for on, want := range map[Symbol]Effect{
		Duplicate(p.ActRequest): Resend(p.ActInform),
		Duplicate(p.ActCancel):  Drop("duplicate"),
		Receive(p.ActCancel):    Refuse(p.CodeCanceled),
		Receive(p.ActCFP):       Refuse(p.CodeCanceled),
	} {
		_, do, err := m.Step(c, Event{On: on})
		if err != nil || len(do) != 1 || do[0] != want {
			t.Errorf("%s: %v, %v, want %s", on, do, err, want)
		}
	}
	if _, _, err := m.Step(c, Event{On: Receive(p.ActAgree)}); err == nil {
		t.Error("AGREE expects no reply, so OtherRequests does not take it")
	}
}

func TestRefusalsTravelInTheRightAct(t *testing.T) {
	for _, c := range []struct {
		code       p.Code
		about, act p.Performative
	}{
		{p.CodeCanceled, p.ActTaskRequest, p.ActTaskReject},
		{p.CodeCanceled, p.ActQueryCapabilities, p.ActRefuse},
		{p.CodeBusy, p.ActCancel, p.ActFailure},
		{p.CodeConversationEnded, p.ActTaskRequest, p.ActFailure},
		{p.CodeUnexpectedAct, p.ActCancel, p.ActNotUnderstood},
	} {
		if got := Refuse(c.code).Answer(c.about); got != c.act {
			t.Errorf("%s about %s travels in %s, want %s", c.code, c.about, got, c.act)
		}
	}
}
