package rag

import (
	"math"
	"time"

	"github.com/ribosome-agents/ribosome/internal/isotime"
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/rule"
)

// agentStatus is the kind of the status of an agent.
var agentStatus = rule.OneOf("active, inactive or error", statusActive, "inactive", "error")

// isDateRange reports whether a value is an array of two dates or times, the first not after the
// second.
func isDateRange(v []byte) bool {
	var at []time.Time
	for e := range jsonscan.Elements(v) {
		t, ok := isotime.Parse(jsonscan.TextBytes(e))
		if !ok {
			return false
		}
		at = append(at, t)
	}
	return len(at) == 2 && !at[0].After(at[1])
}

// rules has the members of the payload of each type. The specification gives examples only. A
// member is required if the receiver cannot do without it. Each other member of the examples must
// be of the kind that they show.
var rules = map[string][]rule.Member{
	typeIngestion: {
		rule.Required("document_id", rule.Name),
		rule.Optional("document_name", rule.Text),
		rule.Required("chunks", rule.Objects, rule.Optional("chunk_id", rule.Text), rule.Required("content", rule.Text), rule.Optional("metadata", rule.Object)),
		rule.Optional("embedding_model", rule.Text),
		rule.Optional("total_chunks", rule.Count),
	},
	typeRetrieval: {
		rule.Required("query", rule.Name), rule.Optional("top_k", rule.Count),
		rule.Optional("similarity_threshold", rule.Between("a number from 0 to 1", 0, 1)),
		rule.Optional("filters", rule.Object,
			rule.Optional("document_types", rule.Texts),
			rule.Optional("date_range", &rule.Kind{Want: "an array of two dates", Fits: isDateRange, Shown: true}),
		),
	},
	typeRetrieved: {
		rule.Optional("query", rule.Text),
		rule.Required("retrieved_chunks", rule.Objects,
			rule.Optional("chunk_id", rule.Text),
			rule.Required("content", rule.Text),
			rule.Optional("similarity_score", rule.Number),
			rule.Optional("source_document", rule.Text),
			rule.Optional("metadata", rule.Object),
		),
		rule.Optional("total_results", rule.Count),
		rule.Optional("search_duration_ms", rule.Number),
	},
	typeResponse: {
		rule.Required("user_query", rule.Name),
		rule.Optional("context_chunks", rule.Objects, rule.Required("content", rule.Text), rule.Optional("source", rule.Text)),
		rule.Optional("conversation_history", rule.Array),
		rule.Optional("generation_params", rule.Object,
			rule.Optional("model", rule.Text), rule.Optional("max_tokens", rule.Count),
			rule.Optional("temperature", rule.Between("a number from 0", 0, math.MaxFloat64)),
		),
	},
	typeResponded: {
		rule.Required("response", rule.Text),
		rule.Optional("source_documents", rule.Texts),
		rule.Optional("confidence_score", rule.Number),
		rule.Optional("tokens_used", rule.Count),
		rule.Optional("generation_time_ms", rule.Number),
	},
	typeError: {
		rule.Required("error_code", rule.Name),
		rule.Required("error_message", rule.Text),
		rule.Optional("original_request", rule.Object, rule.Optional("type", rule.Text), rule.Optional("trace_id", rule.Text)),
		rule.Optional("retry_possible", rule.Bool),
		rule.Optional("suggested_action", rule.Text),
	},
	typeRegistration: {
		rule.Required("agent_id", rule.Name),
		rule.Required("agent_type", rule.Text),
		rule.Required("capabilities", rule.Texts),
		rule.Required("message_types", rule.Texts),
		rule.Required("status", agentStatus),
	},
	typeStatus: {
		rule.Required("agent_id", rule.Name),
		rule.Required("status", agentStatus),
		rule.Optional("last_heartbeat", rule.Time),
		rule.Optional("messages_processed", rule.Count),
		rule.Optional("average_response_time_ms", rule.Number),
		rule.Optional("error_rate", rule.Number),
	},
}

// checkPayload checks a payload of that type, which is an object.
func checkPayload(kind string, payload []byte) *performatives.Refusal {
	return rule.Check(rules[kind], "payload", payload, false)
}

// statusActive is the status of an agent that offers what its registration says (Custom Agent
// Extensions).
const statusActive = "active"
