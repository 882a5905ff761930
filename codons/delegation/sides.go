package delegation

import "github.com/ribosome-agents/ribosome/performatives"

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
