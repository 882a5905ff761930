package machine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestCompileRefuses(t *testing.T) {
	row := func(i int, change func(*machine.Row)) func(*machine.Table) {
		return func(t *machine.Table) { change(&t.Rows[i]) }
	}
	add := func(r machine.Row) func(*machine.Table) { return func(t *machine.Table) { t.Rows = append(t.Rows, r) } }
	for _, c := range []struct {
		name   string
		change func(*machine.Table)
		want   string
	}{
		{"no name", func(t *machine.Table) { t.Name = "" }, "has no name"},
		{"no rows", func(t *machine.Table) { t.Rows = nil }, "has no rows"},
		{"a state twice", func(t *machine.Table) { t.Live = append(t.Live, "asked") }, `state "asked" is empty or declared twice`},
		{"an unreachable state", func(t *machine.Table) { t.Live = append(t.Live, "limbo") }, "no role gets to limbo"},
		{
			"two rows for one event", add(machine.For(machine.Initiator, "asked").When(machine.Timeout("deadline")).Goto("done")),
			"row 12 (initiator in asked on timeout deadline): row 2 has timeout deadline in asked too",
		},
		{
			"two wildcards for one event", add(machine.For(machine.Initiator, "done").When(machine.OtherDuplicates()).Stay(machine.Drop("again"))),
			"row 4 has any other duplicate in done too",
		},
		{"an unknown state to leave", add(machine.For(machine.Initiator, "limbo").When(machine.Commanded("go")).Goto("done")), `state "limbo" is not declared`},
		{"an unknown state to enter", row(1, func(r *machine.Row) { r.To = "limbo" }), `row 1 (initiator in asked on receive INFORM_REF): state "limbo" is not declared`},
		{"a row that is never reached", row(5, func(r *machine.Row) { r.To = "done"; r.Do = nil }), "the responder never gets to answering"},
		{
			"a live state without an end", func(t *machine.Table) {
				t.Live = append(t.Live, "limbo")
				t.Rows[1].To = "limbo"
			}, "the initiator cannot get from limbo to a terminal state",
		},
		{"no role", row(0, func(r *machine.Row) { r.Role = 7 }), "Role(7) is not a role"},
		{"no symbol", row(0, func(r *machine.Row) { r.On = nil }), "it has no state or no symbol"},
		{"no act", row(1, func(r *machine.Row) { r.On = []machine.Symbol{machine.Receive(0)} }), "is not an act"},
		{"a tagged duplicate", row(7, func(r *machine.Row) { r.On[0].Name = "x" }), "has a tag, which duplicates do not have"},
		{"a timeout of nothing", row(2, func(r *machine.Row) { r.On = []machine.Symbol{machine.Timeout("")} }), "has an act or lacks a name"},
		{"no kind", row(2, func(r *machine.Row) { r.On = []machine.Symbol{{}} }), "Kind(0) is not a kind of symbol"},
		{"an undeliverable message of no act", row(2, func(r *machine.Row) { r.On = []machine.Symbol{machine.Undeliverable(0)} }), "is not an act"},
		{
			"an undeliverable message that is never sent", row(2, func(r *machine.Row) { r.On = []machine.Symbol{machine.Undeliverable(p.ActAgree)} }),
			"the initiator never sends AGREE, so it is never undeliverable",
		},
		{
			"an undeliverable message that expects no reply",
			func(t *machine.Table) {
				t.Rows[2].Do = []machine.Effect{machine.Send(p.ActInform)}
				t.Rows = append(t.Rows, machine.For(t.Rows[2].Role, t.Rows[2].To).When(machine.Undelivered(p.ActInform)).Stay(machine.Drop("x")))
			}, "INFORM neither expects a reply nor opens the conversation, so its refusal is not reported",
		},
		{
			"a refused copy before the first message", add(machine.For(machine.Initiator, machine.Idle).When(machine.OtherRefusedCopies()).Goto("done")),
			"any other refused copy cannot occur in idle",
		},
		{
			"a tagged undeliverable message",
			row(2, func(r *machine.Row) {
				r.On = []machine.Symbol{{Kind: machine.KindUndeliverable, Act: p.ActQueryRef, Name: "x"}}
			}), "undeliverable QUERY_REF (x) has a tag",
		},
		{
			"an undeliverable message before the first", add(machine.For(machine.Initiator, machine.Idle).When(machine.Undeliverable(p.ActQueryRef)).Goto("done")),
			"undeliverable QUERY_REF cannot occur in idle",
		},
		{"a lost peer before the first message", add(machine.For(machine.Responder, machine.Idle).When(machine.PeerLost()).Goto("lost")), "peer lost cannot occur in idle"},
		{
			"a named lost peer", row(2, func(r *machine.Row) { r.On = []machine.Symbol{{Kind: machine.KindPeerLost, Name: "x"}} }),
			"peer lost x has an act or a name",
		},
		{
			"a refusal of a lost peer", add(machine.For(machine.Responder, "done").When(machine.PeerLost()).Stay(machine.Refuse(p.CodeCanceled))),
			"it refuses peer lost, which is not a fresh message that expects a reply",
		},
		{"no effect", row(1, func(r *machine.Row) { r.Do = []machine.Effect{{}} }), "EffectKind(0) is not an effect"},
		{"an effect on nothing", row(1, func(r *machine.Row) { r.Do = []machine.Effect{machine.Report("")} }), "report has no name"},
		{"an invalid act to send", row(6, func(r *machine.Row) { r.Do[0].Act = 0 }), "it sends Performative(0)"},
		{"an act that the peer has no row for", row(6, func(r *machine.Row) { r.Do = []machine.Effect{machine.Send(p.ActAgree)} }), "row 6 (responder in answering on command answer): it would send AGREE, which no row of the initiator receives"},
		{"two messages in one step", row(6, func(r *machine.Row) { r.Do = append(r.Do, r.Do[0]) }), "more than one message"},
		{"a message again that is never sent", row(9, func(r *machine.Row) { r.Do = []machine.Effect{machine.Resend(p.ActAgree)} }), "it sends AGREE again, which the responder never sends"},
		{"a refusal without a code", add(machine.For(machine.Responder, "done").When(machine.OtherRequests()).Stay(machine.Refuse("whim"))), `it refuses with "whim", which is not a known code`},
		{"a refusal of a duplicate", row(9, func(r *machine.Row) { r.Do = []machine.Effect{machine.Refuse(p.CodeBusy)} }), "which is not a fresh message that expects a reply"},
		{"a terminal state that is left", add(machine.For(machine.Initiator, "done").When(machine.Commanded("back")).Goto("asked")), "it leaves the terminal state done"},
		{"a terminal state that works", add(machine.For(machine.Initiator, "done").When(machine.Commanded("go")).Stay(machine.Report("x"))), "a terminal state can resend, refuse and drop, not report x"},
		{"a job started at the end", row(5, func(r *machine.Row) { r.To = "done" }), "it would run answer in the terminal state done"},
		{"a timer that is not armed", row(0, func(r *machine.Row) { r.Do = r.Do[:1] }), "the initiator's timer deadline is never armed"},
		{"a timer that is not declared", func(t *machine.Table) { t.Timers = t.Timers[1:] }, "timer deadline is not declared"},
		{"a job that is not declared", func(t *machine.Table) { t.Jobs = nil }, "job answer is not declared"},
		{"a job twice", func(t *machine.Table) { t.Jobs = append(t.Jobs, t.Jobs[0]) }, "the responder's job answer is declared twice"},
		{"a job that is not run", row(5, func(r *machine.Row) { r.Do = r.Do[1:] }), "the responder's job answer is never run"},
		{"a job without a final command", func(t *machine.Table) { t.Jobs[0].Ends = nil }, "has no final command"},
		{"a command of a job without a row", func(t *machine.Table) { t.Jobs[0].Says = []string{"hum"} }, "the responder's job answer gives command hum, which has no row"},
		{"a pair of live states", func(t *machine.Table) { t.Agree = append(t.Agree, machine.Pair{Initiator: "asked", Responder: "done"}) }, "the pair asked, done: asked is no terminal state"},
		{"a pair of a live state of the responder", func(t *machine.Table) {
			t.Agree = append(t.Agree, machine.Pair{Initiator: "done", Responder: "answering"})
		}, "the pair done, answering: answering is no terminal state"},
		{
			"states that lead only to each other", func(t *machine.Table) {
				t.Live = append(t.Live, "left", "right")
				t.Rows = append(t.Rows, machine.For(machine.Initiator, "left").When(machine.Commanded("go")).Goto("right"), machine.For(machine.Initiator, "right").When(machine.Commanded("go")).Goto("left"))
			}, "row 12 (initiator in left on command go): the initiator never gets to left",
		},
		{"a pair twice", func(t *machine.Table) { t.Agree = append(t.Agree, t.Agree[0]) }, "is declared twice"},
		{
			"a declared command without a row", func(t *machine.Table) {
				t.Commands = []machine.AgentCommand{{Name: "start", In: []machine.State{"asked"}}}
			}, "the initiator has no row for its declared command start in asked",
		},
		{
			"a command that is declared twice", func(t *machine.Table) {
				start := machine.AgentCommand{Name: "start", In: []machine.State{machine.Idle}}
				t.Commands = []machine.AgentCommand{start, start}
			}, "the initiator's command start is declared twice in idle",
		},
		{
			"a pair of rest of unknown states", func(t *machine.Table) { t.Rest = []machine.Rest{{Initiator: []machine.State{"limbo"}}} },
			`the declaration of a pair of rest names state "limbo"`,
		},
		{
			"a report of an event without a row", func(t *machine.Table) {
				t.Reports = []machine.Reported{{On: machine.Commanded("hum"), Name: "hum"}}
			}, "command hum is declared to be reported to the initiator as hum and has no row",
		},
		{
			"a garbled act that is never sent", func(t *machine.Table) { t.Garbled = []machine.Garbled{{On: machine.Receive(p.ActAgree)}} },
			"receive AGREE of the initiator is declared as garbled",
		},
		{
			"an end in a live state", func(t *machine.Table) { t.Ends = []machine.Ending{{On: machine.Commanded("start"), To: "asked"}} },
			"command start is declared to end the initiator in asked, which is not terminal",
		},
		{
			"an exception without a reason", func(t *machine.Table) { t.Exceptions = []machine.Exception{{Rule: "ends"}} },
			"the exception from ends has no reason",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := tabletest.Ping()
			c.change(&table)
			_, err := table.Compile()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestCompileErrorsNameTheRow(t *testing.T) {
	table := tabletest.Ping()
	table.Rows[1].To = "limbo"
	_, err := table.Compile()
	var fault *machine.RowError
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
	machine.Table{}.MustCompile()
}

func TestWildcardsTakeWhatIsLeft(t *testing.T) {
	m := tabletest.Haggle().MustCompile()
	c := machine.Status{Role: machine.Responder, State: "bought"}
	for on, want := range map[machine.Symbol]machine.Effect{
		machine.Duplicate(p.ActRequest): machine.Resend(p.ActInform),
		machine.Duplicate(p.ActCancel):  machine.Drop("duplicate"),
		machine.Receive(p.ActCancel):    machine.Refuse(p.CodeCanceled),
		machine.Receive(p.ActCFP):       machine.Refuse(p.CodeCanceled),
	} {
		_, do, err := m.Step(c, machine.Event{On: on})
		if err != nil || len(do) != 1 || do[0] != want {
			t.Errorf("%s: %v, %v, want %s", on, do, err, want)
		}
	}
	if _, _, err := m.Step(c, machine.Event{On: machine.Receive(p.ActAgree)}); err == nil {
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
		if got := machine.Refuse(c.code).Answer(c.about); got != c.act {
			t.Errorf("%s about %s travels in %s, want %s", c.code, c.about, got, c.act)
		}
	}
}
