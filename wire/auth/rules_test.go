package auth

import (
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

func message(t testing.TB, act performatives.Performative, receiver string) *performatives.Message {
	t.Helper()
	return must(performatives.New(performatives.Envelope{
		ID: "m-1", Performative: act, Sender: "crm", Receiver: performatives.AgentID(receiver), InReplyTo: "m-0",
		Timestamp: time.Unix(1, 0), Payload: performatives.Raw(`{}`),
	}))
}

func TestRules(t *testing.T) {
	rules := must(ParseRules([]byte(`[
		{"agent": "crm", "allow": ["Eddy", "billing/*"], "acts": ["TASK_REQUEST", "CANCEL"]},
		{"agent": "team/*", "scope": "write", "allow": ["store*"]},
		{"scope": "admin", "allow": ["*"]},
		{"agent": "*", "allow": ["lobby"], "acts": ["QUERY_CAPABILITIES"]}
	]`)))
	authorize := must(rules.Authorizer())
	crm, team := wire.Identity{Name: "CRM"}, wire.Identity{Name: "team/a", Scopes: []string{"read", "write"}}
	for name, tt := range map[string]struct {
		who  wire.Identity
		act  performatives.Performative
		to   string
		want bool
	}{
		"an agent, regardless of case": {crm, performatives.ActTaskRequest, "eddy", true},
		"below":                        {crm, performatives.ActCancel, "billing/x", true},
		"not billing itself":           {crm, performatives.ActCancel, "billing", false},
		"another act":                  {crm, performatives.ActInform, "eddy", false},
		"another agent":                {crm, performatives.ActTaskRequest, "jules", false},
		"a longer name":                {crm, performatives.ActTaskRequest, "eddy2", false},
		"no receiver":                  {crm, performatives.ActTaskRequest, "", false},
		"below crm is not crm":         {wire.Identity{Name: "crm/a"}, performatives.ActTaskRequest, "eddy", false},
		"agent and scope":              {team, performatives.ActInform, "stores", true},
		"the agent without the scope":  {wire.Identity{Name: "team/a"}, performatives.ActInform, "stores", false},
		"the scope without the agent":  {wire.Identity{Name: "a", Scopes: []string{"write"}}, performatives.ActInform, "stores", false},
		"a scope":                      {wire.Identity{Scopes: []string{"admin"}}, performatives.ActInform, "anyone", true},
		"a scope, no receiver":         {wire.Identity{Scopes: []string{"admin"}}, performatives.ActInform, "", true},
		"a part of a scope":            {wire.Identity{Scopes: []string{"adm"}}, performatives.ActInform, "anyone", false},
		"any agent":                    {wire.Identity{}, performatives.ActQueryCapabilities, "lobby", true},
		"any agent, another act":       {wire.Identity{}, performatives.ActTaskRequest, "lobby", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := authorize(tt.who, message(t, tt.act, tt.to)); (err == nil) != tt.want {
				t.Errorf("%v, want it permitted: %v", err, tt.want)
			}
		})
	}
}

func TestParseRulesRefuses(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{}`, "cannot unmarshal"},
		{`[]`, "the array is empty"},
		{`null`, "the array is empty"},
		{`[null]`, "rule 0: want an agent or a scope"},
		{`[{"agent":"a","allow":["b"]}] []`, "after top-level value"},
		{`[{"agent":"a","allow":["b"],"deny":["c"]}]`, "[0].deny: there is no such member"},
		{`[{"agent":"crm","allow":["Eddy"],"Allow":["*"]}]`, `[0].Allow: the name of this member is written "allow"`},
		{`[{"agent":"crm","allow":["Eddy"]},{"agent":"crm","allow":["Eddy"],"allow":["*"]}]`, "[1].allow: the member occurs twice"},
		{`[{"agent":"crm","allow":["Eddy"],"\u0061llow":["*"]}]`, "[0].allow: the member occurs twice"},
		{`[{"agent":"crm","allow":["Eddy"],"act\u017f":["CANCEL"]}]`, `[0]."act\u017f": the name of this member is written "acts"`},
		{`[{"agent":"a"}]`, "allow is empty"},
		{`[{"agent":"a","allow":[""]}]`, "empty pattern"},
		{`[{"agent":"a","allow":["b"]},{"agent":"a*b","allow":[]}]`, "rule 1: allow is empty"},
		{`[{"agent":"a*b","allow":["b"]}]`, "must be at the end"},
		{`[{"agent":"a","allow":["*b"]}]`, "must be at the end"},
		{`[{"agent":"a","allow":["b**"]}]`, "must be at the end"},
		{`[{"agent":"a","allow":["b"],"acts":["TASK_REQUEST","X"]}]`, "none of the known acts"},
	} {
		if _, err := ParseRules([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q in it", tt.text, err, tt.want)
		}
	}
	if a, err := Rules(nil).Authorizer(); a != nil || err != nil {
		t.Errorf("no rules: %v, want no authorizer", err)
	}
	if _, err := (Rules{{Agent: "a"}}).Authorizer(); err == nil {
		t.Error("a rule that allows nothing is accepted")
	}
	if _, err := (Rules{{Agent: "a", Allow: []string{"b"}, Acts: []performatives.Performative{0}}}).Authorizer(); err == nil || err.Error() != "auth: rule 0: acts has an entry that is not a performative" {
		t.Error(err)
	}
}

// Reading and acting are rights of their own, which only a rule about the identity grants.
func TestOperator(t *testing.T) {
	rules, err := ParseRules([]byte(`[{"agent":"ann","operator":["read"]},{"scope":"ops","operator":["act"]},{"agent":"*","allow":["*"]}]`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		rules     Rules
		who       wire.Identity
		read, act bool
	}{
		{rules, wire.Identity{Name: "ann"}, true, false},
		{rules, wire.Identity{Name: "bob", Scopes: []string{"ops"}}, false, true},
		{rules, wire.Identity{Name: "bob"}, false, false},
		{rules, wire.Identity{}, false, false},
		{nil, wire.Identity{Name: "bob"}, true, true},
	} {
		has, err := test.rules.Operator()
		if err != nil {
			t.Fatal(err)
		}
		if read, act := has(test.who, RightRead), has(test.who, RightAct); read != test.read || act != test.act {
			t.Errorf("%+v: read %t, act %t", test.who, read, act)
		}
	}
	if _, err := ParseRules([]byte(`[{"agent":"ann","operator":["write"]}]`)); err == nil || !strings.Contains(err.Error(), "neither read nor act") {
		t.Errorf("got %v", err)
	}
}
