package ws

import (
	"strings"

	"github.com/gorilla/websocket"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// maxReason is how many bytes the reason of a close frame may have (RFC 6455, 5.5).
const maxReason = 123

// closeCode is the code of a close frame that gives a session up (RFC 6455, 7.4).
func closeCode(c performatives.Code) int {
	switch c.Traits().HTTP {
	case 400:
		return websocket.CloseInvalidFramePayloadData
	case 401, 403, 404, 429:
		return websocket.ClosePolicyViolation
	case 503:
		return websocket.CloseTryAgainLater
	}
	return websocket.CloseInternalServerErr
}

// closeReason is what a peer is told of a refusal: wire's code and the text.
func closeReason(r *performatives.Refusal) string {
	o := wire.ErrorObjectOf(r)
	return o.Code + ": " + o.Message
}

// refusalOf is what a peer's close frame means. Where its reason begins with one of
// wire's codes that counts, since a peer of ours wrote it; else the close code does.
func refusalOf(bye *websocket.CloseError) *performatives.Refusal {
	word, text, ok := strings.Cut(bye.Text, ": ")
	if code, known := performatives.CodeBy(performatives.DialectWire, word); ok && known {
		return &performatives.Refusal{Code: code, Text: sockets.Clean(text, maxReason)}
	}
	return &performatives.Refusal{Code: codeOf(bye.Code), Text: sockets.Clean(bye.Text, maxReason)}
}

// codeOf is what a close code says, in our words.
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
