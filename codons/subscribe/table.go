package subscribe

import (
	"slices"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Codon is the codon of a subscription (addenda §6; FIPA SC00035H).
var Codon = newCodon(stream{
	name: "subscribe", title: "Subscribe",
	purpose: "One agent asks another to inform it of events. The other refuses, or agrees and sends each event, " +
		"until the subscriber cancels or the publisher ends it with a reason. Each side notices when the other is gone.",
	source:  "addenda §6; FIPA Subscribe Interaction Protocol (SC00035H)",
	opening: performatives.ActSubscribe,
	opened:  "the agent wants to be informed",
	informs: "an event was published",
}, "ExampleSubscribe", "the topic, and the terms that the subscriber keeps")

// WheneverCodon is the codon of a long-lived request: the responder acts each time a condition
// becomes true (addenda §6; FIPA SC00037J).
var WheneverCodon = newCodon(stream{
	name: "request-whenever", title: "Request whenever",
	purpose: "One agent asks another to act, and to say so, each time a condition becomes true. The other refuses, or agrees and does so, " +
		"until the initiator cancels or the responder ends it with a reason. Each side notices when the other is gone.",
	source:  "addenda §6; FIPA request-whenever (SC00037J), in the manner of Request When (SC00028H) and Subscribe (SC00035H)",
	opening: performatives.ActRequestWhenever,
	opened:  "the agent wants something done each time a condition becomes true",
	informs: "the condition has become true",
}, "ExampleRequestWhenever", "the action and its condition")

func newCodon(x stream, example, opening string) *codons.Codon {
	return codons.MustDefine(codons.Definition{
		Table:         x.table(),
		Example:       example,
		InitiatorSide: func() codons.Side { return &subscriberSide[any]{} }, // the type of the events matters to the stream only
		ResponderSide: func(r *codons.ResponderSide) codons.Side { return &publisherSide{ResponderSide: r} },
		Commands:      map[string]any{commandClose: performatives.Failure{}},
		Payloads: []codons.Payload{
			{Act: x.opening, Type: Subscription{}, Doc: opening},
			{Act: performatives.ActAgree, Type: Agreed{}, Commands: []string{standard.CommandAgree}, Doc: "the position after which the events come"},
			{Act: performatives.ActStatusUpdate, Type: performatives.StatusUpdate{}, Doc: "a sign of life while the publisher's agent decides"},
			{Act: performatives.ActInform, Type: Published{}, Commands: []string{commandPublish}, Doc: "one event, with its number"},
			{Act: performatives.ActConfirm, Type: Confirmed{}, Commands: []string{commandConfirm}, Doc: "the latest event that was read, or after which there is room for another window; when an INFORM asks for it"},
		},
		Outcomes: map[machine.State]string{
			stateLost: "a break, after which the stream subscribes again",
		},
	})
}

// stream is a table in which one act is answered by any number of INFORMs, until either side
// ends it: FIPA's subscribe and request-whenever (addenda §6).
type stream struct {
	name, title, purpose, source string

	opening performatives.Performative
	opened  string // why the initiator sends the opening act
	informs string // why the responder sends an INFORM
}

// States, timers, commands and reports that only these tables have.
const (
	stateSubscribing  machine.State = "subscribing"  // initiator: no answer yet
	stateDeliberating machine.State = "deliberating" // responder: the agent decides, and the subscriber knows
	stateSubscribed   machine.State = "subscribed"   // events may come at any time
	stateLost         machine.State = "lost"         // no message of the other side came for too long

	timerSilence = "silence" // initiator: until a silent publisher is given up
	timerLease   = "lease"   // responder: until a silent subscriber is given up

	commandConfirm = "confirm" // initiator: confirm the events that need no more room
	commandPublish = "publish" // responder: send the next event
	commandClose   = "close"   // responder: end the subscription

	reportEvent     = "event"     // initiator: the event of an INFORM
	reportConfirmed = "confirmed" // responder: the events that need no more room
	reportProbed    = "probed"    // responder: a heartbeat
	reportSent      = "sent"      // responder: the event was sent, or could not be sent
)

func (x stream) table() machine.Table {
	return machine.Table{
		Name: x.name, Title: x.title, Purpose: x.purpose, Source: x.source,
		Terminal: []machine.State{stateLost},
		Jobs: []machine.Job{{
			Role: machine.Responder, Name: standard.JobConsider, Ends: []string{standard.CommandAgree},
			Doc: "the agent decides about the subscription", ReceiptNeedNotWait: true,
		}},
		Timers:       streamTimers(),
		Rows:         slices.Concat(x.subscribe(), x.follow(), streamUnsubscribe(), x.consider(), x.publish()),
		Agree:        streamPairs(),
		Declarations: declarations(x.opening),
	}
}

func streamTimers() []machine.Timer {
	return []machine.Timer{
		{Role: machine.Initiator, Name: machine.TimerDeadline, Doc: "until the opening act's ReplyBy, the lease of the stream; it does not run without one"},
		{Role: machine.Initiator, Name: machine.TimerRetry, Doc: "until the opening act or CANCEL is sent again: without an answer, or as a heartbeat"},
		{Role: machine.Initiator, Name: timerSilence, Doc: "three heartbeats, after which a silent publisher is given up"},
		{Role: machine.Responder, Name: machine.TimerDeadline, Doc: "until the opening act's ReplyBy; it does not run without one"},
		{Role: machine.Responder, Name: timerLease, Doc: "four heartbeats, after which a silent subscriber is given up; it does not run for one without a heartbeat"},
	}
}

// subscribe returns the rows of the initiator before the first answer of the publisher.
func (x stream) subscribe() []machine.Row {
	return []machine.Row{
		machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).
			Goto(stateSubscribing, machine.Send(x.opening), machine.Arm(timerSilence)).
			Because(x.opened),
		machine.Asks(stateSubscribing).When(machine.Receive(performatives.ActAgree)).
			Goto(stateSubscribed, machine.Arm(timerSilence), machine.Arm(machine.TimerRetry), machine.Report(standard.ReportAgreed)).
			Because("the publisher will inform; agree may be skipped, lost or overtaken (addenda §6)"),
		machine.Asks(stateSubscribing).When(machine.Receive(performatives.ActInform)).
			Goto(stateSubscribed, machine.Arm(timerSilence), machine.Arm(machine.TimerRetry), machine.Report(reportEvent)).
			Because("an event implies the AGREE that it overtook, or that was lost or left out"),
		machine.Asks(stateSubscribing).When(machine.Receive(performatives.ActStatusUpdate), machine.Duplicate(performatives.ActStatusUpdate)).
			Stay(machine.Arm(timerSilence)).
			Because("the publisher is there, and its agent has not decided yet"),
	}
}

// follow returns the rows of the initiator that is subscribed, and those of both states.
func (x stream) follow() []machine.Row {
	subscribed, both := machine.Asks(stateSubscribed), machine.Asks(stateSubscribing, stateSubscribed)
	return []machine.Row{
		subscribed.When(machine.Receive(performatives.ActInform)).
			Stay(machine.Arm(timerSilence), machine.Report(reportEvent)).
			Because(x.informs),
		subscribed.When(machine.Receive(performatives.ActAgree)).
			Stay(machine.Arm(timerSilence), machine.Report(standard.ReportAgreed)).
			Because("an event overtook it, or the publisher had lost its state and begins again"),
		subscribed.When(machine.Duplicate(performatives.ActAgree)).
			Stay(machine.Arm(timerSilence)).
			Because("the publisher answers the heartbeat"),
		subscribed.When(machine.Receive(performatives.ActStatusUpdate)).
			Stay(machine.Drop(machine.DropLate)).
			Because("the AGREE, or an event, overtook it"),
		subscribed.When(machine.Commanded(commandConfirm)).
			Stay(machine.Send(performatives.ActConfirm)).
			Because("the publisher waits for the confirmation before it sends more"),
		both.When(machine.Timeout(machine.TimerRetry)).
			Stay(machine.Resend(x.opening), machine.Arm(machine.TimerRetry)).
			Because("without an answer, or as a heartbeat: the publisher agrees again; one that has lost its state begins again"),
		both.When(machine.Timeout(timerSilence)).
			Goto(stateLost, machine.Send(performatives.ActCancel)).
			Because("the publisher is gone or unreachable; the CANCEL ends a subscription that still exists there"),
		both.When(machine.Commanded(standard.CommandCancel)).
			Goto(standard.StateCancelling, machine.Send(performatives.ActCancel), machine.Disarm(timerSilence), machine.Arm(machine.TimerGrace), machine.Arm(machine.TimerRetry)).
			Because("the subscriber wants no more events; the receipt says that none will come"),
		machine.Asks(stateSubscribing).When(machine.Commanded(commandConfirm)).
			Stay(machine.Drop(machine.DropLate)).
			Because("no event has come, so there is none to confirm"),
	}
}

// streamUnsubscribe returns the rows of the initiator between CANCEL and the end.
func streamUnsubscribe() []machine.Row {
	return []machine.Row{
		machine.Asks(standard.StateCancelling).When(machine.Receive(performatives.ActInform)).
			Stay(machine.Report(reportEvent)).
			Because("the event crossed the CANCEL"),
		machine.Asks(standard.StateCancelling).When(machine.Duplicate(performatives.ActAgree)).
			Stay(machine.Drop(machine.DropLate)).
			Because("the answer to a heartbeat says nothing about the end"),
	}
}

// consider returns the rows of the responder before its AGREE.
func (x stream) consider() []machine.Row {
	considering := machine.Answers(standard.StateConsidering, stateDeliberating)
	return []machine.Row{
		machine.Answers(machine.Idle).When(machine.Receive(x.opening)).
			Goto(standard.StateConsidering, machine.Arm(timerLease), machine.Run(standard.JobConsider)).
			Because("the agent decides"),
		considering.When(machine.Commanded(standard.CommandAgree)).
			Goto(stateSubscribed, machine.Send(performatives.ActAgree)).
			Because("from here on the subscriber is informed"),
		considering.When(machine.Receive(performatives.ActCancel)).
			Goto(standard.StateCancelled, machine.Stop(standard.JobConsider), standard.SendReceipt).
			Because("nothing has begun that has to stop first"),
		machine.Answers(standard.StateConsidering).When(machine.Duplicate(x.opening)).
			Goto(stateDeliberating, machine.Send(performatives.ActStatusUpdate), machine.Arm(timerLease)).
			Because("the subscriber asks again, and must not take a publisher for lost whose agent is slow to decide"),
		machine.Answers(stateDeliberating).When(machine.Duplicate(x.opening)).
			Stay(machine.Resend(performatives.ActStatusUpdate), machine.Arm(timerLease)).
			Because("the subscriber asks once more"),
		machine.Answers(stateDeliberating).When(machine.Commanded(standard.CommandRefuse)).
			Goto(standard.StateRefused, machine.Send(performatives.ActRefuse)).
			Because("not for this subscriber, or not now; the STATUS_UPDATE has promised nothing"),
		machine.Answers(stateDeliberating).When(machine.Commanded(standard.CommandNotUnderstood)).
			Goto(standard.StateNotUnderstood, machine.Send(performatives.ActNotUnderstood)).
			Because("the agent does not understand the subscription; the STATUS_UPDATE has promised nothing"),
		considering.When(machine.Timeout(timerLease)).
			Goto(standard.StateTimedOut, machine.Stop(standard.JobConsider), machine.Send(performatives.ActFailure)).
			Because("the agent did not decide before the subscriber was gone"),
	}
}

// publish returns the rows of the responder after its AGREE.
func (x stream) publish() []machine.Row {
	subscribed := machine.Answers(stateSubscribed)
	return []machine.Row{
		subscribed.When(machine.Commanded(commandPublish)).
			Stay(machine.Send(performatives.ActInform), machine.Report(reportSent)).
			Because(x.informs),
		subscribed.When(machine.Commanded(commandClose)).
			Goto(standard.StateFailed, machine.Send(performatives.ActFailure)).
			Because("there will be no more events: the publisher ends it with a reason (addenda §6)"),
		subscribed.When(machine.Receive(performatives.ActConfirm)).
			Stay(machine.Arm(timerLease), machine.Report(reportConfirmed)).
			Because("the subscriber has room for more"),
		subscribed.When(machine.Duplicate(x.opening)).
			Stay(machine.Resend(performatives.ActAgree), machine.Arm(timerLease), machine.Report(reportProbed)).
			Because("a heartbeat, or the AGREE was lost"),
		subscribed.When(machine.Timeout(timerLease)).
			Goto(stateLost, machine.Send(performatives.ActFailure)).
			Because("the subscriber is gone, or unreachable"),
	}
}

// streamPairs returns the pairs of end states besides those of the standard rows.
func streamPairs() []machine.Pair {
	pairs := []machine.Pair{
		{Initiator: standard.StateFailed, Responder: stateLost, After: []machine.Cause{machine.At(machine.Responder, machine.Timeout(timerLease))}, Note: "the publisher gave the subscriber up, and its FAILURE arrived"},
	}
	for _, end := range []machine.State{standard.StateRefused, standard.StateNotUnderstood, machine.Idle} {
		after := []machine.Cause{machine.At(machine.Initiator, machine.Undelivered(performatives.ActCancel))}
		if end != machine.Idle {
			after = append(after, machine.Forgotten(machine.Responder))
		}
		pairs = append(pairs, machine.Pair{Initiator: standard.StateFailed, Responder: end, After: after})
	}
	for _, end := range []machine.State{standard.StateRefused, standard.StateNotUnderstood, standard.StateFailed, standard.StateCancelled, standard.StateTimedOut, stateLost, machine.Idle} {
		pairs = append(pairs, machine.Pair{Initiator: stateLost, Responder: end, After: []machine.Cause{machine.At(machine.Initiator, machine.Timeout(timerSilence))}, Note: "the network was silent for too long"})
	}
	return pairs
}

// declarations say what the rows are for, besides what the standard rows bring.
func declarations(opening performatives.Performative) machine.Declarations {
	return machine.Declarations{
		LongLived: true,
		Renewals: []machine.Renewal{
			{Role: machine.Initiator, Timer: timerSilence, In: []machine.State{stateSubscribed}, On: []machine.Symbol{
				machine.Receive(performatives.ActAgree), machine.Receive(performatives.ActInform), machine.Duplicate(performatives.ActAgree),
			}},
			{Role: machine.Initiator, Timer: timerSilence, In: []machine.State{stateSubscribing}, On: []machine.Symbol{
				machine.Receive(performatives.ActAgree), machine.Receive(performatives.ActInform),
				machine.Receive(performatives.ActStatusUpdate), machine.Duplicate(performatives.ActStatusUpdate),
			}},
			{Role: machine.Initiator, Timer: machine.TimerRetry, In: []machine.State{stateSubscribing}, On: []machine.Symbol{
				machine.Receive(performatives.ActAgree), machine.Receive(performatives.ActInform),
			}},
			{
				Role: machine.Responder, Timer: timerLease, In: []machine.State{standard.StateConsidering, stateDeliberating},
				On: []machine.Symbol{machine.Duplicate(opening)},
			},
			{Role: machine.Responder, Timer: timerLease, In: []machine.State{stateSubscribed}, On: []machine.Symbol{
				machine.Receive(performatives.ActConfirm), machine.Duplicate(opening),
			}},
		},
		Rest: []machine.Rest{{
			Initiator: []machine.State{stateSubscribed}, Responder: []machine.State{stateSubscribed},
			Why: "a subscription lasts until one side ends it",
		}},
	}
}
