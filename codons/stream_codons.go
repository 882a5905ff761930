package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

func notifyCodon() Codon {
	return Codon{
		Table:   NotifyTable(),
		Example: "ExampleNotify",
		Payloads: []Payload{
			{performatives.ActInform, performatives.Raw{}, "what is told, in a type of the application's"},
		},
		Sees: map[machine.State]string{
			stateNotified: "nothing more than that the notice is on its way",
		},
	}
}

func subscribeCodon() Codon {
	return streamCodon(SubscribeTable(), "ExampleSubscribe", performatives.ActSubscribe, "of what the subscriber wants to be informed, and what it keeps to")
}

func requestWheneverCodon() Codon {
	return streamCodon(RequestWheneverTable(), "ExampleRequestWhenever", performatives.ActRequestWhenever, "what is to be done, and on which condition")
}

func streamCodon(t machine.Table, example string, opening performatives.Performative, asks string) Codon {
	return Codon{
		Table:   t,
		Example: example,
		Payloads: []Payload{
			{opening, Subscription{}, asks},
			{performatives.ActAgree, Agreed{}, "from where on the events come"},
			{performatives.ActInform, Published{}, "one event, with its number"},
			{performatives.ActInform, performatives.Receipt{}, "the receipt for a CANCEL"},
			{performatives.ActConfirm, Confirmed{}, "how far the events have been read, when an INFORM asks for it"},
		},
		Sees: map[machine.State]string{
			stateLost: "a break, after which the stream subscribes again",
		},
	}
}
