package tcp

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/ribosome-agents/ribosome/performatives"
)

// The payloads of the versioned form that never change (addenda §5).
var (
	healthPayload  = []byte(`{}`)
	proposePayload = []byte(`{"max_version":1,"min_version":1,"preferred_version":1,"supported_versions":[1]}`)
	agreePayload   = []byte(`{"agreed_version":1}`)
)

// proposal is the payload of a version negotiation.
type proposal struct {
	Max       *int  `json:"max_version"`
	Min       *int  `json:"min_version"`
	Supported []int `json:"supported_versions"`
}

// answerProposal says whether the version that is spoken here is among those proposed. A
// list counts for more than its bounds, and of bounds the absent one is none.
func answerProposal(b []byte) error {
	var p proposal
	if json.Unmarshal(b, &p) != nil {
		return refuse("the version negotiation cannot be parsed")
	}
	switch {
	case p.Supported != nil && slices.Contains(p.Supported, version):
		return nil
	case p.Supported == nil && (p.Min == nil || *p.Min <= version) && (p.Max == nil || *p.Max >= version):
		return nil
	}
	return refuse("none of the proposed versions is spoken here; version %d is", version)
}

// checkAgreement reads the answer to what this end has proposed.
func checkAgreement(b []byte) error {
	var a struct {
		Agreed *int `json:"agreed_version"`
	}
	switch {
	case json.Unmarshal(b, &a) != nil || a.Agreed == nil:
		return refuse("the version acknowledgement cannot be parsed")
	case *a.Agreed != version:
		return &performatives.Refusal{
			Code: performatives.CodeParsingError,
			Text: "the peer wants to speak version " + strconv.Itoa(*a.Agreed) + ", which was not proposed",
		}
	}
	return nil
}
