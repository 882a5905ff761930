package contractnet

import (
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// commands are the contents of the commands of [Table].
func commands() map[string]any {
	return map[string]any{
		commandAward: award{}, commandHold: nil, standard.CommandDecline: nil,
		commandPropose: Proposal{}, standard.CommandFinish: performatives.InformResult{},
		standard.CommandStopped: nil, standard.CommandUnstopped: nil,
	}
}

// iteratedCommands are the contents of the commands of [IteratedTable].
func iteratedCommands() map[string]any {
	all := commands()
	all[commandRevise] = revision{}
	return all
}

func initiating() codons.Side { return &initiatorSide{} }

func responding(r *codons.ResponderSide) codons.Side { return &responderSide{ResponderSide: r} }

// initiatorData is the data of the caller's side.
type initiatorData struct {
	Asked         any       `json:"asked"`
	ResultBy      time.Time `json:"result_by"`
	By            time.Time `json:"by"`
	Round         int       `json:"round"`
	Proposal      Proposal  `json:"proposal"`
	ProposalRound int       `json:"proposal_round"`
	Invalid       string    `json:"invalid,omitempty"`
}

// Data returns the data that Reduce keeps.
func (s *initiatorSide) Data() any {
	d := initiatorData{
		Asked: s.InitiatorSide.Data(), ResultBy: s.resultBy, By: s.by, Round: s.round,
		Proposal: s.last.Proposal, ProposalRound: s.last.Round,
	}
	if s.invalid != nil {
		d.Invalid = s.invalid.Error()
	}
	return d
}

// responderData is the data of the bidder's side.
type responderData struct {
	Call      Call       `json:"call"`
	Proposals []Proposal `json:"proposals"`
	Retries   int        `json:"retries"`
}

// Data returns the data that Reduce keeps.
func (s *responderSide) Data() any { return responderData{s.call, s.proposals, s.retries} }
