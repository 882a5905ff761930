package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// openAPI is what the check of answers needs of openapi.json.
type openAPI struct {
	Paths      map[string]map[string]openOperation `json:"paths"`
	Components struct {
		Schemas    map[string]json.RawMessage `json:"schemas"`
		Responses  map[string]openResponse    `json:"responses"`
		Parameters map[string]openParameter   `json:"parameters"`
	} `json:"components"`

	resolved sync.Map // *jsonschema.Resolved, by the text of the schema
}

type openOperation struct {
	Parameters []openParameter         `json:"parameters"`
	Body       openResponse            `json:"requestBody"`
	Responses  map[string]openResponse `json:"responses"`
}

type openResponse struct {
	Required bool `json:"required"` // of a body of a request

	Ref     string `json:"$ref"`
	Content map[string]struct {
		Schema json.RawMessage            `json:"schema"`
		Events map[string]json.RawMessage `json:"x-events"`
	} `json:"content"`
}

const componentResponses, componentSchemas = "#/components/responses/", "#/components/schemas/"

var described = sync.OnceValues(func() (*openAPI, error) {
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		return nil, err
	}
	o := new(openAPI)
	return o, json.Unmarshal(text, o)
})

func description(t *testing.T) *openAPI {
	t.Helper()
	o, err := described()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// check checks a JSON text against a schema, whose objects may have no members that it does not
// name.
func (o *openAPI) check(schema json.RawMessage, text []byte) error {
	known, ok := o.resolved.Load(string(schema))
	if !ok {
		whole, err := json.Marshal(map[string]any{"$defs": o.Components.Schemas, "allOf": []json.RawMessage{schema}})
		if err != nil {
			return err
		}
		tree := new(jsonschema.Schema)
		if err := json.Unmarshal(bytes.ReplaceAll(whole, []byte(componentSchemas), []byte("#/$defs/")), tree); err != nil {
			return err
		}
		closed(tree)
		if known, err = tree.Resolve(nil); err != nil {
			return err
		}
		o.resolved.Store(string(schema), known)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	return known.(*jsonschema.Resolved).Validate(value)
}

// closed forbids further members in each object of a schema that says nothing about them.
func closed(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Properties) > 0 && s.AdditionalProperties == nil {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	for _, all := range []map[string]*jsonschema.Schema{s.Defs, s.Properties} {
		for _, one := range all {
			closed(one)
		}
	}
	closed(s.Items)
	for _, one := range s.AllOf {
		closed(one)
	}
}

// response returns what is described of a response: of a route, or of a request that has none.
func (o *openAPI) response(pattern string, code int) (openResponse, error) {
	r := openResponse{Ref: componentResponses + "Failure"}
	if method, path, found := strings.Cut(pattern, " "); found {
		all := o.Paths[path][strings.ToLower(method)].Responses
		known := false
		if r, known = all[strconv.Itoa(code)]; !known {
			if r, known = all["default"]; !known || code < 400 {
				return r, fmt.Errorf("%s: there is no response %d", pattern, code)
			}
		}
	}
	if name, found := strings.CutPrefix(r.Ref, componentResponses); found {
		r = o.Components.Responses[name]
	}
	return r, nil
}

// checkAnswer checks the answer to a request.
func (o *openAPI) checkAnswer(pattern string, code int, contentType string, body []byte) error {
	r, err := o.response(pattern, code)
	if err != nil {
		return err
	}
	kind, _, _ := mime.ParseMediaType(contentType)
	of, known := r.Content[kind]
	switch {
	case !known:
		return fmt.Errorf("%s: %d is not described as %q", pattern, code, contentType)
	case of.Events != nil:
		return o.checkEvents(of.Events, string(body))
	case len(of.Schema) == 0:
		return nil
	}
	if err := o.check(of.Schema, body); err != nil {
		return fmt.Errorf("%s: %d: %w in %s", pattern, code, err, body)
	}
	return nil
}

// checkEvents checks the complete events of a stream.
func (o *openAPI) checkEvents(described map[string]json.RawMessage, text string) error {
	frames := strings.Split(text, "\n\n")
	for _, frame := range frames[:len(frames)-1] {
		var name, data string
		for line := range strings.SplitSeq(frame, "\n") {
			if field, value, _ := strings.Cut(line, ": "); field == "event" {
				name = value
			} else if field == "data" {
				data += value
			}
		}
		if strings.HasPrefix(frame, ":") {
			continue
		}
		if described[name] == nil {
			return fmt.Errorf("the event %q is not described", name)
		}
		if err := o.check(described[name], []byte(data)); err != nil {
			return fmt.Errorf("%s: %w in %s", name, err, data)
		}
	}
	return nil
}

// checked is a handler whose answers, and the requests that it serves, are checked against
// openapi.json when they are complete.
func checked(t *testing.T, h http.Handler) http.Handler {
	o := description(t)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &copied{ResponseWriter: w, code: http.StatusOK}
		body := new(bytes.Buffer)
		r.Body = io.NopCloser(io.TeeReader(r.Body, body))
		h.ServeHTTP(c, r)
		if err := o.checkRequest(r, body.Bytes()); err != nil && c.code < http.StatusBadRequest {
			t.Errorf("%s %s is answered %d, and is not as openapi.json says: %v", r.Method, r.URL, c.code, err)
		}
		text := c.body.Bytes()
		switch {
		case c.code == http.StatusNotModified && len(text) == 0: // of any route that is read
			return
		case w.Header().Get("Content-Encoding") == "gzip":
			z, err := gzip.NewReader(&c.body)
			if err == nil {
				text, err = io.ReadAll(z)
			}
			if err != nil {
				t.Errorf("%s %s: %v", r.Method, r.URL, err)
			}
		}
		if err := o.checkAnswer(r.Pattern, c.code, w.Header().Get("Content-Type"), text); err != nil {
			t.Errorf("%s %s is not as openapi.json says: %v", r.Method, r.URL, err)
		}
	})
}

// copied is an answer that is sent and kept.
type copied struct {
	http.ResponseWriter
	code int
	body bytes.Buffer
}

func (c *copied) WriteHeader(code int) {
	c.code = code
	c.ResponseWriter.WriteHeader(code)
}

func (c *copied) Write(b []byte) (int, error) {
	c.body.Write(b)
	return c.ResponseWriter.Write(b)
}

func (c *copied) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Every route is described, and every description is of a route; each schema is used.
func TestEveryRouteIsDescribed(t *testing.T) {
	o := description(t)
	var want []string
	for path, methods := range o.Paths {
		for method := range methods {
			want = append(want, strings.ToUpper(method)+" "+path)
		}
	}
	_, h, _ := serve(t, func(o *api.Options) { o.Metrics, o.Console = http.NotFoundHandler(), http.NotFoundHandler() })
	if d := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(h.Patterns()))); d != "" {
		t.Errorf("described (-) and served (+):\n%s", d)
	}
	if got := ask(h, "GET", "/api/openapi.json", ""); !strings.Contains(got.Body.String(), "/api/openapi.json") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Components.Schemas)) {
		if !bytes.Contains(text, []byte(`"`+componentSchemas+name+`"`)) {
			t.Errorf("nothing refers to the schema %s", name)
		}
	}
}

// The check of answers finds what is not described.
func TestAnswersAreChecked(t *testing.T) {
	o := description(t)
	const plain = "application/json"
	for _, test := range []struct {
		pattern string
		code    int
		kind    string
		body    string
		want    string // a part of the error; empty for none
	}{
		{"GET /healthz", 200, plain, `{"status":"ok"}`, ""},
		{"GET /healthz", 200, plain, `{"status":"well"}`, "status"},
		{"GET /healthz", 200, plain, `{"status":"ok","more":1}`, "more"},
		{"GET /healthz", 200, plain, `{}`, "required"},
		{"GET /healthz", 200, "text/html", `{"status":"ok"}`, "not described"},
		{"GET /healthz", 201, plain, `{"status":"ok"}`, "no response 201"},
		{"GET /healthz", 403, plain, `{"error":{"code":"host","text":"x"}}`, ""},
		{"GET /healthz", 403, plain, `{"error":{"code":"host"}}`, "required"},
		{"GET /readyz", 503, plain, `{"status":"draining"}`, ""},
		{"", 404, plain, `{"error":{"code":"host","text":"x"}}`, ""},
		{"", 404, plain, `{}`, "required"},
		{"GET /api/none", 200, plain, `{}`, "no response"},
		{"GET /api/agents", 200, plain, `{"agents":[{"agent":"a","node":"n","conversations":1,"oldest_wait_s":0,"x":1}]}`, `"x"`},
		{"GET /api/agents", 200, plain, `{"agents":[{"agent":"a","node":"n","conversations":"1","oldest_wait_s":0}]}`, "integer"},
		{"GET /api/events", 200, "text/event-stream", ": hi\n\nevent: lost\ndata: {\"lost\":1,\"node\":\"n\"}\n\n", ""},
		{"GET /api/events", 200, "text/event-stream", "event: lost\nid: 4\ndata: {\"lost\":1}\n\nevent", "required"},
		{"GET /api/events", 200, "text/event-stream", "event: won\ndata: {}\n\n", "not described"},
	} {
		err := o.checkAnswer(test.pattern, test.code, test.kind, []byte(test.body))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %d %s: %v, want %q", test.pattern, test.code, test.body, err, test.want)
		}
	}
}
