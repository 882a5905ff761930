package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	requests "github.com/ribosome-agents/ribosome/codons/request"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// exacting announces one action with a schema, and takes on every task.
type exacting struct {
	schema     string
	considered *int
}

func (s exacting) Describe() p.Capabilities {
	return p.Capabilities{Actions: []p.Action{{Name: "debug_code", InputSchema: []byte(s.schema)}}}
}

func (s exacting) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	*s.considered++
	return delegation.Accept()
}

func (exacting) PerformTask(context.Context, delegation.Task) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess}, nil
}

// TestArgumentsFitTheSchema has a worker whose action has an input schema: a task that does not
// fit never reaches it, and the error names the member.
func TestArgumentsFitTheSchema(t *testing.T) {
	const python = `{"type":"object","properties":{"language":{"const":"python"},"in":{"type":"array","items":{"type":"string"}}},"required":["language"]}`
	for name, c := range map[string]struct {
		schema, task, arguments string
		code                    p.Code // none for a task that is performed
		want                    string
	}{
		"fits":             {python, "debug_code", `{"language":"python","more":1}`, "", ""},
		"const":            {python, "debug_code", `{"language":"cobol"}`, p.CodeInvalidPayload, "task_parameters.language: "},
		"other spelling":   {python, "Debug-Code", `{"language":"cobol"}`, p.CodeInvalidPayload, "task_parameters.language: "},
		"an item":          {python, "debug_code", `{"language":"python","in":["a",2]}`, p.CodeInvalidPayload, "task_parameters.in[1]: "},
		"twice":            {python, "debug_code", `{"language":"cobol","language":"python"}`, p.CodeInvalidPayload, "task_parameters.language: the member occurs twice"},
		"missing":          {python, "debug_code", "", p.CodeInvalidPayload, "language"},
		"not announced":    {python, "paint", `{"language":"cobol"}`, "", ""},
		"no schema":        {"", "debug_code", `{"language":"cobol"}`, "", ""},
		"within":           {`{"$defs":{"n":{"type":"number"}},"properties":{"x":{"$ref":"#/$defs/n"}}}`, "debug_code", `{"x":"y"}`, p.CodeInvalidPayload, "task_parameters"},
		"remote reference": {`{"$ref":"http://localhost/x.json"}`, "debug_code", `{}`, p.CodeInternal, "input schema"},
		"not a schema":     {`{"type":7}`, "debug_code", `{}`, p.CodeInternal, "input schema"},
		"too long":         {`{"description":"` + strings.Repeat("x", 64<<10) + `"}`, "debug_code", `{}`, p.CodeInternal, "input schema"},
	} {
		t.Run(name, func(t *testing.T) {
			node, err := runtime.New(runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = node.Stop(context.WithoutCancel(t.Context())) }()
			considered := 0
			if err := node.Spawn(t.Context(), "Exacting", func() actors.Agent { return exacting{c.schema, &considered} }); err != nil {
				t.Fatal(err)
			}
			task := p.TaskRequest{TaskType: c.task}
			if c.arguments != "" {
				task.Parameters = p.RawContent([]byte(c.arguments))
			}
			_, err = node.Delegate(t.Context(), "Exacting", task)
			if c.code == "" {
				if err != nil || considered != 1 {
					t.Errorf("got %v, considered %d times", err, considered)
				}
				return
			}
			if got := (*codons.EndError)(nil); !errors.As(err, &got) || got.Refusal.Code != c.code || !strings.Contains(err.Error(), c.want) || considered != 0 {
				t.Errorf("got %v, considered %d times; want %s: …%s…", err, considered, c.code, c.want)
			}
		})
	}
}

// pathReader reads the argument path, from a task and from a request.
type pathReader struct{ read *string }

type pathArgument struct {
	Path string `json:"path"`
}

const publicOnly = `{"type":"object","properties":{"path":{"enum":["public"]}}}`

func (pathReader) Describe() p.Capabilities {
	return p.Capabilities{Actions: []p.Action{{Name: "remove", InputSchema: []byte(publicOnly)}}}
}

func (pathReader) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (r pathReader) PerformTask(_ context.Context, t delegation.Task) (p.InformResult, error) {
	v, err := p.Decode[pathArgument](t.Parameters)
	*r.read = v.Path
	return p.InformResult{Status: p.StatusSuccess}, err
}

func (r pathReader) HandleRequest(_ context.Context, q requests.Requested) (any, error) {
	v, err := p.PayloadAs[pathArgument](q.Message)
	*r.read = v.Path
	return map[string]any{}, err
}

// TestCodeReadsWhatTheSchemaAllows has a schema that allows one path only. The code never reads
// another one, however its name is written.
func TestCodeReadsWhatTheSchemaAllows(t *testing.T) {
	node := newNode(t, runtime.Options{})
	var read string
	spawn(t, node, "Reader", func() actors.Agent { return pathReader{&read} })
	for _, c := range []struct{ arguments, want string }{
		{`{"path":"public"}`, ""},
		{`{"p\u0061th":"public","other":1,"other":2}`, "occurs twice"},
		{`{"path":"secret"}`, "task_parameters.path"},
		{`{"Path":"secret"}`, `Path: the name of this member is written "path"`},
		{`{"path":"public","Path":"secret"}`, `Path: the name of this member is written "path"`},
		{`{"PATH":"secret","path":"public"}`, `PATH: the name of this member is written "path"`},
		{`{"path":"secret","path":"public"}`, "path: the member occurs twice"},
		{`{"path":"public","p\u0061th":"secret"}`, "path: the member occurs twice"},
	} {
		read = ""
		_, err := node.Delegate(t.Context(), "Reader", p.TaskRequest{TaskType: "remove", Parameters: p.RawContent([]byte(c.arguments))})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || read != "public" && read != "" {
			t.Errorf("task %s: the code read %q: %v", c.arguments, read, err)
		}
		if c.want == "task_parameters.path" || c.want == "occurs twice" {
			continue // a request has no schema, and a payload may have members that nobody reads
		}
		read = ""
		_, err = node.Ask(t.Context(), "Reader", p.Raw(c.arguments), runtime.WithAct(p.ActRequest))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || read != "public" && read != "" {
			t.Errorf("request %s: the code read %q: %v", c.arguments, read, err)
		}
	}
}
