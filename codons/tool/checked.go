package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// CheckArguments returns a middleware for [delegation.NewService] that checks the parameters of a
// task. It uses the input schema of the action with the task's name, of the agent's capabilities.
// Parameters that do not fit are NOT_UNDERSTOOD with [performatives.CodeInvalidPayload]; the text
// gives the place and the reason, and ConsiderTask is not called. An action without a schema takes
// any parameters. A further round carries only the input that was missing, so it is not checked. A
// [*Tools] checks its tools itself.
//
// A schema is read once and serves all agents. One that cannot be used (not valid, longer than
// 64 KiB, with a reference to another document) is a fault of the agent: it is logged, and the
// task is rejected with [performatives.CodeInternal]. The middleware may run on any goroutine.
func CheckArguments() func(delegation.Worker) delegation.Worker {
	c := &schemas{known: make(map[string]known)}
	return func(w delegation.Worker) delegation.Worker {
		if t, ok := w.(Agent); ok {
			return checked{Worker: w, schemas: c, own: t.ToolSet()}
		}
		return checked{Worker: w, schemas: c}
	}
}

// checked is a worker whose tasks fit the schemas that it announces.
type checked struct {
	delegation.Worker
	schemas *schemas
	own     *Tools // nil for a worker without a tool set
}

// ConsiderTask asks the worker only about a task whose parameters fit.
func (c checked) ConsiderTask(ctx context.Context, t delegation.Task) delegation.Decision {
	described := t.Agent.Describe()
	checks := slices.ContainsFunc(described.Actions, func(a performatives.Action) bool { return len(a.InputSchema) > 0 })
	if !checks || len(t.Previous) > 0 || c.own != nil && c.own.Has(t.TaskType) {
		return c.Worker.ConsiderTask(ctx, t)
	}
	action, ok := described.Action(t.TaskType)
	if !ok || len(action.InputSchema) == 0 {
		return c.Worker.ConsiderTask(ctx, t)
	}
	s, err := c.schemas.get(action.InputSchema)
	if err != nil {
		t.Agent.Logger().Error("the input schema of an action cannot be used", "action", action.Name, "err", err)
		return delegation.Reject(performatives.CodeInternal, "the input schema of this action cannot be used")
	}
	if err := s.check(argumentsField, t.Parameters); err != nil {
		return delegation.NotUnderstoodBy(err)
	}
	return c.Worker.ConsiderTask(ctx, t)
}

// The bounds of the schemas that agents announce.
const (
	maxSchema  = 64 << 10 // bytes of one
	maxSchemas = 1024     // that are kept; then all are read again
)

// schemas has the schemas that were read. Its method may be called from any goroutine.
type schemas struct {
	mu    sync.Mutex
	known map[string]known // by text
}

// known is a schema, or the reason why it cannot be used.
type known struct {
	schema *schema
	err    error
}

// get returns the schema of a text.
func (s *schemas) get(text json.RawMessage) (*schema, error) {
	if err := checkLength(text); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.known[string(text)]
	if !ok {
		k.schema, k.err = readSchema(text)
		if len(s.known) >= maxSchemas {
			clear(s.known)
		}
		s.known[string(text)] = k
	}
	return k.schema, k.err
}

func checkLength(text json.RawMessage) error {
	if len(text) > maxSchema {
		return fmt.Errorf("it has %d bytes; at most %d are read", len(text), maxSchema)
	}
	return nil
}

// readSchema reads a schema. It loads nothing: a reference to another document is an error.
func readSchema(text json.RawMessage) (*schema, error) {
	tree := new(jsonschema.Schema)
	if err := json.Unmarshal(text, tree); err != nil {
		return nil, err
	}
	resolved, err := tree.Resolve(nil)
	if err != nil {
		return nil, err
	}
	return &schema{tree: tree, resolved: resolved, text: text}, nil
}
