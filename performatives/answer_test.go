package performatives_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	p "github.com/ribosome-agents/ribosome/performatives"
)

func specific(match p.MatchType, names ...string) p.QueryCapabilities {
	return p.QueryCapabilities{Type: p.QuerySpecific, Parameters: p.QueryParameters{Capabilities: names, MatchType: match}}
}

// The answers in the form of addenda §3, as JSON, which is what a peer sees.
func TestAnswer(t *testing.T) {
	tests := []struct {
		name  string
		query p.QueryCapabilities
		want  string
	}{
		{"summary", p.QueryCapabilities{Type: p.QuerySummary}, `{"status":"success","capabilities":{
			"topics":["Python","Unit Testing","Version Control (Git)"],
			"actions":[{"name":"EXECUTE_DELEGATED_CODING_TASK","description":"Does a coding task."}]}}`},
		{"summary with schemas", p.QueryCapabilities{Type: p.QuerySummary, Schemas: true}, `{"status":"success","capabilities":{
			"topics":["Python","Unit Testing","Version Control (Git)"],
			"actions":[{"name":"EXECUTE_DELEGATED_CODING_TASK","description":"Does a coding task.",
			"input_schema":{"type":"object"},"examples":[{}],"cost":1}]}}`},
		{
			"details",
			p.QueryCapabilities{Type: p.QueryActionDetails, Parameters: p.QueryParameters{ActionName: "execute delegated coding task"}},
			`{"status":"success","action":{"name":"EXECUTE_DELEGATED_CODING_TASK","description":"Does a coding task.",
			"input_schema":{"type":"object"},"examples":[{}],"cost":1}}`,
		},
		{"all of two", specific("", "python", "unit-testing"), `{"status":"success","match_result":true,"matched_capabilities":["Python","Unit Testing"]}`},
		{"all, one lacks", specific(p.MatchAll, "python", "Rust"), `{"status":"success","match_result":false,"matched_capabilities":["Python"]}`},
		{"all, one twice", specific(p.MatchAll, "python", "Python", "PYTHON"), `{"status":"success","match_result":true,"matched_capabilities":["Python"]}`},
		{"any", specific(p.MatchAny, "Rust", "python"), `{"status":"success","match_result":true,"matched_capabilities":["Python"]}`},
		{"any of none", specific(p.MatchAny, "Rust", "Persona"), `{"status":"success","match_result":false,"matched_capabilities":[]}`},
	}
	for _, tt := range tests {
		got, err := jules().Answer(tt.query)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tree(t, []byte(tt.want)), tree(t, []byte(mustJSON(t, got)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestAnswerOfNoCapabilities(t *testing.T) {
	got, err := p.Capabilities{}.Answer(p.QueryCapabilities{Type: p.QuerySummary})
	want := `{"capabilities":{"actions":[],"topics":[]},"status":"success"}`
	if err != nil || cmp.Diff(tree(t, []byte(want)), tree(t, []byte(mustJSON(t, got)))) != "" {
		t.Errorf("%s, %v; want %s", mustJSON(t, got), err, want)
	}
}

func TestAnswerRefuses(t *testing.T) {
	tests := []struct {
		query p.QueryCapabilities
		code  p.Code
		field string
	}{
		{p.QueryCapabilities{}, p.CodeInvalidPayload, "query_type"},
		{p.QueryCapabilities{Type: "Summary"}, p.CodeInvalidPayload, "query_type"},
		{p.QueryCapabilities{Type: p.QueryActionDetails}, p.CodeInvalidPayload, "query_parameters.action_name"},
		{p.QueryCapabilities{Type: p.QueryActionDetails, Parameters: p.QueryParameters{ActionName: "FLY"}}, p.CodeUnknownAction, ""},
		{specific(p.MatchAll), p.CodeInvalidPayload, "query_parameters.capabilities"},
		{specific("most", "Go"), p.CodeInvalidPayload, "query_parameters.match_type"},
	}
	for _, tt := range tests {
		got, err := jules().Answer(tt.query)
		var r *p.Refusal
		if !errors.As(err, &r) || r.Code != tt.code || r.Field != tt.field || cmp.Diff(p.InformCapabilities{}, got) != "" {
			t.Errorf("%+v: %+v, %v; want %s of %q", tt.query, got, err, tt.code, tt.field)
		}
	}
}

// The agent may change its capabilities while an answer of its travels.
func TestAnswerSharesNothing(t *testing.T) {
	c := jules()
	c.Extra = p.Members{"since": []byte(`1`)}
	queries := []p.QueryCapabilities{
		{Type: p.QuerySummary}, {Type: p.QuerySummary, Schemas: true}, {Type: p.QueryActionDetails, Parameters: p.QueryParameters{ActionName: c.Actions[0].Name}},
	}
	for _, q := range queries {
		answer, err := c.Answer(q)
		if err != nil {
			t.Fatal(err)
		}
		before := mustJSON(t, answer)
		c.Topics[0], c.Extra["since"] = "changed", []byte(`2`)
		c.Actions[0].InputSchema[0], c.Actions[0].Examples[0] = '!', p.Content{}
		c.Actions[0].Extra["cost"] = []byte(`2`)
		if after := mustJSON(t, answer); after != before {
			t.Errorf("%s: the answer changed from %s to %s", q.Type, before, after)
		}
		c = jules()
		c.Extra = p.Members{"since": []byte(`1`)}
	}
}
