// Expenses defines a codon with a person in it: the claim of travel expenses.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Claim is the payload of all messages: the claim as their sender sees it.
type Claim struct {
	Trip, Note       string
	Amount, Receipts int
}

var (
	ask             = func(name string) machine.Effect { return machine.SendTagged(performatives.ActRequest, name) }
	say             = func(name string) machine.Effect { return machine.SendTagged(performatives.ActInform, name) }
	asked           = func(name string) machine.Symbol { return machine.ReceiveTagged(performatives.ActRequest, name) }
	told            = func(name string) machine.Symbol { return machine.ReceiveTagged(performatives.ActInform, name) }
	request, inform = codons.Says[Claim](performatives.ActRequest), codons.Says[Claim](performatives.ActInform)
	unsent          = []machine.Cause{machine.At(machine.Initiator, machine.Undelivered(performatives.ActRequest))}
	role            = Expense.Answer(codons.Method("check", Accounting.Check), codons.Method("decide", Accounting.Decide))
)

// Expense is the codon: an employee's agent asks, the accounting agent answers, a manager decides.
var Expense = codons.MustDefine(codons.Definition{
	Table: machine.Table{
		Name: "expense-claim", Title: "Expense claim", Purpose: "Accounting checks a claim, has a manager decide, and pays.", Source: "this example", Terminal: []machine.State{"paid", "settled", "disputed", "denied", "lapsed", "withdrawn"},
		Timers: []machine.Timer{{Role: machine.Responder, Name: "decision", Doc: "how long the manager may take", After: 2 * time.Minute}},
		Jobs: []machine.Job{
			{Role: machine.Initiator, Name: "gather", Ends: []string{"supply", "give_up"}, Doc: "the employee looks for receipts"},
			{Role: machine.Initiator, Name: "compare", Ends: []string{"confirm", "dispute"}, Doc: "the employee compares the amount"},
			{Role: machine.Responder, Name: "check", Ends: []string{"want", "forward", "fail"}, Doc: "accounting checks the claim"},
			{Role: machine.Responder, Name: "decide", Ends: []string{"approve", "deny", "fail"}, Doc: "the manager decides"},
		},
		Agree: []machine.Pair{{Initiator: "failed", Responder: "denied", After: unsent, Also: true}, {Initiator: "failed", Responder: "lapsed", After: unsent, Also: true}},
		Rows: []machine.Row{
			machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).Goto("sent", ask("CLAIM")).Because("there were expenses"),
			machine.Asks("sent").When(told("RECEIVED")).Goto("submitted").Because("accounting has the claim"),
			machine.Asks("sent", "submitted").When(told("RECEIPTS_WANTED")).Goto("gathering", machine.Run("gather")).Because("receipts are missing"),
			machine.Asks("gathering").When(machine.Commanded("supply")).Goto("submitted", ask("RECEIPTS")).Because("it has more receipts now"),
			machine.Asks("gathering").When(machine.Commanded("give_up")).Goto("withdrawing", ask("WITHDRAWAL")).Because("there are no more receipts"),
			machine.Asks("sent").When(machine.Commanded("withdraw")).Goto("leaving").Because("a withdrawal must not overtake the claim"),
			machine.Asks("leaving").When(told("RECEIVED"), told("RECEIPTS_WANTED")).Goto("withdrawing", ask("WITHDRAWAL")).Because("accounting has the claim"),
			machine.Asks("submitted").When(machine.Commanded("withdraw")).Goto("withdrawing", ask("WITHDRAWAL")).Because("nothing is wanted"),
			machine.Asks("gathering").When(machine.Commanded("withdraw")).Goto("withdrawing", machine.Stop("gather"), ask("WITHDRAWAL")).Because("nothing is wanted"),
			machine.Asks("withdrawing").When(told("RECEIPTS_WANTED")).Stay(machine.Drop(machine.DropLate)).Because("gather is over"),
			machine.Asks("gathering", "submitted", "withdrawing", "comparing", "confirmed", "disputing").When(told("RECEIVED")).Stay(machine.Drop(machine.DropStale)).Because("a later answer has overtaken it"),
			machine.Asks("leaving", "withdrawing", "comparing", "confirmed", "disputing").When(machine.Commanded("withdraw")).Stay(machine.Drop(machine.DropLate)).Because("once is enough, or it is too late"),
			machine.Asks("sent", "submitted").When(told("PAYMENT")).Goto("comparing", machine.Run("compare")).Because("the manager has approved"),
			machine.Asks("leaving", "withdrawing").When(told("PAYMENT")).Goto("comparing", machine.Report("too_late"), machine.Run("compare")).Because("the manager had approved"),
			machine.Asks("sent", "submitted", "leaving", "withdrawing").When(told("DENIED")).Goto("denied").Because("the manager has denied it"),
			machine.Asks("sent", "submitted", "leaving", "withdrawing").When(told("LAPSED")).Goto("lapsed").Because("the manager has not decided"),
			machine.Asks("withdrawing").When(told("WITHDRAWN")).Goto("withdrawn").Because("it was in time"),
			machine.Asks("comparing").When(machine.Commanded("confirm")).Goto("confirmed", ask("CONFIRMATION")).Because("the amount is right"),
			machine.Asks("comparing").When(machine.Commanded("dispute")).Goto("disputing", ask("DISPUTE")).Because("the amount is wrong"),
			machine.Asks("confirmed").When(told("PAID")).Goto("paid").Because("both agree"),
			machine.Asks("disputing").When(told("SETTLED")).Goto("settled").Because("the employee was right"),
			machine.Asks("disputing").When(told("CLOSED")).Goto("disputed").Because("the amount stands"),
			machine.Answers(machine.Idle).When(asked("CLAIM")).Goto("checking", say("RECEIVED"), machine.Run("check")).Because("an employee wants money"),
			machine.Answers("wanting").When(asked("RECEIPTS")).Goto("checking", machine.Run("check")).Because("here they are"),
			machine.Answers("announced").When(asked("WITHDRAWAL")).Stay(machine.Resend(performatives.ActInform)).Because("too late: the answer stands"),
			machine.Answers("checking", "deciding").When(machine.Duplicate(performatives.ActRequest)).Stay(machine.Resend(performatives.ActInform)).Because("it is worked on"),
			machine.Answers("checking").When(machine.Commanded("want")).Goto("wanting", say("RECEIPTS_WANTED")).Because("receipts are missing"),
			machine.Answers("checking").When(machine.Commanded("forward")).Goto("deciding", machine.Arm("decision"), machine.Run("decide")).Because("it is complete"),
			machine.Answers("deciding").When(machine.Commanded("approve")).Goto("announced", machine.Disarm("decision"), say("PAYMENT")).Because("it is approved"),
			machine.Answers("deciding").When(machine.Commanded("deny")).Goto("denied", machine.Disarm("decision"), say("DENIED")).Because("it is denied"),
			machine.Answers("deciding").When(machine.Timeout("decision")).Goto("lapsed", machine.Stop("decide"), say("LAPSED")).Because("nobody has decided"),
			machine.Answers("wanting").When(asked("WITHDRAWAL")).Goto("withdrawn", say("WITHDRAWN")).Because("it is in time"),
			machine.Answers("checking").When(asked("WITHDRAWAL")).Goto("withdrawn", machine.Stop("check"), say("WITHDRAWN")).Because("it is in time"),
			machine.Answers("deciding").When(asked("WITHDRAWAL")).Goto("withdrawn", machine.Stop("decide"), machine.Disarm("decision"), say("WITHDRAWN")).Because("it is in time"),
			machine.Answers("rechecking").When(asked("WITHDRAWAL")).Stay(machine.Drop(machine.DropLate)).Because("another answer is on its way"),
			machine.Answers("announced").When(asked("CONFIRMATION")).Goto("paid", say("PAID")).Because("both agree"),
			machine.Answers("announced").When(asked("DISPUTE")).Goto("rechecking", machine.Arm("decision"), machine.Run("decide")).Because("it is looked at once more"),
			machine.Answers("rechecking").When(machine.Commanded("approve")).Goto("settled", machine.Disarm("decision"), say("SETTLED")).Because("the employee is right"),
			machine.Answers("rechecking").When(machine.Commanded("deny")).Goto("disputed", machine.Disarm("decision"), say("CLOSED")).Because("the amount stands"),
			machine.Answers("rechecking").When(machine.Timeout("decision")).Goto("disputed", machine.Stop("decide"), say("CLOSED")).Because("the amount stands"),
		},
	},
	Messages: codons.Messages{
		"CLAIM": request, "RECEIPTS": request, "WITHDRAWAL": request, "CONFIRMATION": request, "DISPUTE": request, "RECEIVED": inform, "CLOSED": inform,
		"RECEIPTS_WANTED": inform, "PAYMENT": inform, "DENIED": inform, "LAPSED": inform, "WITHDRAWN": inform, "PAID": inform, "SETTLED": inform,
	},
})

// Accounting is the agent that answers claims. It has the manager of that id decide.
type Accounting struct{ Manager performatives.AgentID }

// Describe returns the capabilities for discovery.
func (Accounting) Describe() performatives.Capabilities { return performatives.Capabilities{} }

// Check wants a receipt.
func (Accounting) Check(_ context.Context, t codons.Turn[Claim]) (codons.Command, error) {
	if t.Content.Receipts == 0 {
		return codons.Command{Name: "want", Data: Claim{Note: "where is the receipt?"}}, nil
	}
	return codons.Command{Name: "forward"}, nil
}

// Decide waits for the manager. Its ctx ends with the time for the decision.
func (a Accounting) Decide(ctx context.Context, t codons.Turn[Claim]) (codons.Command, error) {
	verdict, err := approval.Approve(ctx, t.Agent, a.Manager, approval.Step{What: "pay for " + t.Content.Trip})
	if err != nil || !verdict.Approved {
		return codons.Command{Name: "deny", Data: Claim{Note: verdict.Reason}}, err
	}
	return codons.Command{Name: "approve", Data: t.Content}, nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func claim(c Claim, limit time.Duration, manage func(manager *approval.Queue, step int, mine *codons.Asked)) {
	ctx, manager := context.Background(), &approval.Queue{}
	node := must(runtime.New(runtime.Options{Codons: []*codons.Service{role.WithTimer("decision", limit)}}))
	defer func() { _ = node.Stop(ctx) }()
	must(node, node.Spawn(ctx, "Manager", func() actors.Agent { return manager }))
	must(node, node.Spawn(ctx, "Accounting", func() actors.Agent { return Accounting{"Manager"} }))
	mine := must(Expense.Start(ctx, node, "Accounting", c,
		codons.On("gather", func(_ context.Context, t codons.Turn[Claim]) (codons.Command, error) {
			fmt.Println(c.Trip+":", t.Content.Note)
			return codons.Command{Name: "supply", Data: Claim{Trip: c.Trip, Amount: c.Amount, Receipts: 1}}, nil
		}),
		codons.On("compare", func(_ context.Context, t codons.Turn[Claim]) (codons.Command, error) {
			return codons.Command{Name: "confirm", Data: t.Content}, nil
		})))
	manage(manager, must(manager.Next(ctx, 0)).ID, mine)
	fmt.Println(c.Trip+":", must(mine.Wait()).State)
}

func main() {
	claim(Claim{Trip: "Bern", Amount: 120}, time.Minute, func(m *approval.Queue, step int, _ *codons.Asked) { must(m, m.Approve(step, "")) })
	claim(Claim{Trip: "Bali", Amount: 900, Receipts: 1}, time.Minute, func(m *approval.Queue, step int, _ *codons.Asked) { must(m, m.Deny(step, "")) })
	claim(Claim{Trip: "Graz", Amount: 80, Receipts: 1}, 20*time.Millisecond, func(*approval.Queue, int, *codons.Asked) {})
	claim(Claim{Trip: "Rome", Amount: 90, Receipts: 1}, time.Minute, func(_ *approval.Queue, _ int, c *codons.Asked) { c.Tell("withdraw", Claim{Trip: "Rome"}) })
}
