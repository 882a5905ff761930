package contractnet

import (
	"time"

	"github.com/ribosome-agents/ribosome/codons"
)

func initiating() codons.Side { return &initiatorSide{} }

func responding(r *codons.ResponderSide) codons.Side { return &responderSide{ResponderSide: r} }

// initiatorData is the data of the caller's side.
type initiatorData struct {
	Asked         any       `json:"asked"`
	ResultBy      time.Time `json:"result_by"` // the end of a proposal's use; after an award, the time by which the result is due
	By            time.Time `json:"by"`        // the time by which the proposals of this round are due
	Round         int       `json:"round"`     // the round of the latest call, from 1
	Proposal      Proposal  `json:"proposal"`
	ProposalRound int       `json:"proposal_round"`
	Invalid       string    `json:"invalid,omitempty"`
}

// Data returns the data that Reduce keeps.
func (s *initiatorSide) Data() any {
	d := s.kept
	d.Asked, d.Proposal, d.ProposalRound = s.InitiatorSide.Data(), s.last.Proposal, s.last.Round
	if s.invalid != nil {
		d.Invalid = s.invalid.Error()
	}
	return d
}

// responderData is the data of the bidder's side.
type responderData struct {
	Call      Call       `json:"call"`      // of the latest round
	Proposals []Proposal `json:"proposals"` // of all rounds
	Retries   int        `json:"retries"`   // of the latest proposal
}

// Data returns the data that Reduce keeps.
func (s *responderSide) Data() any { return s.kept }
