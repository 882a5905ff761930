package grpc

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/grpc/ribosomev1"
)

// The numbers of the fields in ribosome.proto.
const (
	frameEnvelopes protowire.Number = 1
	framePing      protowire.Number = 2
	framePong      protowire.Number = 3
	frameError     protowire.Number = 4
	frameClose     protowire.Number = 5

	signalData protowire.Number = 1 // of Ping and Pong; the reason of Close

	errorCode  protowire.Number = 1
	errorText  protowire.Number = 2
	errorAbout protowire.Number = 3
	errorField protowire.Number = 4

	fieldID             protowire.Number = 1
	fieldPerformative   protowire.Number = 2
	fieldSender         protowire.Number = 3
	fieldReceiver       protowire.Number = 4
	fieldConversationID protowire.Number = 5
	fieldProtocol       protowire.Number = 6
	fieldInReplyTo      protowire.Number = 7
	fieldReplyWith      protowire.Number = 8
	fieldReplyBy        protowire.Number = 9
	fieldTimestamp      protowire.Number = 10
	fieldLanguage       protowire.Number = 11
	fieldOntology       protowire.Number = 12
	fieldPriority       protowire.Number = 13
	fieldTrace          protowire.Number = 14
	fieldPayload        protowire.Number = 15
	fieldBudget         protowire.Number = 16
	fieldMetadata       protowire.Number = 17
	fieldAuthToken      protowire.Number = 18
	fieldMessageType    protowire.Number = 19
	fieldRetryAfter     protowire.Number = 20

	timestampSeconds protowire.Number = 1
	timestampNanos   protowire.Number = 2

	entryKey   protowire.Number = 1
	entryValue protowire.Number = 2
)

// priorities has the priorities, all of them, by their numbers on the wire.
var priorities = [...]performatives.Priority{
	ribosomev1.Priority_PRIORITY_NORMAL: performatives.Normal, ribosomev1.Priority_PRIORITY_HIGH: performatives.High,
	ribosomev1.Priority_PRIORITY_URGENT: performatives.Urgent, ribosomev1.Priority_PRIORITY_LOW: performatives.Low,
}

// actOf returns the act of a number on the wire, and whether it is one. Acts have the
// numbers of their constants.
func actOf(n int32) (performatives.Performative, bool) {
	if n < 0 || n > math.MaxUint8 {
		return 0, false
	}
	act := performatives.Performative(n)
	return act, act.Valid()
}
