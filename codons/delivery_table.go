package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// States of the delivery codon.
const (
	stateConfirmed    machine.State = "confirmed"    // the receiver has it
	stateDisconfirmed machine.State = "disconfirmed" // the receiver does not want it
)

// DeliveryTable returns the codon in which one who was recruited gives the
// designated receiver what came of its task (addenda §2 and §6).
func DeliveryTable() machine.Table {
	return exchange{
		name: "delivery", title: "Delivery",
		purpose: "An agent gives another a result that a third has asked for on its behalf. It sends it until the receiver confirms it, " +
			"or says that it expects no such thing.",
		source:  "addenda §2 and §6; the sub-protocol of FIPA Recruiting (SC00034H); confirm and disconfirm: SC00037J",
		opening: performatives.ActInformResult,
		opened:  "what was asked for is there, or the reason why not",
		job:     "the receiver takes it",
		answers: []answerAct{
			{commandAnswer, performatives.ActConfirm, stateConfirmed, "the receiver has it; a repeat is confirmed again"},
		},
		denial: &answerAct{
			commandRefuse, performatives.ActDisconfirm, stateDisconfirmed,
			"the receiver expects no such delivery; it was not asked for anything that it could refuse",
		},
	}.table()
}
