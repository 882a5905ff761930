package bridge

import (
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// kind is a message type of the specification (bridge, Message Types). The zero kind is none.
type kind uint8

const (
	kindHandshakeRequest kind = iota + 1
	kindHandshakeResponse
	kindRequest
	kindResponse
	kindNotification
	kindError

	endOfKinds // one past the last kind
)

var kindNames = [endOfKinds]string{
	kindHandshakeRequest:  "handshake_request",
	kindHandshakeResponse: "handshake_response",
	kindRequest:           "request",
	kindResponse:          "response",
	kindNotification:      "notification",
	kindError:             "error",
}

// String returns the name of the message type.
func (k kind) String() string { return kindNames[k] }

// kindOf returns the kind of that name, and whether there is one.
func kindOf(name []byte) (kind, bool) {
	for k, n := range kindNames {
		if n == string(name) && k > 0 {
			return kind(k), true
		}
	}
	return 0, false
}

// allKinds is the list of the message types, as text for a peer.
var allKinds = strings.Join(kindNames[1:], ", ")

// refusals has the acts that travel as an error.
var refusals = exchange.Refusals | exchange.ActsOf(performatives.ActRejectProposal)

// usualAct returns the act of a message of that kind without metadata.performative (addenda §2).
// code is that of an error; accepted is that of a handshake_response.
func usualAct(k kind, code string, accepted bool) performatives.Performative {
	switch {
	case k == kindError:
		return usualRefusal(code)
	case k == kindHandshakeResponse && !accepted:
		return performatives.ActRefuse
	}
	return usualActs[k]
}

var usualActs = [endOfKinds]performatives.Performative{
	kindHandshakeRequest: performatives.ActQueryCapabilities, kindHandshakeResponse: performatives.ActInformCapabilities,
	kindRequest: performatives.ActTaskRequest, kindResponse: performatives.ActInformResult, kindNotification: performatives.ActInform,
}
