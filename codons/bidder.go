package codons

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Bidder is an agent that bids for tasks: the answering side of [ContractNetTable]
// and [IteratedContractNetTable]. Both methods run on goroutines of the
// conversation, beside others, so they must not touch the agent's fields but by
// [actors.Self.Do], and should return soon once ctx ends.
type Bidder interface {
	actors.Agent
	// ConsiderCall says for how much the agent would do the task. It binds the agent
	// until the proposal's ValidUntil, and takes up one of its places ([Limited]). A
	// [*performatives.Refusal] is told with its code and text, as REFUSE,
	// NOT_UNDERSTOOD or FAILURE, whichever the code calls for; any other error, or a
	// panic, as FAILURE without its text. A revised call is considered anew.
	ConsiderCall(ctx context.Context, c Called) (Proposal, error)

	// PerformAward does what the agent proposed, and returns the result. ctx ends on
	// CANCEL, when the result is due, or when the agent stops. Errors are told as
	// those of [Worker].PerformTask are.
	PerformAward(ctx context.Context, a Awarded) (performatives.InformResult, error)
}

// Called is a call that an agent may bid for.
type Called struct {
	Call
	Message  *performatives.Message // the CFP: who calls, until when proposals are taken
	Agent    actors.Self            // the handle of the agent that is called
	Previous []Proposal             // what the agent proposed in earlier rounds
}

// Awarded is a task that an agent has won.
type Awarded struct {
	Call     Call
	Proposal Proposal               // the agent's own, which was accepted
	Message  *performatives.Message // the ACCEPT_PROPOSAL: until when the result is due
	Agent    actors.Self
}

// ContractNets is the protocol that makes every [Bidder] answer CFP.
type ContractNets Times

// Name returns "contract-net".
func (ContractNets) Name() string { return contractNet.Name() }

// Opens reports whether m begins a contract net, or is the CANCEL of one that comes
// first.
func (ContractNets) Opens(m *performatives.Message) bool { return opens(m, contractNet, true) }

// Bind returns the responder of a [Bidder].
func (n ContractNets) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	return newCounter(self, agent, contractNet, Times(n))
}

// IteratedContractNets is the protocol that makes every [Bidder] answer the CFP of
// an iterated contract net.
type IteratedContractNets Times

// Name returns "iterated-contract-net".
func (IteratedContractNets) Name() string { return iteratedContractNet.Name() }

// Opens reports whether m begins an iterated contract net, which it has to name, or
// is the CANCEL of one that comes first.
func (IteratedContractNets) Opens(m *performatives.Message) bool {
	return opens(m, iteratedContractNet, false)
}

// Bind returns the responder of a [Bidder].
func (n IteratedContractNets) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	return newCounter(self, agent, iteratedContractNet, Times(n))
}

// counter is where one agent's bids in one codon are made.
type counter struct {
	places
	times   Times
	self    actors.Self
	machine *machine.Machine
	bidder  Bidder
}

func newCounter(self actors.Self, agent actors.Agent, m *machine.Machine, t Times) actors.Responding {
	b, ok := agent.(Bidder)
	if !ok {
		return nil
	}
	return &counter{places: places{limit: limitOf(agent)}, times: t.withDefaults(), self: self, machine: m, bidder: b}
}

// Open begins the conversation of a call.
func (b *counter) Open(m *performatives.Message) actors.Conversation {
	return newAnswering(b.self, b.machine, m, &bidScript{counter: b})
}
