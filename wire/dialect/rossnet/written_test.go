package rossnet

import (
	stdcmp "cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// written has what an agent says to a peer of whom nothing is known, and the type, the metadata and
// the payload of its frame.
var written = map[string]struct {
	message             performatives.Envelope
	kind, meta, payload string
}{
	"a task": {
		performatives.Envelope{ReplyBy: noon.Add(time.Hour), Payload: performatives.TaskRequest{TaskType: "dig", Description: "a hole", Parameters: performatives.RawContent([]byte(`{"deep":1.0}`))}},
		kindAssign, ``,
		`{"task_name":"dig","task_description":"a hole","input_data":{"deep":1.0},"deadline":"2025-01-30T13:00:00Z","subtask_id":"` + uuidOf(exchange.Digest(nil, "eddy", "worker", "m")) + `"}`,
	},
	"a task without parameters": {
		performatives.Envelope{Priority: performatives.High, Payload: performatives.TaskRequest{TaskType: "dig", Extra: performatives.Members{"subtask_id": json.RawMessage(`"s"`), "priority": json.RawMessage(`"high"`), "x": json.RawMessage(`1.0`)}}},
		kindAssign, `{"priority":4}`, `{"task_name":"dig","input_data":{},"subtask_id":"s","x":1.0}`,
	},
	"a task of the field": {
		performatives.Envelope{Payload: performatives.TaskRequest{TaskType: "dig", Parameters: performatives.RawContent([]byte(`{"deep":1.0}`)), Extra: performatives.Members{"task_id": json.RawMessage(`"t"`)}}},
		kindAssign, ``, `{"task_id":"t","task_name":"dig","deep":1.0}`,
	},
	"a task of the field, without a name": {
		performatives.Envelope{Payload: performatives.TaskRequest{TaskType: taskOfField, Parameters: performatives.RawContent([]byte(`{"deep":1.0}`))}},
		kindAssign, ``, `{"deep":1.0}`,
	},
	"a request of a user": {
		performatives.Envelope{Payload: performatives.TaskRequest{TaskType: taskUserRequest, Parameters: performatives.RawContent([]byte(`{"text":"x"}`))}},
		kindUserRequest, ``, `{"text":"x"}`,
	},
	"a request of a user, without a text": {
		performatives.Envelope{Payload: performatives.TaskRequest{TaskType: taskUserRequest}}, kindUserRequest, ``, `{}`,
	},
	"an application's type": {
		performatives.Envelope{Performative: performatives.ActRequest, MessageType: "REVIEW", Payload: performatives.Raw(`{"x":1.0}`)},
		"REVIEW", `{"performative":"REQUEST"}`, `{"x":1.0}`,
	},
	"a registered type": {
		performatives.Envelope{Performative: performatives.ActInform, MessageType: "NEWS", Payload: performatives.Raw(`{"x":1.0}`)}, "NEWS", ``, `{"x":1.0}`,
	},
	"a registered type with another act": {
		performatives.Envelope{Performative: performatives.ActRequest, MessageType: "NEWS", Payload: performatives.Raw(`{}`)},
		"NEWS", `{"performative":"REQUEST","message_type":"NEWS"}`, `{}`,
	},
	"a type that the dialect has": {
		performatives.Envelope{Performative: performatives.ActInform, MessageType: kindStatus, Payload: performatives.Raw(`{}`)},
		kindStatus, `{"performative":"INFORM","message_type":"STATUS_UPDATE"}`, `{}`,
	},
	"a type with the name of an act": {
		performatives.Envelope{Performative: performatives.ActInform, MessageType: "AGREE", Payload: performatives.Raw(`{}`)},
		"AGREE", `{"performative":"INFORM","message_type":"AGREE"}`, `{}`,
	},
	"progress": {
		performatives.Envelope{InReplyTo: "q", Payload: performatives.StatusUpdate{}}, kindStatus, ``, `{"progress_percentage":0,"status_description":"","subtask_id":"q"}`,
	},
	"an agreement": {
		performatives.Envelope{InReplyTo: "q", Payload: performatives.TaskAccept{Comments: "soon"}}, kindAcknowledge, ``, `{"status":"ACCEPTED","reason":"soon","subtask_id":"q"}`,
	},
	"an agreement without a word": {
		performatives.Envelope{InReplyTo: "q", Payload: performatives.TaskAccept{}}, kindAcknowledge, ``, `{"status":"ACCEPTED","subtask_id":"q"}`,
	},
	"a result": {
		performatives.Envelope{InReplyTo: "q", Payload: performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.RawContent([]byte(`{"x":1.0}`))}},
		kindComplete, ``, `{"output_data":{"x":1.0},"subtask_id":"q"}`,
	},
	"a part of a result": {
		performatives.Envelope{InReplyTo: "q", Payload: performatives.InformResult{Status: performatives.StatusPartial}},
		kindComplete, ``, `{"output_data":{},"task_status":"partial_success","subtask_id":"q"}`,
	},
}

// registered has the application's type NEWS.
func registered(t *testing.T) func(*wire.CodecOptions) {
	t.Helper()
	var registry performatives.Registry
	if err := registry.RegisterChecked("NEWS", performatives.ActInform, func(json.RawMessage) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return func(o *wire.CodecOptions) { o.Registry = &registry }
}

// What an agent says has its place in the frame, and the peer reads the same.
func TestWritten(t *testing.T) {
	for name, test := range written {
		e := test.message
		e.ID, e.Sender, e.Receiver, e.ConversationID, e.Timestamp = "m", "Eddy", "Worker", "c", noon
		m, err := performatives.New(e)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out := write(t, open(t, registered(t)), m)
		var frame struct {
			Header struct {
				Kind string          `json:"message_type"`
				Meta json.RawMessage `json:"task_metadata"`
			} `json:"mcp_header"`
			Payload json.RawMessage `json:"payload"`
		}
		if err := json.Unmarshal([]byte(out), &frame); err != nil || frame.Header.Kind != test.kind {
			t.Errorf("%s: %v %s", name, err, out)
			continue
		}
		if diff := cmp.Diff(exact(t, []byte(stdcmp.Or(test.meta, "null"))), exact(t, []byte(stdcmp.Or(string(frame.Header.Meta), "null")))); diff != "" {
			t.Errorf("%s: the metadata: %s", name, diff)
		}
		if diff := cmp.Diff(exact(t, []byte(test.payload)), exact(t, frame.Payload)); diff != "" {
			t.Errorf("%s: the payload: %s", name, diff)
		}
		var with []func(*wire.CodecOptions)
		if !strings.Contains(test.meta, "message_type") { // a peer with the registry refuses another act, or reads the name
			with = append(with, registered(t))
		}
		read := accept(t, open(t, with...), out)
		if read.Performative() != m.Performative() || read.MessageType() != m.MessageType() || read.Priority() != m.Priority() || !read.ReplyBy().Equal(m.ReplyBy()) {
			t.Errorf("%s: the peer reads %+v", name, read.Envelope())
		}
	}
}

// A result of a task in the form of the field is in that form, with the ids of the task.
func TestWrittenInTheFormOfTheField(t *testing.T) {
	for name, test := range map[string]struct {
		result performatives.InformResult
		want   string
	}{
		"a result": {
			performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.RawContent([]byte(`{"x":1.0}`))},
			`{"status":"COMPLETED","agent_id":"Worker","task_id":"t","workflow_id":"w","result":{"x":1.0}}`,
		},
		"a failure": {
			performatives.InformResult{Status: performatives.StatusFailure}, `{"status":"FAILED","task_status":"failure","agent_id":"Worker","task_id":"t","workflow_id":"w","result":{}}`,
		},
	} {
		c := open(t)
		task := accept(t, c, frameOf(kindAssign, "Boss", "Worker", "c", `{"task_id":"t","workflow_id":"w","deep":1.0}`))
		m, err := performatives.New(performatives.Envelope{ID: "r", Sender: "Worker", Receiver: "Boss", ConversationID: task.ConversationID(), InReplyTo: string(task.ID()), Timestamp: noon, Payload: test.result})
		if err != nil {
			t.Fatal(err)
		}
		out := write(t, c, m)
		var frame struct {
			Payload json.RawMessage `json:"payload"`
		}
		if err := json.Unmarshal([]byte(out), &frame); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(exact(t, []byte(test.want)), exact(t, frame.Payload)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAsksDiscovery(t *testing.T) {
	for name, test := range map[string]struct {
		message performatives.Envelope
		want    bool
	}{
		"the agents":           {performatives.Envelope{Receiver: serviceDiscovery, Payload: performatives.QueryRef{Reference: referenceAgents}}, true},
		"in another case":      {performatives.Envelope{Receiver: "mcp_discovery", Payload: performatives.QueryRef{Reference: referenceAgents}}, true},
		"something else":       {performatives.Envelope{Receiver: serviceDiscovery, Payload: performatives.QueryRef{Reference: "x"}}, false},
		"of another agent":     {performatives.Envelope{Receiver: "x", Payload: performatives.QueryRef{Reference: referenceAgents}}, false},
		"another act":          {performatives.Envelope{Receiver: serviceDiscovery, Payload: performatives.QueryCapabilities{Type: performatives.QuerySummary}}, false},
		"a text, unregistered": {performatives.Envelope{Receiver: serviceDiscovery, Performative: performatives.ActQueryRef, MessageType: "X", Payload: performatives.Raw(`{}`)}, false},
	} {
		e := test.message
		e.ID, e.Sender, e.Timestamp = "m", "Eddy", noon
		m, err := performatives.New(e)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := AsksDiscovery(m); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for name, want := range map[string]bool{kindAssign: true, "PING": true, "INFORM": true, "REVIEW": false, "": false} {
		if Reserves(name) != want {
			t.Errorf("%s is reserved: %v", name, !want)
		}
	}
}
