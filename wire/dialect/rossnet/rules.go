package rossnet

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/isotime"
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// rule is a condition on a member of a payload (addenda §4). null stands for an absent member.
type rule struct {
	name     string
	kind     valueKind
	required bool
}

type valueKind uint8

const (
	aText valueKind = iota
	aName           // text that is not empty
	anObject
	anArray
	namesList
	capabilityList
	metrics
	aPercentage
	aTruth
	aDecision
	anAgentStatus
	aFilter
	aTime
)

var wants = [...]string{
	aText: "a string", aName: "a non-empty string", anObject: "an object", anArray: "an array", namesList: "an array of strings",
	capabilityList: "an array of names and objects with a name", metrics: "an object with whole duration_ms and a number cost_units",
	aPercentage: "a number from 0 to 100", aTruth: "true or false", aDecision: "ACCEPTED or REJECTED",
	anAgentStatus: "ACTIVE, INACTIVE or DEGRADED", aFilter: "ACTIVE or ANY", aTime: "an ISO 8601 time",
}

// rules has the members of the payload of each type.
var rules = map[string][]rule{
	kindAssign: {
		{"subtask_id", aName, true},
		{"task_name", aName, true},
		{"input_data", anObject, true},
		{"task_description", aText, false},
		{"required_capabilities", namesList, false},
		{"deadline", aTime, false},
	},
	kindAcknowledge: {{"subtask_id", aName, true}, {"status", aDecision, true}, {"reason", aText, false}},
	kindStatus: {
		{"subtask_id", aName, true},
		{"progress_percentage", aPercentage, true},
		{"status_description", aText, true},
		{"intermediate_results", anObject, false},
	},
	kindComplete: {{"subtask_id", aName, true}, {"output_data", anObject, true}, {"metrics", metrics, false}},
	kindFail: {
		{"subtask_id", aName, true},
		{"error_code", aName, true},
		{"error_message", aText, true},
		{"is_retryable", aTruth, true},
	},
	kindRegister: {
		{"agent_id", aName, true},
		{"agent_type", aName, true},
		{"status", anAgentStatus, true},
		{"capabilities", capabilityList, true},
		{"agent_name", aText, false},
		{"address", aText, false},
	},
	kindQuery: {
		{"query_by_capability", aName, false},
		{"query_by_capability_list", namesList, false},
		{"query_by_id", aName, false},
		{"query_by_agent_id", aName, false},
		{"required_status", aFilter, false},
	},
	kindResponse: {{"query", anObject, true}, {"results", anArray, true}, {"status", aText, false}},
	kindAck:      {{"status", aText, true}, {"agent_id", aName, true}},
	kindError:    {{"error_code", aName, true}, {"error_message", aText, true}},
}

// fieldRules has the members of the payloads in the form of clients in the field, where it differs.
var fieldRules = map[string][]rule{
	kindAssign:   {{"deadline", aTime, false}, {"required_capabilities", namesList, false}},
	kindComplete: {{"status", aName, true}, {"result", anObject, false}},
}

// isField reports whether a payload has the form of the field: none of the members by which the text knows the type.
func isField(kind string, payload []byte) bool {
	if fieldRules[kind] == nil {
		return false
	}
	for _, r := range rules[kind] {
		if v := jsonscan.Member(payload, r.name); r.required && v != nil && !jsonscan.IsNull(v) {
			return false
		}
	}
	return kind != kindComplete || jsonscan.Member(payload, "status") != nil || jsonscan.Member(payload, "result") != nil
}

// checkPayload checks a payload of that type, which is an object.
func checkPayload(kind string, payload []byte) *performatives.Refusal {
	list := rules[kind]
	if isField(kind, payload) {
		list = fieldRules[kind]
	}
	for _, r := range list {
		v := jsonscan.Member(payload, r.name)
		path := memPayload + "." + r.name
		switch {
		case v == nil || jsonscan.IsNull(v):
			if r.required {
				return exchange.Invalid(path, wants[r.kind], v)
			}
		case !r.fits(v):
			return r.misfit(path, v)
		}
	}
	if kind == kindQuery && isEmptyQuery(payload) {
		return exchange.Invalid("payload.query_by_capability", "a non-empty string, or another query", nil)
	}
	return nil
}

func isEmptyQuery(payload []byte) bool {
	for _, name := range []string{"query_by_capability", "query_by_capability_list", "query_by_id", "query_by_agent_id"} {
		if v := jsonscan.Member(payload, name); v != nil && !jsonscan.IsNull(v) {
			return false
		}
	}
	return true
}

// misfit returns the refusal of a value. It shows a short one.
func (r rule) misfit(path string, v []byte) *performatives.Refusal {
	if len(v) > 64 {
		return exchange.Invalid(path, wants[r.kind], v)
	}
	return &performatives.Refusal{
		Code: performatives.CodeInvalidPayload, Field: path, Text: fmt.Sprintf("%s: want %s, got %s", path, wants[r.kind], v),
	}
}

// fits reports whether a value is of the kind of r.
func (r rule) fits(v []byte) bool {
	switch r.kind {
	case aText:
		return v[0] == '"'
	case aName:
		return jsonscan.Text(v) != ""
	case anObject:
		return v[0] == '{'
	case anArray:
		return v[0] == '['
	case namesList:
		return isListOf(v, func(e []byte) bool { return e[0] == '"' })
	case capabilityList:
		return isListOf(v, func(e []byte) bool { return capabilityName(e) != "" })
	case metrics:
		return fitsMetrics(v)
	case aPercentage:
		n, ok := numberOf(v)
		return ok && n >= 0 && n <= 100
	case aTruth:
		return v[0] == 't' || v[0] == 'f'
	case aDecision:
		return isOneOf(v, statusAccepted, statusRejected)
	case anAgentStatus:
		return isOneOf(v, statusActive, statusInactive, statusDegraded)
	case aFilter:
		return isOneOf(v, statusActive, statusAny)
	case aTime:
		_, ok := isotime.Parse([]byte(jsonscan.Text(v)))
		return ok
	}
	return false
}

func fitsMetrics(v []byte) bool {
	if v[0] != '{' {
		return false
	}
	d, c := jsonscan.Member(v, "duration_ms"), jsonscan.Member(v, "cost_units")
	whole := d == nil || jsonscan.IsNull(d) || jsonscan.IsNumber(d) && !bytes.ContainsAny(d, ".eE-")
	return whole && (c == nil || jsonscan.IsNull(c) || jsonscan.IsNumber(c))
}

func isListOf(v []byte, fits func([]byte) bool) bool {
	for e := range jsonscan.Elements(v) {
		if !fits(e) {
			return false
		}
	}
	return v[0] == '['
}

// isOneOf compares without regard to case: clients in the field write statuses in lower case.
func isOneOf(v []byte, words ...string) bool {
	for _, w := range words {
		if strings.EqualFold(jsonscan.Text(v), w) {
			return true
		}
	}
	return false
}

// capabilityName returns the name of a capability, which is a bare string or an object with a name; "" = it is neither.
func capabilityName(v []byte) string {
	if jsonscan.Is(v, '{') {
		v = jsonscan.Member(v, "name")
	}
	return strings.TrimSpace(jsonscan.Text(v))
}

// The statuses (addenda §4).
const (
	statusAccepted = "ACCEPTED"
	statusRejected = "REJECTED"
	statusActive   = "ACTIVE"
	statusInactive = "INACTIVE"
	statusDegraded = "DEGRADED"
	statusAny      = "ANY"
	statusComplete = "COMPLETED"
)
