package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// brokeringCodon is [BrokeringTable] with what its documentation adds.
func brokeringCodon() Codon {
	return Codon{
		Table:    BrokeringTable(),
		Uses:     []string{whisper.Name(), delegation.Name(), request.Name()},
		Example:  "ExampleAskThrough",
		Payloads: proxyPayloads("all that the agents have answered"),
	}
}

// recruitingCodon is [RecruitingTable] with what its documentation adds.
func recruitingCodon() Codon {
	return Codon{
		Table:    RecruitingTable(),
		Uses:     []string{whisper.Name(), delegation.Name(), delivery.Name()},
		Example:  "ExampleRecruit",
		Payloads: proxyPayloads("who was recruited, and whether the delivery was confirmed"),
	}
}

func proxyPayloads(last string) []Payload {
	return []Payload{
		{performatives.ActProxy, Proxy{}, "which agents are wanted, and what is to be asked of them"},
		{performatives.ActAgree, nil, "they will be looked for"},
		{performatives.ActStatusUpdate, performatives.StatusUpdate{}, "news: its `intermediate_results` are whom the mediator asks, or what one of them has said"},
		{performatives.ActInform, ProxyReplies{}, last},
		{performatives.ActInform, performatives.Receipt{}, "the receipt for a CANCEL"},
	}
}

// deliveryCodon is [DeliveryTable] with what its documentation adds.
func deliveryCodon() Codon {
	return Codon{
		Table:   DeliveryTable(),
		Example: "ExampleRecruit",
		Sees: map[machine.State]string{
			stateConfirmed:    "the recruit has delivered",
			stateDisconfirmed: "the recruit tells the recruiter that the receiver did not want it",
		},
		Payloads: []Payload{
			{performatives.ActInformResult, performatives.InformResult{}, "the result, or the failure; its member `delivery` says what it is about"},
			{performatives.ActConfirm, nil, "the receiver has it"},
			{performatives.ActDisconfirm, denial{}, "the receiver does not want it, and why"},
			{performatives.ActInform, performatives.Receipt{}, "the receipt for a CANCEL"},
		},
	}
}
