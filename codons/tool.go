package codons

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Tool is a function that other agents may call: by a name, with arguments and a
// result that JSON Schemas describe. It never changes, so agents and goroutines may
// share it.
type Tool struct {
	action        performatives.Action
	input, output *schema
	guard         func(*performatives.Message) error
	// bind checks the arguments and returns the call with them.
	bind func(arguments performatives.Content) (func(context.Context) (any, error), error)
}

// NewTool makes a tool of a Go function. The schemas are derived from In and Out,
// which are structs or maps; the struct tag jsonschema:"…" describes a member, and
// omitempty makes it optional. A method Validate() error of In is called for what no
// schema says.
//
// fn runs on a goroutine of its call, beside others, and should return soon once ctx
// ends. Its errors are told as those of [RequestHandler] are. ctx also knows who
// calls: [ToolCallFrom].
//
// The error says what is wrong with the name or with the types.
func NewTool[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error), opts ...ToolOption) (*Tool, error) {
	var with toolOptions
	for _, opt := range opts {
		opt(&with)
	}
	if performatives.FoldCapability(name) == "" || fn == nil {
		return nil, fmt.Errorf("codons: tool %q: want a name and a function", name)
	}
	input, err := schemaOf[In](with.input)
	if err != nil {
		return nil, fmt.Errorf("codons: tool %q: arguments: %w", name, err)
	}
	output, err := schemaOf[Out](with.output)
	if err != nil {
		return nil, fmt.Errorf("codons: tool %q: result: %w", name, err)
	}
	return &Tool{
		action: performatives.Action{Name: name, Description: description, InputSchema: input.text, OutputSchema: output.text},
		input:  input, output: output, guard: with.guard,
		bind: func(arguments performatives.Content) (func(context.Context) (any, error), error) {
			in, err := argumentsAs[In](arguments)
			return func(ctx context.Context) (any, error) { return fn(ctx, in) }, err
		},
	}, nil
}

// ToolOption changes one thing about a tool.
type ToolOption func(*toolOptions)

type toolOptions struct {
	input, output func(*jsonschema.Schema)
	guard         func(*performatives.Message) error
}

// ToolInput has adapt change the schema of the arguments, which was derived from the
// Go type, to say what a type cannot: a range, a pattern, an enumeration.
func ToolInput(adapt func(*jsonschema.Schema)) ToolOption {
	return func(o *toolOptions) { o.input = adapt }
}

// ToolOutput is [ToolInput] of the result. A result that does not fit is a fault of
// the tool: its caller gets FAILURE with [performatives.CodeInternal].
func ToolOutput(adapt func(*jsonschema.Schema)) ToolOption {
	return func(o *toolOptions) { o.output = adapt }
}

// ToolGuard has allow look at each call before its arguments are. An error turns the
// call down: a [*performatives.Refusal], such as one of
// [performatives.CodeUnauthorized], with its code and text, any other as
// [performatives.CodeForbidden]. It must not block, and may run on any goroutine.
func ToolGuard(allow func(call *performatives.Message) error) ToolOption {
	return func(o *toolOptions) { o.guard = allow }
}

// Action is how discovery sees the tool, with its schemas. Do not change them.
func (t *Tool) Action() performatives.Action { return t.action }

// ToolCall is who calls a tool.
type ToolCall struct {
	Message *performatives.Message // the TASK_REQUEST
	Agent   actors.Self            // the agent whose tool it is, for conversations of its own
}

type toolCallKey struct{}

// ToolCallFrom returns the call that a tool's ctx belongs to, and false outside of
// one.
func ToolCallFrom(ctx context.Context) (ToolCall, bool) {
	c, ok := ctx.Value(toolCallKey{}).(ToolCall)
	return c, ok
}

// argumentsField is where the arguments are in a TASK_REQUEST.
const argumentsField = "task_parameters"

// admit checks a call, and returns what is left to do. The error is a
// [*performatives.Refusal].
func (t *Tool) admit(m *performatives.Message, arguments performatives.Content) (func(context.Context) (any, error), error) {
	if err := t.allowed(m); err != nil {
		return nil, err
	}
	if err := t.input.check(argumentsField, arguments); err != nil {
		return nil, err
	}
	return t.bind(arguments)
}

func (t *Tool) allowed(m *performatives.Message) error {
	if t.guard == nil {
		return nil
	}
	err := t.guard(m)
	if err == nil || asRefusal(err) != nil {
		return err
	}
	return &performatives.Refusal{Code: performatives.CodeForbidden}
}

// run does the work of an admitted call.
func (t *Tool) run(ctx context.Context, call ToolCall, work func(context.Context) (any, error)) (performatives.InformResult, error) {
	out, err := work(context.WithValue(ctx, toolCallKey{}, call))
	if err != nil {
		return performatives.InformResult{}, err
	}
	details := performatives.ContentOf(out)
	if err := t.output.check("result_details", details); err != nil {
		call.Agent.Logger().Error("the tool's result does not fit its schema", "tool", t.action.Name, "err", err)
		return performatives.InformResult{}, &performatives.Refusal{Code: performatives.CodeInternal, Text: "the tool returned no valid result"}
	}
	return performatives.InformResult{Status: performatives.StatusSuccess, Details: details}, nil
}

// argumentsAs reads arguments that fit the schema. What still does not fit the Go
// type, such as a number that is too large for it, is told like the rest.
func argumentsAs[In any](c performatives.Content) (In, error) {
	in, err := performatives.Decode[In](c)
	if r := (*performatives.Refusal)(nil); errors.As(err, &r) {
		return in, misfit(argumentsField+strings.TrimPrefix(r.Field, "content"), strings.TrimPrefix(r.Text, r.Field+": "))
	}
	if err != nil {
		return in, misfit(argumentsField, "not a JSON value")
	}
	v, ok := any(in).(validator)
	if !ok {
		v, ok = any(&in).(validator) // the method may be the pointer's
	}
	if ok {
		if err := v.Validate(); err != nil {
			return in, misfit(argumentsField, err.Error())
		}
	}
	return in, nil
}

// validator is a type that knows more of what it may hold than a schema says.
type validator interface{ Validate() error }
