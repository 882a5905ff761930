package tcp

import (
	"encoding/json"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// maxErrorText is how much of what a peer says about an error is kept.
const maxErrorText = 512

// errorPayload is what an ERROR frame says of err.
func errorPayload(err error, f form) []byte {
	o := wire.ErrorObjectOf(err)
	if f == versioned {
		return []byte(o.Message)
	}
	return o.JSON()
}

// parseError reads the payload of an ERROR frame: an error object, by itself or in the
// envelope of wire's Error Response Format, or else text.
func parseError(b []byte) *performatives.Refusal {
	var said struct {
		wire.ErrorObject
		Error *wire.ErrorObject `json:"error"`
	}
	if json.Unmarshal(b, &said) != nil {
		return textError(b)
	}
	o := said.ErrorObject
	if said.Error != nil {
		o = *said.Error
	}
	r := &performatives.Refusal{Code: performatives.CodeInternal, Text: sockets.Clean(o.Message, maxErrorText)}
	if code, ok := performatives.CodeBy(performatives.DialectWire, o.Code); ok {
		r.Code = code
	}
	if o.Details != nil {
		r.Field = sockets.Clean(o.Details.Field, maxErrorText)
	}
	return r
}

// textError is an error of which only a text is known.
func textError(b []byte) *performatives.Refusal {
	return &performatives.Refusal{Code: performatives.CodeInternal, Text: sockets.Clean(b, maxErrorText)}
}
