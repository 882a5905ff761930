package rag

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/isotime"
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// rule is a condition on a member of a payload. The specification gives examples only. A member is required if the receiver cannot do
// without it. Each other member of the examples must be of the kind that they show. null stands for an absent member.
type rule struct {
	name     string
	kind     valueKind
	required bool
	of       []rule // the members of an object, or of each object of an array
}

type valueKind uint8

const (
	aText valueKind = iota
	aName           // text that is not empty
	anObject
	anArray
	namesList
	objectsList
	aNumber
	aCount // a whole number from 0
	aTruth
	aStatus
	aTime
)

var wants = [...]string{
	aText: "a string", aName: "a non-empty string", anObject: "an object", anArray: "an array", namesList: "an array of strings",
	objectsList: "an array of objects", aNumber: "a number", aCount: "a whole number from 0", aTruth: "true or false",
	aStatus: "active, inactive or error", aTime: "an ISO 8601 time",
}

// rules has the members of the payload of each type of the specification.
var rules = map[string][]rule{
	typeIngestion: {
		{"document_id", aName, true, nil},
		{"document_name", aText, false, nil},
		{"chunks", objectsList, true, []rule{{"chunk_id", aText, false, nil}, {"content", aText, true, nil}, {"metadata", anObject, false, nil}}},
		{"embedding_model", aText, false, nil},
		{"total_chunks", aCount, false, nil},
	},
	typeRetrieval: {
		{"query", aName, true, nil}, {"top_k", aCount, false, nil}, {"similarity_threshold", aNumber, false, nil}, {"filters", anObject, false, nil},
	},
	typeRetrieved: {
		{"query", aText, false, nil},
		{"retrieved_chunks", objectsList, true, []rule{
			{"chunk_id", aText, false, nil},
			{"content", aText, true, nil},
			{"similarity_score", aNumber, false, nil},
			{"source_document", aText, false, nil},
			{"metadata", anObject, false, nil},
		}},
		{"total_results", aCount, false, nil},
		{"search_duration_ms", aNumber, false, nil},
	},
	typeResponse: {
		{"user_query", aName, true, nil},
		{"context_chunks", objectsList, false, []rule{{"content", aText, true, nil}, {"source", aText, false, nil}}},
		{"conversation_history", anArray, false, nil},
		{"generation_params", anObject, false, nil},
	},
	typeResponded: {
		{"response", aText, true, nil},
		{"source_documents", namesList, false, nil},
		{"confidence_score", aNumber, false, nil},
		{"tokens_used", aCount, false, nil},
		{"generation_time_ms", aNumber, false, nil},
	},
	typeError: {
		{"error_code", aName, true, nil},
		{"error_message", aText, true, nil},
		{"original_request", anObject, false, []rule{{"type", aText, false, nil}, {"trace_id", aText, false, nil}}},
		{"retry_possible", aTruth, false, nil},
		{"suggested_action", aText, false, nil},
	},
	typeRegistration: {
		{"agent_id", aName, true, nil},
		{"agent_type", aText, true, nil},
		{"capabilities", namesList, true, nil},
		{"message_types", namesList, true, nil},
		{"status", aStatus, true, nil},
	},
	typeStatus: {
		{"agent_id", aName, true, nil},
		{"status", aStatus, true, nil},
		{"last_heartbeat", aTime, false, nil},
		{"messages_processed", aCount, false, nil},
		{"average_response_time_ms", aNumber, false, nil},
		{"error_rate", aNumber, false, nil},
	},
}

// checkPayload checks a payload of that type, which is an object.
func checkPayload(kind string, payload []byte) *performatives.Refusal {
	return checkMembers(rules[kind], "payload", payload)
}

func checkMembers(rules []rule, path string, object []byte) *performatives.Refusal {
	for _, r := range rules {
		if bad := r.check(path+"."+r.name, jsonscan.Member(object, r.name)); bad != nil {
			return bad
		}
	}
	return nil
}

func (r rule) check(path string, v []byte) *performatives.Refusal {
	if v == nil || jsonscan.IsNull(v) {
		if r.required {
			return exchange.Invalid(path, wants[r.kind], v)
		}
		return nil
	}
	if !r.fits(v) {
		return r.misfit(path, v)
	}
	switch r.kind { //nolint:exhaustive // the kinds with members
	case anObject:
		return checkMembers(r.of, path, v)
	case objectsList:
		return r.checkElements(path, v)
	}
	return nil
}

// misfit returns the refusal of a value of another kind. It shows a short value, where the kind alone does not tell.
func (r rule) misfit(path string, v []byte) *performatives.Refusal {
	switch r.kind { //nolint:exhaustive // the kinds that depend on the value
	case aName, aCount, aStatus, aTime, namesList, objectsList:
		if len(v) <= 64 {
			return &performatives.Refusal{
				Code: performatives.CodeInvalidPayload, Field: path, Text: fmt.Sprintf("%s: want %s, got %s", path, wants[r.kind], v),
			}
		}
	}
	return exchange.Invalid(path, wants[r.kind], v)
}

func (r rule) checkElements(path string, array []byte) *performatives.Refusal {
	i := 0
	for v := range jsonscan.Elements(array) {
		if bad := checkMembers(r.of, fmt.Sprintf("%s[%d]", path, i), v); bad != nil {
			return bad
		}
		i++
	}
	return nil
}

// fits reports whether a value is of the kind of r.
func (r rule) fits(v []byte) bool {
	switch r.kind {
	case aText:
		return v[0] == '"'
	case aName:
		return v[0] == '"' && len(v) > 2
	case anObject:
		return v[0] == '{'
	case anArray:
		return v[0] == '['
	case namesList:
		return isListOf(v, '"')
	case objectsList:
		return isListOf(v, '{')
	case aNumber:
		return jsonscan.IsNumber(v)
	case aCount:
		return jsonscan.IsNumber(v) && v[0] != '-' && !bytes.ContainsAny(v, "eE") && bytes.Trim(fraction(v), "0") == nil
	case aTruth:
		return v[0] == 't' || v[0] == 'f'
	case aStatus:
		return isStatus(jsonscan.Text(v))
	case aTime:
		_, ok := isotime.Parse([]byte(jsonscan.Text(v)))
		return ok
	}
	return false
}

// fraction returns the digits after the point of a number.
func fraction(v []byte) []byte {
	_, digits, _ := bytes.Cut(v, []byte("."))
	return digits
}

func isListOf(v []byte, begin byte) bool {
	for e := range jsonscan.Elements(v) {
		if e[0] != begin {
			return false
		}
	}
	return v[0] == '['
}

// The statuses of an agent (Custom Agent Extensions).
const (
	statusActive   = "active"
	statusInactive = "inactive"
	statusError    = "error"
)

func isStatus(s string) bool {
	switch strings.ToLower(s) {
	case statusActive, statusInactive, statusError:
		return true
	}
	return false
}
