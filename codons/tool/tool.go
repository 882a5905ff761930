package tool

import (
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Tool is a function that other agents may call by a name, with arguments and a result that
// JSON Schemas describe. It never changes, so agents and goroutines may share it.
type Tool struct {
	action        performatives.Action
	input, output *schema
	guard         func(*performatives.Message) error
	// bind reads the arguments into the Go type and returns the call of the function.
	bind func(arguments performatives.Content) (func(context.Context) (any, error), error)
}

// New makes a tool of a Go function. The schemas are derived from In and Out, which are structs
// or maps. The struct tag jsonschema:"…" describes a member, and omitempty makes it optional. If
// In has a method Validate() error, it checks the arguments after the schema has.
//
// fn runs on a goroutine of its call, beside other calls, and should return soon after the end
// of ctx. A [*performatives.Refusal] of fn is sent to the caller with its code and text, as
// TASK_REJECT, NOT_UNDERSTOOD or FAILURE according to the code; any other error, and a panic, as
// FAILURE without its text. [CallerFrom] returns the call from ctx.
//
// The error names the tool and the fault of its name, its function or its types.
func New[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error), opts ...Option) (*Tool, error) {
	var with options
	for _, opt := range opts {
		opt(&with)
	}
	if performatives.FoldCapability(name) == "" || fn == nil {
		return nil, fmt.Errorf("tool: %q: want a name and a function", name)
	}
	input, err := schemaOf[In](with.input)
	if err != nil {
		return nil, fmt.Errorf("tool: %q: arguments: %w", name, err)
	}
	output, err := schemaOf[Out](with.output)
	if err != nil {
		return nil, fmt.Errorf("tool: %q: result: %w", name, err)
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

// Option changes one thing about a tool.
type Option func(*options)

type options struct {
	input, output func(*jsonschema.Schema)
	guard         func(*performatives.Message) error
}

// Input has adapt change the schema of the arguments that was derived from the Go type, for
// rules that a Go type cannot express: a range, a pattern, an enumeration.
func Input(adapt func(*jsonschema.Schema)) Option {
	return func(o *options) { o.input = adapt }
}

// Output has adapt change the schema of the result, as [Input] does for the arguments. A result
// that does not fit is a fault of the tool: the caller gets FAILURE with
// [performatives.CodeInternal].
func Output(adapt func(*jsonschema.Schema)) Option {
	return func(o *options) { o.output = adapt }
}

// Guard has allow decide about each call before the arguments are checked. An error turns the
// call down: a [*performatives.Refusal], such as one of [performatives.CodeUnauthorized], with
// its code and text, any other error as [performatives.CodeForbidden]. allow must not block, and
// may run on any goroutine.
func Guard(allow func(call *performatives.Message) error) Option {
	return func(o *options) { o.guard = allow }
}

// Action returns the tool's description for discovery, with its schemas. The caller must not
// change the schemas.
func (t *Tool) Action() performatives.Action { return t.action }

// Caller is one call of a tool, as the tool's function sees it.
type Caller struct {
	Message *performatives.Message // the TASK_REQUEST, with its sender and its ReplyBy
	Agent   actors.Self            // the agent that has the tool; the party of conversations that the tool begins
}

// callerKey is the key of the [Caller] in the ctx of a tool.
type callerKey struct{}

// CallerFrom returns the call from the ctx of a tool's function, and false for any other ctx.
func CallerFrom(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

// argumentsField is where the arguments are in a TASK_REQUEST.
const argumentsField = "task_parameters"

// admit checks a call and returns the function that runs it. The error is a
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

// allowed returns the guard's error as a [*performatives.Refusal].
func (t *Tool) allowed(m *performatives.Message) error {
	if t.guard == nil {
		return nil
	}
	err := t.guard(m)
	if err == nil || performatives.RefusalOf(err) != nil {
		return err
	}
	return &performatives.Refusal{Code: performatives.CodeForbidden}
}

// run runs an admitted call and checks its result.
func (t *Tool) run(ctx context.Context, call Caller, work func(context.Context) (any, error)) (performatives.InformResult, error) {
	out, err := work(context.WithValue(ctx, callerKey{}, call))
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

// argumentsAs reads arguments that fit the schema into the Go type. Arguments that still do not fit
// the type, such as a number too large for it, are refused in the same form as a misfit to the
// schema.
func argumentsAs[In any](c performatives.Content) (In, error) {
	in, err := performatives.Decode[In](c)
	if err != nil {
		return in, misread(argumentsField, err)
	}
	v, ok := any(in).(validator)
	if !ok {
		v, ok = any(&in).(validator) // the method may have a pointer receiver
	}
	if ok {
		if err := v.Validate(); err != nil {
			return in, misfit(argumentsField, err.Error())
		}
	}
	return in, nil
}

// validator is an argument type with rules of its own besides the schema.
type validator interface{ Validate() error }
