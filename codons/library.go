package codons

import (
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Library returns the codons of this package, in the order in which a reader
// meets them. docs/codons.md is made of it, the tests explore each table in it,
// and a [Watch] knows what it names. The slice and what it holds belong to the
// caller.
//
// To add a codon, write the function that returns its [Codon] beside its table and
// name it here. A test says what is missing.
func Library() []Codon {
	return []Codon{
		delegationCodon(),
		needInputCodon(),
		toolCallCodon(),
		whisperCodon(),
		findCodon(),
		requestCodon(),
		requestWhenCodon(),
		requestWheneverCodon(),
		queryIfCodon(),
		queryRefCodon(),
		proposeCodon(),
		approvalCodon(),
		contractNetCodon(),
		iteratedContractNetCodon(),
		englishAuctionCodon(),
		dutchAuctionCodon(),
		subscribeCodon(),
		notifyCodon(),
		brokeringCodon(),
		recruitingCodon(),
		deliveryCodon(),
		handshakeCodon(),
		scatterCodon(),
		sagaCodon(),
		compositionCodon(),
	}
}

// Codon is one kind of conversation: the table that runs it and what the
// documentation adds.
type Codon struct {
	// Table is what runs it. A codon that is made of others has no Rows, but a
	// Name, Title, Purpose and Source all the same.
	Table machine.Table

	// Coordination documents how one agent leads many such conversations at a
	// time. Nil for a codon between two.
	Coordination interface{ Markdown() string }

	// Uses names the codons that it is made of or opens conversations of. A codon
	// without rows needs at least one.
	Uses []string

	// Payloads says what the acts of the table carry, at least one a fresh act.
	// FAILURE, REFUSE, NOT_UNDERSTOOD and CANCEL need none: they carry the same
	// everywhere.
	Payloads []Payload

	// Sees says what the caller gets when the initiator ends in a state, in words,
	// where that is not what [EndError] says of every codon: a sentence without its
	// full stop.
	Sees map[machine.State]string

	// Example is the name of the Go example whose code the documentation shows,
	// such as "ExampleDelegate".
	Example string

	// Tag returns what the table must know of a message's content: the tag of
	// [machine.ReceiveTagged], empty for none. The receipt for a CANCEL needs none:
	// it is known by what it answers. Nil where no row has another tag.
	Tag func(*performatives.Message) string
}

// Payload is what one act of a codon carries.
type Payload struct {
	Act  performatives.Performative
	Type any    // a value of the payload's type; nil for an act that carries nothing of note
	Doc  string // what it is for in this codon, without its full stop
}

// sharedPayloads are what these acts carry in every codon.
func sharedPayloads() []Payload {
	return []Payload{
		{performatives.ActCancel, performatives.Cancel{}, "withdraws what was asked for"},
		{performatives.ActFailure, performatives.Failure{}, "it was taken on, or was withdrawn, and what came of it is no good end"},
		{performatives.ActRefuse, performatives.Refuse{}, "it will not be done, and why"},
		{performatives.ActNotUnderstood, performatives.NotUnderstood{}, "the message itself made no sense, and why"},
	}
}

// Sends returns what the codon's acts carry, in the order in which the table first
// sends them: its Payloads, and those that all codons share.
func (c Codon) Sends() []Payload {
	var all []Payload
	for _, act := range c.acts() {
		own := payloadsOf(act, c.Payloads)
		if own == nil {
			own = payloadsOf(act, sharedPayloads())
		}
		all = append(all, own...)
	}
	return all
}

// acts returns the fresh acts that either side of the table sends on purpose, each
// once.
func (c Codon) acts() []performatives.Performative {
	var acts []performatives.Performative
	seen := map[performatives.Performative]bool{}
	for _, row := range c.Table.Rows {
		for _, e := range row.Do {
			if e.Kind == machine.EffectSend && !seen[e.Act] {
				seen[e.Act] = true
				acts = append(acts, e.Act)
			}
		}
	}
	return acts
}

// tagsReceipts reports whether the table tells the INFORM that answers a CANCEL from
// any other.
func (c Codon) tagsReceipts() bool {
	return slices.ContainsFunc(c.Table.Rows, func(r machine.Row) bool {
		return slices.Contains(r.Do, machine.SendTagged(performatives.ActInform, tagReceipt))
	})
}

func payloadsOf(act performatives.Performative, of []Payload) []Payload {
	var all []Payload
	for _, p := range of {
		if p.Act == act {
			all = append(all, p)
		}
	}
	return all
}
