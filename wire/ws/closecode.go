package ws

import (
	"strings"

	"github.com/gorilla/websocket"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// maxReason is the largest length in bytes of the reason in a close frame (RFC 6455 §5.5).
const maxReason = 123

// closeCode returns the code of a close frame for a refusal (RFC 6455 §7.4).
func closeCode(c performatives.Code) int {
	switch wire.StatusOf(c) {
	case 400:
		return websocket.CloseInvalidFramePayloadData
	case 401, 403, 404, 429:
		return websocket.ClosePolicyViolation
	case 503:
		return websocket.CloseTryAgainLater
	}
	return websocket.CloseInternalServerErr
}

// closeReason returns the reason of a close frame for a refusal: the error code of the wire
// specification and the text.
func closeReason(r *performatives.Refusal) string {
	o := wire.ErrorObjectOf(r)
	return o.Code + ": " + o.Message
}

// refusalOf converts the peer's close frame to a refusal. The error code is taken from the
// reason if it begins with one, as closeReason writes it, else from the close code.
func refusalOf(closeErr *websocket.CloseError) *performatives.Refusal {
	word, text, ok := strings.Cut(closeErr.Text, ": ")
	if code, known := wire.ErrorCodes.Code(word); ok && known {
		return &performatives.Refusal{Code: code, Text: sockets.Clean(text, maxReason)}
	}
	return &performatives.Refusal{Code: codeOf(closeErr.Code), Text: sockets.Clean(closeErr.Text, maxReason)}
}

// codeOf returns the code that corresponds to a close code.
func codeOf(closeCode int) performatives.Code {
	switch closeCode {
	case websocket.CloseProtocolError, websocket.CloseUnsupportedData, websocket.CloseInvalidFramePayloadData,
		websocket.CloseMandatoryExtension:
		return performatives.CodeParsingError
	case websocket.CloseMessageTooBig:
		return performatives.CodeInvalidPayload
	case websocket.ClosePolicyViolation:
		return performatives.CodeForbidden
	case websocket.CloseServiceRestart, websocket.CloseTryAgainLater:
		return performatives.CodeBusy
	}
	return performatives.CodeFailed
}
