package bridge

import (
	"strconv"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/rule"
)

// aTimeout is the kind of a timeout.
var aTimeout = &rule.Kind{Want: "a number of seconds above 0 and of at most 9000000000", Shown: true, Fits: func(v []byte) bool {
	seconds, _ := strconv.ParseFloat(string(v), 64) // 0 if it is no number
	return seconds > 0 && seconds <= maxTimeout
}}

// rules has the members of the payload of each message type, in the order in which they are read.
var rules = map[string][]rule.Member{
	kindHandshakeRequest:  introduction,
	kindHandshakeResponse: introduction,
	kindRequest: {
		rule.Required(requestTool, rule.Named("the name of a tool")), rule.Optional(requestArguments, rule.Object),
		rule.Optional(requestTimeout, aTimeout), rule.Optional(requestDescription, rule.Text),
	},
	kindResponse: {
		rule.Required(responseSuccess, rule.Bool), rule.Optional(responseResult, rule.Any),
		rule.Optional(responseTime, &rule.Kind{Want: "a number of seconds", Fits: jsonscan.IsNumber}), rule.Optional(responseError, rule.Text),
		rule.Optional(responseStatus, rule.Text), rule.Optional(responseSummary, rule.Text), rule.Optional(responseArtifacts, rule.Array),
	},
	kindNotification: {rule.Required(notificationEvent, rule.Named("the type of the event")), rule.Optional(notificationData, rule.Object)},
	kindError: {
		rule.Required(errorCode, rule.Named("the code of an error")), rule.Required(errorMessage, rule.Text),
		rule.Optional(errorType, rule.Text), rule.Optional(errorDetails, rule.Object),
	},
}

// introduction has the members of the payload of a handshake.
var introduction = []rule.Member{
	rule.Required(capsID, rule.Named("the id of the sender")), rule.Required(capsName, rule.Named("the name of the agent")),
	rule.Required(capsRole, rule.Named("the role of the agent")), rule.Optional(capsTools, rule.Texts),
	rule.Optional(capsVersion, rule.Text), rule.Optional(capsMetadata, rule.Object),
	rule.Optional(capsTopics, rule.Texts), rule.Optional(capsOntologies, rule.Texts), rule.Optional(capsDetails, rule.Object),
	rule.Optional(capsAccepted, rule.Bool), rule.Optional(capsReason, rule.Text), rule.Optional(capsReasonText, rule.Text),
	rule.Optional(capsExtensions, rule.Object),
}

// metaRules has the members of metadata that have a field in a message.
var metaRules = []rule.Member{
	rule.Optional(exchange.MetaMessageType, rule.Text), rule.Optional(exchange.MetaAct, rule.Text), rule.Optional(metaConversation, rule.Text),
	rule.Optional(exchange.MetaProtocol, rule.Text), rule.Optional(exchange.MetaTrace, rule.Text), rule.Optional(exchange.MetaBudget, rule.Any),
}

// members reads the object at a path: the values of its members in the order of their rules, and
// the others into rest.
func (d *decoder) members(rules []rule.Member, path string, object []byte, rest *performatives.Members) [][]byte {
	values, bad := rule.Read(d.room[:0], rules, path, object, func(name string, v []byte) {
		if len(*rest) == exchange.MaxUnknown {
			d.Refuse(&performatives.Refusal{Code: performatives.CodeParsingError, Field: path, Text: path + ": want no more than 1,024 unknown members"})
			return
		}
		exchange.Keep(rest, name, v)
	})
	d.Refuse(bad)
	return values
}
