package tcp

import (
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// maxErrorText is the largest length in bytes of a peer's error text that is kept.
const maxErrorText = 512

// errorPayload returns the payload of an ERROR frame for err.
func errorPayload(err error, f form) []byte {
	o := wire.ErrorObjectOf(err)
	if f == versioned {
		return []byte(o.Message)
	}
	return o.JSON()
}

// parseError parses the payload of an ERROR frame: an error object, alone or in the envelope
// of the wire specification (Error Response Format), or else plain text.
func parseError(b []byte) *performatives.Refusal {
	var said struct {
		wire.ErrorObject
		Error *wire.ErrorObject `json:"error"`
	}
	if jsonscan.Unmarshal(b, &said) != nil {
		return textError(b)
	}
	o := said.ErrorObject
	if said.Error != nil {
		o = *said.Error
	}
	r := &performatives.Refusal{Code: performatives.CodeInternal, Text: sockets.Clean(o.Message, maxErrorText)}
	if code, ok := wire.ErrorCodes.Code(o.Code); ok {
		r.Code = code
	}
	if o.Details != nil {
		r.Field = sockets.Clean(o.Details.Field, maxErrorText)
	}
	return r
}

// textError returns the refusal for an error without a code.
func textError(b []byte) *performatives.Refusal {
	return &performatives.Refusal{Code: performatives.CodeInternal, Text: sockets.Clean(b, maxErrorText)}
}
