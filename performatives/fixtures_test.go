package performatives_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	p "github.com/ribosome-agents/ribosome/performatives"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// stamps returns a function that makes one stamp after the other: r-1, r-2, …
func stamps() func() p.Stamp {
	n := 0
	return func() p.Stamp {
		n++
		return p.Stamp{ID: p.MessageID(fmt.Sprintf("r-%d", n)), Time: noon.Add(time.Duration(n) * time.Second)}
	}
}

// contents has a valid payload for every act.
var contents = func() map[p.Performative]any {
	yes := true
	m := map[p.Performative]any{
		p.ActTaskRequest:       p.TaskRequest{TaskType: "debug_code"},
		p.ActTaskAccept:        p.TaskAccept{TaskID: "t-1"},
		p.ActTaskReject:        p.TaskReject{ReasonCode: p.CodeBusy},
		p.ActStatusUpdate:      p.StatusUpdate{Description: "half way"},
		p.ActInformResult:      p.InformResult{Status: p.StatusSuccess},
		p.ActFailure:           p.Failure{ErrorCode: p.CodeFailed},
		p.ActNotUnderstood:     p.NotUnderstood{ReasonCode: p.CodeParsingError},
		p.ActQueryIf:           p.QueryIf{Condition: p.ContentOf("idle")},
		p.ActInformIf:          p.InformIf{Truth: &yes},
		p.ActQueryRef:          p.QueryRef{Reference: "head"},
		p.ActInformRef:         p.InformRef{Value: p.ContentOf(1)},
		p.ActQueryCapabilities: p.QueryCapabilities{Type: p.QuerySummary},
		p.ActInformCapabilities: p.InformCapabilities{Capabilities: &p.Capabilities{
			Topics: []string{"Go"}, Actions: []p.Action{{Name: "FIX"}},
		}},
		p.ActRefuse: p.Refuse{ReasonCode: p.CodeForbidden},
		p.ActCancel: p.Cancel{Reason: "changed my mind"},
	}
	for act := range p.Performatives() {
		if m[act] == nil {
			m[act] = p.Raw(`{"text":"hello"}`)
		}
	}
	return m
}()

// envelope is a message of that act from Eddy to Jules, with every field set.
func envelope(act p.Performative) p.Envelope {
	return p.Envelope{
		ID: "m-1", Performative: act, Sender: "Eddy", Receiver: "Jules",
		ConversationID: "c-1", Protocol: "request", MessageType: "TASK_FOR_REVIEW", InReplyTo: "m-0", ReplyWith: "w-1",
		ReplyBy: noon.Add(time.Minute), Language: p.LanguageJSON, Ontology: "ex:tasks",
		Priority: p.High, Timestamp: noon,
		Trace:    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		Metadata: p.Members{"x": json.RawMessage(`[1]`)}, Payload: contents[act],
	}
}

func mustNew(tb testing.TB, e p.Envelope) *p.Message {
	tb.Helper()
	m, err := p.New(e)
	if err != nil {
		tb.Fatalf("New: %v", err)
	}
	return m
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
