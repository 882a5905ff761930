package subscribe

import (
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// commands are the contents of the commands of both tables.
func commands() map[string]any {
	return map[string]any{
		commandConfirm: Confirmed{}, standard.CommandAgree: Agreed{},
		commandPublish: Published{}, commandClose: performatives.Failure{},
	}
}

// subscriberData is what the subscriber's side keeps.
type subscriberData struct {
	Asked any `json:"asked"`
	Beats int `json:"beats"`
}

// Data returns what Reduce keeps.
func (f *subscriberSide[T]) Data() any { return subscriberData{f.InitiatorSide.Data(), f.beats} }

// Data returns the subscription, which is all that Reduce keeps.
func (s *publisherSide) Data() any { return s.subscription }
