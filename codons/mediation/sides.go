package mediation

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// proxyCommands are the contents of the commands of brokering and recruiting.
func proxyCommands() map[string]any {
	return map[string]any{
		codons.CommandAgree: nil, codons.CommandReport: performatives.StatusUpdate{}, codons.CommandAnswer: ProxyReplies{},
	}
}

// brokeringSides makes a new side of a role, for [codons.Rebuild].
func brokeringSides(role machine.Role) codons.Side {
	if role == machine.Initiator {
		return &brokerInitiator{}
	}
	return nil
}

// recruitingSides makes a new side of a role, for [codons.Rebuild].
func recruitingSides(role machine.Role) codons.Side {
	if role == machine.Initiator {
		return &recruitInitiator{}
	}
	return nil
}

// deliverySides makes a new side of a role, for [codons.Rebuild].
func deliverySides(role machine.Role) codons.Side {
	if role == machine.Initiator {
		return nil
	}
	return deliveryResponder{&codons.Responding{}}
}
