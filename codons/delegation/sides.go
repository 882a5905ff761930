package delegation

import (
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// commands returns the contents of the commands of [Table].
func commands() map[string]any {
	return map[string]any{
		standard.CommandAnswer: performatives.TaskRequest{}, standard.CommandDecline: nil,
		standard.CommandAccept: performatives.TaskAccept{}, standard.CommandReject: performatives.TaskReject{},
		standard.CommandReport: performatives.StatusUpdate{}, commandAsk: performatives.InformResult{},
		CommandNeedInput: performatives.InformResult{}, standard.CommandFinish: performatives.InformResult{},
		standard.CommandStopped: nil, standard.CommandUnstopped: nil,
	}
}

// initiatorData is the recorded data of an [Initiator].
type initiatorData struct {
	Asked   any                         `json:"asked"`
	Partial *performatives.InformResult `json:"partial"`
	Given   bool                        `json:"given"`
}

// Data returns the data that Reduce keeps. Its type is not exported; it has a JSON form.
func (i *Initiator) Data() any { return initiatorData{i.InitiatorSide.Data(), i.partial, i.given} }

// responderData is the recorded data of the responder's side.
type responderData struct {
	Previous []performatives.InformResult `json:"previous"`
}

// Data returns the data that Reduce keeps.
func (s *responding) Data() any { return responderData{s.previous} }
