package rossnet

import (
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/rule"
)

// rules has the members of the payload of each type (addenda §4).
var rules = map[string][]rule.Member{
	kindAssign: {
		rule.Required("subtask_id", rule.Name),
		rule.Required("task_name", rule.Name),
		rule.Required("input_data", rule.Object),
		rule.Optional("task_description", rule.Text),
		rule.Optional("required_capabilities", rule.Texts),
		rule.Optional("deadline", rule.Time),
	},
	kindAcknowledge: {
		rule.Required("subtask_id", rule.Name),
		rule.Required("status", rule.OneOf("ACCEPTED or REJECTED", statusAccepted, statusRejected)),
		rule.Optional("reason", rule.Text),
	},
	kindStatus: {
		rule.Required("subtask_id", rule.Name),
		rule.Required("progress_percentage", rule.Between("a number from 0 to 100", 0, 100)),
		rule.Required("status_description", rule.Text),
		rule.Optional("intermediate_results", rule.Object),
	},
	kindComplete: {
		rule.Required("subtask_id", rule.Name),
		rule.Required("output_data", rule.Object),
		rule.Optional("metrics", rule.Object, rule.Optional("duration_ms", rule.Count), rule.Optional("cost_units", rule.Number)),
	},
	kindFail: {
		rule.Required("subtask_id", rule.Name),
		rule.Required("error_code", rule.Name),
		rule.Required("error_message", rule.Text),
		rule.Required("is_retryable", rule.Bool),
	},
	kindRegister: {
		rule.Required("agent_id", rule.Name),
		rule.Required("agent_type", rule.Name),
		rule.Required("status", rule.OneOf("ACTIVE, INACTIVE or DEGRADED", statusActive, statusInactive, "DEGRADED")),
		rule.Required("capabilities", rule.ListOf("an array of names and objects with a name", func(e []byte) bool { return capabilityName(e) != "" })),
		rule.Optional("agent_name", rule.Text),
		rule.Optional("address", rule.Text),
	},
	kindQuery: {
		rule.Optional("query_by_capability", rule.Name),
		rule.Optional("query_by_capability_list", rule.Texts),
		rule.Optional("query_by_id", rule.Name),
		rule.Optional("query_by_agent_id", rule.Name),
		rule.Optional("required_status", rule.OneOf("ACTIVE or ANY", statusActive, statusAny)),
	},
	kindResponse: {rule.Required("query", rule.Object), rule.Required("results", rule.Array), rule.Optional("status", rule.Text)},
	kindAck:      {rule.Required("status", rule.Text), rule.Required("agent_id", rule.Name)},
	kindError:    {rule.Required("error_code", rule.Name), rule.Required("error_message", rule.Text)},
}

// fieldRules has the members of the payloads in the form of clients in the field, where it differs.
var fieldRules = map[string][]rule.Member{
	kindAssign: {
		rule.Optional("task_id", rule.Text), rule.Optional("task_name", rule.Text),
		rule.Optional("deadline", rule.Time), rule.Optional("required_capabilities", rule.Texts),
	},
	kindComplete: {rule.Required("status", rule.Name), rule.Optional("result", rule.Object)},
}

// isField reports whether a payload has the form of the field: none of the members by which the
// text knows the type. The name of a task is in both forms.
func isField(kind string, payload []byte) bool {
	if fieldRules[kind] == nil {
		return false
	}
	for _, r := range rules[kind] {
		if r.Required && r.Name != "task_name" && !jsonscan.IsNone(jsonscan.Member(payload, r.Name)) {
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
	if bad := rule.Check(list, memPayload, payload, true); bad != nil {
		return bad
	}
	asks := func(r rule.Member) bool {
		return r.Name != "required_status" && !jsonscan.IsNone(jsonscan.Member(payload, r.Name))
	}
	if kind == kindQuery && !slices.ContainsFunc(list, asks) {
		return exchange.Invalid("payload.query_by_capability", "a non-empty string, or another query", nil)
	}
	return nil
}

// isOneOf compares without regard to case: clients in the field write statuses in lower case.
func isOneOf(v []byte, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(jsonscan.Text(v), word) })
}

// capabilityName returns the name of a capability, which is a bare string or an object with a name;
// "" = it is neither.
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
	statusAny      = "ANY"
	statusComplete = "COMPLETED"
)
