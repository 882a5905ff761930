package tcp

import (
	"slices"
	"strconv"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The constant payloads of the versioned form (addenda §5).
var (
	healthPayload  = []byte(`{}`)
	proposePayload = []byte(`{"max_version":1,"min_version":1,"preferred_version":1,"supported_versions":[1]}`)
	agreePayload   = []byte(`{"agreed_version":1}`)
)

// proposal is the payload of a version proposal.
type proposal struct {
	Max       *int  `json:"max_version"`
	Min       *int  `json:"min_version"`
	Supported []int `json:"supported_versions"`
}

// answerProposal returns an error unless the proposal includes the supported version. The
// list of versions has precedence over the bounds. A missing bound is no restriction.
func answerProposal(b []byte) error {
	var p proposal
	if jsonscan.Unmarshal(b, &p) != nil {
		return refuse("the version negotiation cannot be parsed")
	}
	switch {
	case p.Supported != nil && slices.Contains(p.Supported, version):
		return nil
	case p.Supported == nil && (p.Min == nil || *p.Min <= version) && (p.Max == nil || *p.Max >= version):
		return nil
	}
	return refuse("none of the proposed versions is supported; version %d is", version)
}

// checkAgreement checks the answer to this end's proposal.
func checkAgreement(b []byte) error {
	var a struct {
		Agreed *int `json:"agreed_version"`
	}
	switch {
	case jsonscan.Unmarshal(b, &a) != nil || a.Agreed == nil:
		return refuse("the version acknowledgement cannot be parsed")
	case *a.Agreed != version:
		return &performatives.Refusal{
			Code: performatives.CodeParsingError,
			Text: "the peer selected version " + strconv.Itoa(*a.Agreed) + ", which was not proposed",
		}
	}
	return nil
}
