package swarm_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// The schemas in action_details have the fields of the Go types.
func TestSchemas(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	for id, name := range map[performatives.AgentID]string{swarm.EddyID: swarm.ActionDelegate, swarm.JulesID: swarm.ActionExecute} {
		answer, err := discovery.Whisper(s.ctx, s.user, id, performatives.QueryCapabilities{
			Type: performatives.QueryActionDetails, Parameters: performatives.QueryParameters{ActionName: name},
		})
		if err != nil {
			t.Fatal(err)
		}
		wantSchema[swarm.Problem](t, answer.Action.InputSchema)
		wantSchema[swarm.Finding](t, answer.Action.OutputSchema)
	}
}

func TestSchemasOfEditorTasks(t *testing.T) {
	known := (&swarm.Jules{}).Describe()
	for _, name := range []string{swarm.TaskRefactor, swarm.TaskExplain} {
		action, ok := known.Action(name)
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		wantSchema[swarm.Snippet](t, action.InputSchema)
		if name == swarm.TaskRefactor {
			wantSchema[swarm.Refactoring](t, action.OutputSchema)
		} else {
			wantSchema[swarm.Explanation](t, action.OutputSchema)
		}
		if !known.KnowsOntology(action.Ontology) || action.Ontology == "" {
			t.Errorf("%s: Jules does not know %q", name, action.Ontology)
		}
	}
}

func wantSchema[T any](t *testing.T, schema json.RawMessage) {
	t.Helper()
	var got struct{ Properties map[string]any }
	if err := json.Unmarshal(schema, &got); err != nil {
		t.Fatal(err)
	}
	fields := reflect.VisibleFields(reflect.TypeFor[T]())
	for _, f := range fields {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if got.Properties[name] == nil {
			t.Errorf("%v: the schema has no %s", reflect.TypeFor[T](), name)
		}
	}
	if len(got.Properties) != len(fields) {
		t.Errorf("%v: the schema has %d properties; want %d", reflect.TypeFor[T](), len(got.Properties), len(fields))
	}
}

func TestHosting(t *testing.T) {
	for name, tt := range map[string]struct {
		options swarm.Options
		host    string
		taken   performatives.AgentID // by an agent that is there before
		want    string
		left    int // agents on the node afterwards
	}{
		"by name":         {host: swarm.Name, left: 3},
		"unknown":         {host: "nobody", want: `there is no swarm "nobody"; there is eddyjules`},
		"not a member":    {options: swarm.Options{Replace: map[performatives.AgentID]func() actors.Agent{"Bob": nil}}, host: swarm.Name, want: `no agent "Bob"`},
		"an id is taken":  {host: swarm.Name, taken: "eliza", want: "Eliza", left: 1},
		"without a third": {options: swarm.Options{Replace: map[performatives.AgentID]func() actors.Agent{"ELIZA": nil}}, host: swarm.Name, left: 2},
	} {
		t.Run(name, func(t *testing.T) {
			node, err := runtime.New(runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = node.Stop(context.WithoutCancel(t.Context())) }()
			if tt.taken != "" {
				if err := node.Spawn(t.Context(), tt.taken, func() actors.Agent { return swarm.Eliza{} }); err != nil {
					t.Fatal(err)
				}
			}
			err = runtime.Swarms{swarm.New(tt.options)}.Host(t.Context(), node, tt.host)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v; want %q", err, tt.want)
			}
			if ids := node.Directory().IDs(); len(ids) != tt.left {
				t.Errorf("the node has %v", ids)
			}
		})
	}
}

// Eddy and Jules list every name of a task that they take, and take no parameters that do not fit
// the schema of it.
func TestNamesOfTheTask(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	for id, name := range map[performatives.AgentID]string{swarm.EddyID: swarm.ActionDelegate, swarm.JulesID: swarm.ActionExecute} {
		for _, name := range []string{swarm.TaskDebugCode, name} {
			_, err := discovery.Whisper(s.ctx, s.user, id, performatives.QueryCapabilities{
				Type: performatives.QueryActionDetails, Parameters: performatives.QueryParameters{ActionName: name},
			})
			if err != nil {
				t.Errorf("%s does not list %s: %v", id, name, err)
			}
			_, err = delegation.Delegate(s.ctx, s.user, id, performatives.TaskRequest{
				TaskType: name, Parameters: performatives.ContentOf(swarm.Problem{Code: "print(1)", Language: "cobol"}),
			})
			if !errors.Is(err, performatives.CodeInvalidPayload) || !strings.Contains(err.Error(), "task_parameters.programming_language: ") {
				t.Errorf("%s, %s in cobol: got %v", id, name, err)
			}
		}
	}
}

// A reason has its code beside it, not in it.
func TestReasonWithoutCode(t *testing.T) {
	for _, w := range []delegation.Worker{&swarm.Eddy{}, &swarm.Jules{}} {
		d := w.ConsiderTask(t.Context(), delegation.Task{TaskRequest: performatives.TaskRequest{
			TaskType: swarm.TaskDebugCode, Parameters: performatives.RawContent([]byte(`{"code_to_debug":3}`)),
		}})
		no, ok := d.Data.(performatives.NotUnderstood)
		if !ok || no.ReasonCode != performatives.CodeInvalidPayload || !strings.Contains(no.ReasonText, "code_to_debug") || strings.Contains(no.ReasonText, string(no.ReasonCode)) {
			t.Errorf("%T: got %+v", w, d)
		}
	}
}
