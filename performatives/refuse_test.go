package performatives_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// refusalAct is what acl §4.5 to §4.7 and addenda §6 say of an answer to asked.
func refusalAct(asked p.Performative, code p.Code) p.Performative {
	switch carrier := code.Traits().Carrier; {
	case carrier != p.ActTaskReject, asked == p.ActTaskRequest:
		return carrier
	case asked == p.ActCancel, asked == p.ActAcceptProposal:
		return p.ActFailure
	case asked == p.ActPropose:
		return p.ActRejectProposal
	}
	return p.ActRefuse
}

func TestRefuseEveryCodeAndAct(t *testing.T) {
	codes := append(p.Codes(), p.Code("out_of_coffee").Traits())
	for act := range p.Performatives() {
		asked := mustNew(t, envelope(act))
		for _, row := range codes {
			got := asked.Refuse("Ada", stamps()(), row.Code, "")
			if !act.ExpectsReply() {
				if got != nil {
					t.Errorf("%s is refused, and its sender waits for nothing", act)
				}
				continue
			}
			want := p.Refusal{
				Code: row.Code, Text: row.Text, Act: refusalAct(act, row.Code), From: "Ada", About: "w-1",
			}
			if refersToID[want.Act] {
				want.About = "m-1"
			}
			if diff := cmp.Diff(&want, got.AsRefusal()); diff != "" {
				t.Errorf("%s refused for %s (-want +got):\n%s", act, row.Code, diff)
			}
			if got.ConversationID() != "c-1" || got.Protocol() != "request" || got.Trace() != asked.Trace() ||
				got.Receiver() != "Eddy" || got.ReplyWith() != "" || !got.Answers(asked) {
				t.Errorf("%s refused for %s: %+v", act, row.Code, got.Envelope())
			}
		}
	}
}

func TestRefuseText(t *testing.T) {
	asked := mustNew(t, envelope(p.ActTaskRequest))
	if got := asked.Refuse("Jules", stamps()(), p.CodeBusy, "back at noon").AsRefusal().Text; got != "back at noon" {
		t.Errorf("text %q", got)
	}
	if got := asked.Refuse("Jules", stamps()(), "", "").AsRefusal(); got.Code != p.CodeInternal || got.Act != p.ActFailure {
		t.Errorf("without a code: %+v", got)
	}
	if got := asked.Refuse("", stamps()(), p.CodeBusy, ""); got != nil {
		t.Errorf("refused by nobody: %+v", got)
	}
}

func TestAsRefusal(t *testing.T) {
	tests := []struct {
		act     p.Performative
		payload any
		code    p.Code
		text    string
	}{
		{p.ActTaskReject, p.TaskReject{}, p.CodeUnspecified, ""},
		{p.ActRefuse, p.Refuse{ReasonText: "no"}, p.CodeUnspecified, "no"},
		{p.ActRejectProposal, p.RejectProposal{ReasonText: "too dear"}, p.CodeUnspecified, "too dear"},
		{p.ActRejectProposal, p.Raw(`{"reason_code":"deadline_expired"}`), p.CodeExpired, ""},
		{p.ActNotUnderstood, p.NotUnderstood{}, p.CodeUnspecified, ""},
		{p.ActFailure, p.Failure{}, p.CodeUnspecified, ""},
		{p.ActFailure, p.Raw(`{"error_code":"E7","error_text":"fire"}`), "E7", "fire"},
		{p.ActFailure, p.Raw(`{"error_code":7}`), p.CodeUnspecified, ""},
		{p.ActFailure, map[string]any{"why": "fire"}, p.CodeUnspecified, ""},
	}
	for _, tt := range tests {
		e := envelope(tt.act)
		e.Payload = tt.payload
		got := mustNew(t, e).AsRefusal()
		if got == nil || got.Code != tt.code || got.Text != tt.text || got.Act != tt.act || got.From != "Eddy" || got.About != "m-0" {
			t.Errorf("%s %v: %+v", tt.act, tt.payload, got)
		}
	}
	for act := range p.Performatives() {
		refuses := act == p.ActTaskReject || act == p.ActRefuse || act == p.ActRejectProposal || act == p.ActNotUnderstood || act == p.ActFailure
		if got := mustNew(t, envelope(act)).AsRefusal(); (got != nil) != refuses {
			t.Errorf("%s: AsRefusal = %v", act, got)
		}
	}
}

func TestRefuseCopy(t *testing.T) {
	asked := mustNew(t, envelope(p.ActTaskRequest))
	refused, answered := asked.RefuseCopy("Ada", stamps()(), &p.Refusal{Code: p.CodeBusy}), asked.Refuse("Ada", stamps()(), p.CodeBusy, "")
	if !refused.Undeliverable() || answered.Undeliverable() || asked.Undeliverable() {
		t.Errorf("undeliverable: %v by the runtime, %v by the agent, %v the request", refused.Undeliverable(), answered.Undeliverable(), asked.Undeliverable())
	}
	if diff := cmp.Diff(answered.AsRefusal(), refused.AsRefusal()); diff != "" {
		t.Errorf("the mark changes the refusal (-want +got):\n%s", diff)
	}
	if mustNew(t, envelope(p.ActInform)).RefuseCopy("Ada", stamps()(), &p.Refusal{Code: p.CodeBusy}) != nil {
		t.Error("a message that expects no reply is refused")
	}
	for name, of := range map[string]struct {
		message *p.Message
		value   string
	}{"no refusal": {asked, "true"}, "no mark": {answered, "false"}} {
		marked, err := of.message.With(func(e *p.Envelope) { e.Metadata = p.Members{p.MetadataUndeliverable: []byte(of.value)} })
		if err != nil || marked.Undeliverable() {
			t.Errorf("%s is undeliverable, %v", name, err)
		}
	}
}

// The hint of a refusal is in its message, where the act has one.
func TestRefuseWith(t *testing.T) {
	for act := range p.Performatives() {
		asked := mustNew(t, envelope(act))
		why := p.Refusal{Code: p.CodeBusy, Text: "later", RetryAfter: 3 * time.Second}
		for _, reply := range []*p.Message{asked.RefuseWith("Ada", stamps()(), &why), asked.RefuseCopy("Ada", stamps()(), &why)} {
			if (reply != nil) != act.ExpectsReply() {
				t.Fatalf("%s: %v", act, reply)
			} else if reply == nil {
				continue
			}
			if r := reply.AsRefusal(); r.Code != p.CodeBusy || r.Text != "later" || r.RetryAfter != 3*time.Second {
				t.Errorf("%s: %+v", act, r)
			}
		}
	}
}

// TestRefusalWith gives the payload of each refusal members, and leaves other payloads as they are.
func TestRefusalWith(t *testing.T) {
	extra := p.Members{"data": json.RawMessage(`1`)}
	for _, payload := range []any{
		p.TaskReject{}, p.Refuse{}, p.RejectProposal{}, p.NotUnderstood{}, p.Failure{},
	} {
		raw, err := json.Marshal(p.RefusalWith(payload, extra))
		if err != nil || !strings.Contains(string(raw), `"data":1`) {
			t.Errorf("%T: %s, %v", payload, raw, err)
		}
	}
	if got := p.RefusalWith("text", extra); got != "text" {
		t.Errorf("got %v", got)
	}
}

// A message that carries no refusal is asked for one at each end of a conversation.
func TestAsRefusalOfAnotherActAllocatesNothing(t *testing.T) {
	m, err := p.New(p.Envelope{
		ID: "1", Sender: "a", Receiver: "b", Timestamp: time.Unix(1, 0), InReplyTo: "0", Payload: p.InformResult{Status: p.StatusSuccess},
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if m.AsRefusal() != nil {
			t.Error("a refusal")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
