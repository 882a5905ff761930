package performatives_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// The names of addenda §2, written out so that a typing error in the table shows.
var actNames = strings.Fields(`ACCEPT_PROPOSAL AGREE CANCEL CFP CONFIRM DISCONFIRM FAILURE INFORM INFORM_IF
	INFORM_REF NOT_UNDERSTOOD PROPAGATE PROPOSE PROXY QUERY_IF QUERY_REF REFUSE REJECT_PROPOSAL REQUEST
	REQUEST_WHEN REQUEST_WHENEVER SUBSCRIBE
	TASK_REQUEST TASK_ACCEPT TASK_REJECT STATUS_UPDATE INFORM_RESULT QUERY_CAPABILITIES INFORM_CAPABILITIES`)

func TestEveryActRoundTripsByName(t *testing.T) {
	var names []string
	for act := range p.Performatives() {
		names = append(names, act.String())
		if got, err := p.ParsePerformative(act.String()); err != nil || got != act {
			t.Errorf("ParsePerformative(%q) = %v, %v", act, got, err)
		}
		b, err := json.Marshal(act)
		if err != nil || string(b) != `"`+act.String()+`"` {
			t.Errorf("json of %s = %s, %v", act, b, err)
		}
		var got p.Performative
		if err := json.Unmarshal(b, &got); err != nil || got != act {
			t.Errorf("%s through JSON = %v, %v", act, got, err)
		}
	}
	if !slices.Equal(names, actNames) {
		t.Errorf("acts = %v\nwant %v", names, actNames)
	}
}

func TestPerformativesStopsEarly(t *testing.T) {
	for act := range p.Performatives() {
		if act != p.ActAcceptProposal {
			t.Fatalf("went on to %s", act)
		}
		break
	}
}

func TestNoAct(t *testing.T) {
	for _, act := range []p.Performative{0, p.ActInformCapabilities + 1, 255} {
		if act.Valid() || act.ExpectsReply() || act.IsReply() {
			t.Errorf("%s is an act", act)
		}
		if b, err := act.MarshalText(); err == nil {
			t.Errorf("%s has the name %s", act, b)
		}
		if !strings.HasPrefix(act.String(), "Performative(") {
			t.Errorf("String = %q", act)
		}
	}
}

func TestParsePerformativeRefuses(t *testing.T) {
	for _, name := range []string{"", "task_request", "TASK-REQUEST", " CFP", "NOTIFY", strings.Repeat("X", 1000)} {
		_, err := p.ParsePerformative(name)
		var r *p.Refusal
		if !errors.Is(err, p.CodeUnknownPerformative) || !errors.As(err, &r) || r.Field != "performative" || len(r.Text) > 200 {
			t.Errorf("ParsePerformative(%.20q): %v", name, err)
		}
	}
}

// An act that waits for an answer can be refused; a refusal never is.
func TestRefusalsExpectNoReply(t *testing.T) {
	for _, act := range []p.Performative{p.ActRefuse, p.ActTaskReject, p.ActNotUnderstood, p.ActFailure, p.ActInform} {
		if act.ExpectsReply() {
			t.Errorf("%s expects a reply: refusals would answer refusals", act)
		}
	}
}
