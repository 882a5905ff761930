package performatives_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	p "github.com/ribosome-agents/ribosome/performatives"
)

var morning = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// ask makes the TASK_REQUEST by which Eddy delegates to Jules.
func ask() *p.Message {
	m, err := p.New(p.Envelope{
		ID: "task-1", Sender: "Eddy", Receiver: "Jules", Timestamp: morning, Ontology: p.OntologyDebugRequest,
		Payload: p.TaskRequest{
			TaskType:   "debug_code",
			Parameters: p.ContentOf(map[string]string{"programming_language": "python"}),
		},
	})
	if err != nil {
		panic(err)
	}
	return m
}

func ExampleNew() {
	m := ask()
	fmt.Println(m.Performative(), m.Priority(), m.ConversationID())

	_, err := p.New(p.Envelope{ID: "task-2", Sender: "Eddy", Timestamp: morning, Payload: p.TaskRequest{}})
	fmt.Println(err)
	// Output:
	// TASK_REQUEST normal task-1
	// payload.task_type: want a non-empty string, got nothing (invalid_payload_structure)
}

func ExampleMessage_Reply() {
	done, err := ask().Reply(p.Stamp{ID: "result-1", Time: morning.Add(time.Minute)}, p.InformResult{
		Status: p.StatusSuccess, Summary: "Bug fixed and tested.",
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(done.Performative(), "from", done.Sender(), "to", done.Receiver())
	fmt.Println("in reply to", done.InReplyTo(), "in", done.ConversationID())
	fmt.Println(done.Ontology())
	// Output:
	// INFORM_RESULT from Jules to Eddy
	// in reply to task-1 in task-1
	// elizaos:ontology:code/python/solution_provided
}

func ExampleMessage_Refuse() {
	reply := ask().Refuse("Jules", p.Stamp{ID: "no-1", Time: morning}, p.CodeBusy, "")
	fmt.Println(reply.Performative())

	var err error = reply.AsRefusal()
	fmt.Println(err)
	fmt.Println(errors.Is(err, p.CodeBusy), p.CodeBusy.Traits().Retry)
	// Output:
	// TASK_REJECT
	// Jules: the agent is busy (busy)
	// true true
}

func ExampleRegister() {
	type Offer struct {
		Price int `json:"price"`
	}
	var registry p.Registry
	if err := p.Register[Offer](&registry, p.ActPropose, "ex:auction"); err != nil {
		panic(err)
	}
	payload, err := registry.DecodePayload(p.ActPropose, "ex:auction", json.RawMessage(`{"price":30}`))
	fmt.Printf("%+v %v\n", payload, err)

	_, err = registry.DecodePayload(p.ActPropose, "ex:auction", json.RawMessage(`{"price":"low"}`))
	fmt.Println(err)
	// Output:
	// {Price:30} <nil>
	// payload.price: want a whole number, got a JSON string (invalid_payload_structure)
}

func ExampleDecode() {
	type Parameters struct {
		Language string `json:"programming_language"`
	}
	task, err := p.PayloadAs[p.TaskRequest](ask())
	if err != nil {
		panic(err)
	}
	parameters, err := p.Decode[Parameters](task.Parameters)
	fmt.Println(parameters.Language, err)
	// Output:
	// python <nil>
}

func ExampleCapabilities_Answer() {
	jules := p.Capabilities{Topics: []string{"Python", "Unit Testing"}}
	answer, err := jules.Answer(p.QueryCapabilities{
		Type:       p.QuerySpecific,
		Parameters: p.QueryParameters{Capabilities: []string{"unit_testing", "Rust"}, MatchType: p.MatchAny},
	})
	if err != nil {
		panic(err)
	}
	b, err := json.Marshal(answer)
	fmt.Println(string(b), err)
	// Output:
	// {"match_result":true,"matched_capabilities":["Unit Testing"],"status":"success"} <nil>
}
