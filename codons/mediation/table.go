package mediation

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// BrokeringCodon is the codon of asking others through a broker (addenda §6; FIPA SC00033H).
var BrokeringCodon = codons.MustDefine(codons.Definition{
	InitiatorSide: func() codons.Side { return &brokerInitiator{} },
	Table: standard.Exchange{
		Name: "brokering", Title: "Brokering",
		Purpose: "One agent has another, the broker, find agents that can do something and ask them to. The broker refuses, " +
			"or agrees, asks them in conversations of its own, passes their answers on as they come, and ends with all of the answers, " +
			"or with a failure when there is no match.",
		Source:  "addenda §6; FIPA Brokering Interaction Protocol (SC00033H)",
		Opening: performatives.ActProxy, Agree: true, Reports: true,
		Opened: "the agent wants something of agents that it does not know",
		Job:    "the broker finds the agents, asks them, and waits for their answers",
		Answers: []standard.AnswerAct{
			{Command: standard.CommandAnswer, Act: performatives.ActInform, End: standard.StateAnswered, Why: "the answers of all agents"},
		},
	}.Own(),
	Uses: []codons.Use{
		usesWhisper, usesTurns,
		{Codon: delegation.Codon.Name(), For: "a proxied task, with each agent that is asked"},
		{Codon: request.Codon.Name(), For: "a proxied request, with each agent that is asked"},
	},
	Example:  "ExampleAskThrough",
	Payloads: proxyPayloads("the answers of all agents"),
})

// RecruitingCodon is the codon of having agents recruited that deliver to a designated receiver
// (addenda §2 and §6; FIPA SC00034H).
var RecruitingCodon = codons.MustDefine(codons.Definition{
	InitiatorSide: func() codons.Side { return &recruitInitiator{} },
	Table: standard.Exchange{
		Name: "recruiting", Title: "Recruiting",
		Purpose: "One agent has another, the recruiter, find agents that can perform a task and have them do it. They deliver their results " +
			"to the designated receiver, which is the first agent or a third. The recruiter refuses, or agrees, says which agents were recruited, " +
			"and ends when every delivery was confirmed or has failed, or with a failure when there is no match.",
		Source:  "addenda §2 and §6; FIPA Recruiting Interaction Protocol (SC00034H)",
		Opening: performatives.ActProxy, Agree: true, Reports: true,
		Opened: "the agent wants something done by agents that it does not know, which answer the designated receiver",
		Job:    "the recruiter finds the agents, delegates to them, and waits until they have delivered",
		Answers: []standard.AnswerAct{
			{Command: standard.CommandAnswer, Act: performatives.ActInform, End: standard.StateAnswered, Why: "which agents were recruited, and which deliveries were confirmed"},
		},
	}.Own(),
	Uses: []codons.Use{
		usesWhisper, usesTurns,
		{Codon: delegation.Codon.Name(), For: "the task, with each agent that is asked"},
		{Codon: DeliveryCodon.Name(), For: "the result, from the recruit to the designated receiver; from the recruiter, where the recruit does not deliver"},
	},
	Example:  "ExampleRecruit",
	Payloads: proxyPayloads("which agents were recruited, and whether each delivery was confirmed"),
})

// The conversations of both mediations.
var (
	usesWhisper = codons.Use{Codon: discovery.WhisperCodon.Name(), For: "the capabilities of the agents that a ready-made Broker knows, all at once"}
	usesTurns   = codons.Use{Codon: discovery.FindCodon.Name(), For: "the rules by which the next agent is asked, where one is wanted: the state `waiting`"}
)

// proxyPayloads returns the payloads of a conversation that a PROXY opens.
func proxyPayloads(result string) []codons.Payload {
	return []codons.Payload{
		{Act: performatives.ActProxy, Type: Proxy{}, Doc: "which agents are wanted, and what they are asked"},
		{Act: performatives.ActAgree, Commands: []string{standard.CommandAgree}, Doc: "the mediator will look for them"},
		{Act: performatives.ActStatusUpdate, Type: performatives.StatusUpdate{}, Commands: []string{standard.CommandReport}, Doc: "news: its `intermediate_results` are the agents that the mediator asks, or a message of one of them"},
		{Act: performatives.ActInform, Type: ProxyReplies{}, Commands: []string{standard.CommandAnswer}, Doc: result},
	}
}

// End states of the delivery codon.
const (
	stateConfirmed    machine.State = "confirmed"    // the receiver has the delivery
	stateDisconfirmed machine.State = "disconfirmed" // the receiver does not accept the delivery
)

// DeliveryCodon is the codon in which a recruit, or the recruiter on its behalf, gives the
// designated receiver the result of a task (addenda §2 and §6).
var DeliveryCodon = codons.MustDefine(codons.Definition{
	ResponderSide: func(r *codons.ResponderSide) codons.Side { return deliveryResponder{r} },
	Table: standard.Exchange{
		Name: "delivery", Title: "Delivery",
		Purpose: "An agent gives another a result that a third has asked for on its behalf. It sends the result until the receiver confirms it, " +
			"or says that it does not expect it.",
		Source:  "addenda §2 and §6; the sub-protocol of FIPA Recruiting (SC00034H); confirm and disconfirm: SC00037J",
		Opening: performatives.ActInformResult,
		Opened:  "the result is there, or the reason why there is none",
		Job:     "the receiver handles the delivery",
		Answers: []standard.AnswerAct{
			{Command: standard.CommandAnswer, Act: performatives.ActConfirm, End: stateConfirmed, Why: "the receiver has it; a duplicate is confirmed again"},
		},
		Denial: &standard.AnswerAct{
			Command: standard.CommandRefuse, Act: performatives.ActDisconfirm, End: stateDisconfirmed,
			Why: "the receiver does not expect the delivery; a delivery asks for nothing that could be refused",
		},
	}.Own(),
	Example: "ExampleRecruit",
	Outcomes: map[machine.State]string{
		stateConfirmed:    "the recruit has delivered",
		stateDisconfirmed: "the recruit tells the recruiter that the receiver did not accept it",
	},
	Payloads: []codons.Payload{
		{Act: performatives.ActInformResult, Type: performatives.InformResult{}, Doc: "the result, or the failure; its member `delivery` says what it is about"},
		{Act: performatives.ActConfirm, Commands: []string{standard.CommandAnswer}, Doc: "the receiver has it"},
		{Act: performatives.ActDisconfirm, Type: denial{}, Doc: "the receiver does not accept it, and why"},
	},
})
