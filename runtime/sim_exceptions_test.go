package runtime_test

import (
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// simException is a pair of final states, or a protocol violation, that no table lists and that the
// simulation accepts all the same. Everything else fails. T is what the exception is about.
type simException[T any] struct {
	name string
	why  string
	fits func(T) bool
}

// simEnding is the end of an initiator.
type simEnding struct {
	protocol              string
	state                 machine.State
	simRefusal                // the answer of the runtime that ended it, in the place of the responder; zero for another end
	before, during, after int // runs of the responder that had ended by the refusal, were under way, and began later
	runs                  int // of the responder
}

// away reports whether the agent was not there.
func (e simEnding) away() bool {
	return slices.Contains([]p.Code{p.CodeUnknownAgent, p.CodeStopped}, e.code)
}

// pairExceptions are the accepted pairs. No table knows the runtime, nor an agent without its
// memory.
var pairExceptions = []simException[simEnding]{
	{
		name: "no copy reached the responder",
		why:  "The agent was not there, or the deadline had passed.",
		fits: func(e simEnding) bool { return (e.away() || e.code == p.CodeExpired) && e.runs == 0 },
	},
	{
		name: "the agent failed on the opening",
		why:  "The agent's code panicked as it considered the request, before the conversation had a state.",
		fits: func(e simEnding) bool { return e.code == p.CodeInternal && e.runs == 0 },
	},
	{
		name: "the agent was gone",
		why: "The responder had ended, and its last message was lost. A later message, such as a CANCEL or a heartbeat, " +
			"found no agent.",
		fits: func(e simEnding) bool { return e.away() && e.before > 0 && e.during+e.after == 0 },
	},
	{
		name: "the agent came back",
		why:  "The agent was not there for one message, and an earlier one, which the network had delayed, reached it after it had been spawned again.",
		fits: func(e simEnding) bool { return e.away() && e.during == 0 && e.after > 0 },
	},
	{
		name: "the bidder had forgotten its bid",
		why:  "The bidder came back without its conversation, and took the messages to the winner for unexpected ones.",
		fits: func(e simEnding) bool {
			sale := []string{auction.EnglishCodon.Name(), auction.DutchCodon.Name()}
			return slices.Contains(sale, e.protocol) && e.state == standard.StateNotUnderstood && e.code == "" && e.runs > 1
		},
	},
}

// violationExceptions are the accepted violations. In each of them the responder's agent was
// stopped and came back without its conversations, so that one of the conversation's messages
// opened it again. The monitor knows one run of the responder.
var violationExceptions = []simException[simViolation]{
	{
		name: "a receipt without a memory",
		why:  "A CANCEL reached the agent after it had come back. Nothing runs there, so it sends a receipt, although its former value had ended the conversation in another way.",
		fits: func(v simViolation) bool { _, ok := v.Message.Payload().(p.Receipt); return ok },
	},
	{
		name: "a later round opened it",
		why: "The request of a further round reached the agent after it had come back. It takes it for the first one. It has not " +
			"performed that request before.",
		fits: func(v simViolation) bool { return v.later },
	},
	{
		name: "the stream began again",
		why:  "A heartbeat reached the publisher after it had lost its subscriptions, and it begins again. The subscriber's stream goes on.",
		fits: func(v simViolation) bool {
			return slices.Contains([]string{subscribe.Codon.Name(), subscribe.WheneverCodon.Name()}, v.Message.Protocol())
		},
	},
}

// simViolation is a violation by a responder that began its conversation more than once.
type simViolation struct {
	lifecycle.Violation
	later bool // each time another message opened it
}

// violationException returns what accepts a violation, or nil.
func (c *simRecorder) violationException(v lifecycle.Violation) *simException[simViolation] {
	runs := c.conversations[simSide{v.Conversation, v.Message.Protocol(), v.Sender.Fold(), v.Receiver.Fold(), machine.Responder}]
	if len(runs) < 2 {
		return nil
	}
	openings := make(map[p.MessageID]bool)
	for _, run := range runs {
		openings[run.opening] = true
	}
	return exceptionOf(violationExceptions, simViolation{v, len(openings) == len(runs)})
}

func exceptionOf[T any](all []simException[T], what T) *simException[T] {
	i := slices.IndexFunc(all, func(x simException[T]) bool { return x.fits(what) })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// pairException returns what accepts the pair of a conversation's final states, or nil.
func (c *simRecorder) pairException(side simSide, conversation *simConversation, runs []*simConversation) *simException[simEnding] {
	e := simEnding{protocol: side.protocol, state: conversation.state, runs: len(runs)}
	if conversation.answer == nil {
		return exceptionOf(pairExceptions, e)
	}
	e.simRefusal = *conversation.answer
	for _, run := range runs {
		switch {
		case run.began > e.at:
			e.after++
		case run.endedAt == 0 || run.endedAt > e.at:
			e.during++
		default:
			e.before++
		}
	}
	return exceptionOf(pairExceptions, e)
}

// checkExceptions logs how often each exception was accepted. With many seeds, one that was never
// accepted is an error.
func checkExceptions(t *testing.T, accepted *tally, seeds int) {
	check := func(name, why string) {
		n := accepted.of(name)
		t.Logf("%6d accepted: %s. %s", n, name, why)
		if n == 0 && seeds >= manySeeds {
			t.Errorf("nothing was accepted as %q: delete the exception", name)
		}
	}
	for _, x := range pairExceptions {
		check(x.name, x.why)
	}
	for _, x := range violationExceptions {
		check(x.name, x.why)
	}
}

// manySeeds is how many seeds show every exception.
const manySeeds = 500
