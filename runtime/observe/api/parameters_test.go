package api_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// openParameter is a parameter of a request.
type openParameter struct {
	Ref         string          `json:"$ref"`
	Name        string          `json:"name"`
	In          string          `json:"in"`
	Required    bool            `json:"required"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// schema returns the members of the schema of a parameter that the tests look at.
func (p openParameter) schema() (s struct {
	Type    string   `json:"type"`
	Enum    []string `json:"enum"`
	Minimum *int     `json:"minimum"`
	Maximum *int     `json:"maximum"`
},
) {
	_ = json.Unmarshal(p.Schema, &s) // all are the file's own
	return s
}

const componentParameters = "#/components/parameters/"

// parameters returns the parameters of an operation that are in one part of the request.
func (o *openAPI) parameters(of openOperation, in string) map[string]openParameter {
	all := make(map[string]openParameter)
	for _, p := range of.Parameters {
		if name, found := strings.CutPrefix(p.Ref, componentParameters); found {
			p = o.Components.Parameters[name]
		}
		if p.In == in {
			all[p.Name] = p
		}
	}
	return all
}

// inPath are the parameters of a path.
var inPath = regexp.MustCompile(`{(\w+)}`)

// checkRequest checks the parameters and the body of a request that a route has served. A request
// without a route has none.
func (o *openAPI) checkRequest(r *http.Request, body []byte) error {
	method, path, found := strings.Cut(r.Pattern, " ")
	if !found {
		return nil
	}
	of := o.Paths[path][strings.ToLower(method)]
	described := o.parameters(of, "query")
	for name, values := range r.URL.Query() {
		p, known := described[name]
		if !known {
			return fmt.Errorf("the parameter %q is not described", name)
		}
		if len(values) != 1 {
			return fmt.Errorf("the parameter %q has the values %q", name, values)
		}
		if err := o.checkParameter(p, values[0]); err != nil {
			return err
		}
	}
	for _, p := range o.parameters(of, "path") {
		if err := o.checkParameter(p, r.PathValue(p.Name)); err != nil {
			return err
		}
	}
	if r.Method == http.MethodGet {
		if len(body) > 0 {
			return fmt.Errorf("a body that is not described: %s", body)
		}
		return nil
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	content, known := of.Body.Content[kind]
	switch {
	case !known:
		return fmt.Errorf("a body of %q is not described", kind)
	case of.Body.Required && len(body) == 0:
		return fmt.Errorf("there is no body")
	case len(body) == 0 || string(content.Schema) == "{}":
		return nil
	}
	return o.check(content.Schema, body)
}

func (o *openAPI) checkParameter(p openParameter, text string) error {
	value := text
	if kind := p.schema().Type; kind == "string" {
		value = string(quote(text))
	}
	if err := o.check(p.Schema, []byte(value)); err != nil {
		return fmt.Errorf("the parameter %q is %q: %w", p.Name, text, err)
	}
	return nil
}

func quote(text string) []byte {
	quoted, _ := json.Marshal(text) // a string can be encoded
	return quoted
}

// Each parameter says what it is; those of a path are the ones that are in it; and each that
// several routes share is used.
func TestParametersAreDescribed(t *testing.T) {
	o := description(t)
	used := make(map[string]bool)
	for path, methods := range o.Paths {
		for method, of := range methods {
			var want []string
			for _, m := range inPath.FindAllStringSubmatch(path, -1) {
				want = append(want, m[1])
			}
			described := o.parameters(of, "path")
			for _, name := range want {
				if p := described[name]; !p.Required {
					t.Errorf("%s %s: %s is not described as required", method, path, name)
				}
			}
			query := o.parameters(of, "query")
			if len(described) != len(want) || len(described)+len(query) != len(of.Parameters) {
				t.Errorf("%s %s: %d parameters, of which %d are in the path and %d in the query", method, path, len(of.Parameters), len(described), len(query))
			}
			for _, p := range of.Parameters {
				used[strings.TrimPrefix(p.Ref, componentParameters)] = true
			}
			for _, all := range []map[string]openParameter{described, query} {
				for name, p := range all {
					if p.Description == "" || p.schema().Type == "" {
						t.Errorf("%s %s: %s has no description or no type", method, path, name)
					}
				}
			}
		}
	}
	for name := range o.Components.Parameters {
		if !used[name] {
			t.Errorf("nothing refers to the parameter %s", name)
		}
	}
}

// The parameter node is described for exactly the routes that heed it.
func TestNodeParameter(t *testing.T) {
	o := description(t)
	_, h, _ := serve(t, func(o *api.Options) { o.Metrics, o.Console = http.NotFoundHandler(), http.NotFoundHandler() })
	for path, methods := range o.Paths {
		for method, of := range methods {
			method = strings.ToUpper(method)
			got := ask(h.Handler, method, inPath.ReplaceAllString(path, "x")+"?node=nowhere", "{}", "Content-Type", jsonType)
			heeded := got.Code == http.StatusNotFound && strings.Contains(got.Body.String(), `"unknown_node"`)
			if _, described := o.parameters(of, "query")["node"]; described != heeded {
				t.Errorf("%s %s: node is described: %v, and heeded: %v (%d %s)", method, path, described, heeded, got.Code, got.Body)
			}
		}
	}
}

// Each other parameter of a list has an effect: a value that the schema forbids is refused by the
// name of the parameter, and any other text selects nothing.
func TestParametersHaveEffect(t *testing.T) {
	o := description(t)
	n, h, w := serve(t, nil)
	_, _ = n.Delegate(patience.Context(t), "nobody", performatives.TaskRequest{TaskType: "dig"}) // refused
	go func() { _, _ = n.Delegate(patience.Context(t), "w", performatives.TaskRequest{TaskType: "dig"}) }()
	<-w.begun
	for path, member := range map[string]string{"/api/conversations": "conversations", "/api/refusals": "refusals"} {
		listed := func(query string) int {
			t.Helper()
			all, _ := read[map[string]any](t, h, path+query)[member].([]any)
			return len(all)
		}
		if listed("") == 0 {
			t.Fatalf("%s lists nothing", path)
		}
		of := o.parameters(o.Paths[path]["get"], "query")
		delete(of, "node")
		for name, p := range of {
			var wrong []string
			switch s := p.schema(); {
			case s.Type == "integer":
				wrong = []string{"x", "1.5", fmt.Sprint(*s.Minimum - 1), fmt.Sprint(*s.Maximum + 1)}
			case s.Type == "boolean", s.Enum != nil:
				wrong = []string{"x", "TRUE", "1"}
			case name == "cursor":
				wrong = []string{"?", "==", "bad"}
				for _, key := range []string{"2026-99-99T00:00:00.00000000000000000000000000001node", "2026-01-02T15:04:05.000000000"} {
					wrong = append(wrong, base64.RawURLEncoding.EncodeToString([]byte(key)))
				}
			case name == "since":
				wrong = []string{"?", "==", "bad", base64.RawURLEncoding.EncodeToString([]byte("[]"))}
			case s.Type != "string" || listed("?"+name+"=no%20such") != 0:
				t.Errorf("%s: %s has no effect", path, name)
			}
			for _, value := range wrong {
				got := ask(h, "GET", path+"?"+name+"="+url.QueryEscape(value), "")
				if got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), `"code":"`+name+`"`) {
					t.Errorf("%s: %s=%s: %d %s", path, name, value, got.Code, got.Body)
				}
			}
		}
	}
}

// Each parameter of the stream selects its events: the first one that comes is the one that it
// names.
func TestEventParametersHaveEffect(t *testing.T) {
	o := description(t)
	n, h, _ := serve(t, nil)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	t.Cleanup(h.Close) // before the server, which waits for the streams
	message := func(id, sender, receiver, protocol string, act performatives.Performative) events.MessageSent {
		m, err := performatives.New(performatives.Envelope{
			ID: performatives.NewID(), ConversationID: performatives.ConversationID(id), Timestamp: time.Now(), Performative: act, Protocol: protocol,
			Sender: performatives.AgentID(sender), Receiver: performatives.AgentID(receiver), Payload: performatives.Raw("{}"),
		})
		if err != nil {
			t.Fatal(err)
		}
		return events.MessageSent{At: events.At{Time: time.Now()}, Message: m}
	}
	values := map[string]string{"agent": "RIGHT", "act": "INFORM", "codon": "right-codon", "conversation": "right-conversation"}
	of := o.parameters(o.Paths["/api/events"]["get"], "query")
	delete(of, "node")
	for name := range of {
		lines := streamOf(t, server, name+"="+values[name])
		n.Events().Publish(lifecycle.Ended{
			At: events.At{Time: time.Now()}, State: standard.StateCompleted,
			Subject: &lifecycle.Subject{Conversation: "wrong-conversation", Protocol: "wrong-codon", Agent: "wrong", Peer: "wrong too"},
		})
		n.Events().Publish(message("wrong-conversation", "wrong", "wrong too", "wrong-codon", performatives.ActRequest))
		n.Events().Publish(message("right-conversation", "x", "right", "right-codon", performatives.ActInform))
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
		}
		if text := lines.Text(); values[name] == "" || !strings.Contains(text, `"conversation_id":"right-conversation"`) {
			t.Errorf("%s=%s: the first event is %q", name, values[name], text)
		}
	}
}

// The check of requests finds what is not described.
func TestRequestsAreChecked(t *testing.T) {
	o := description(t)
	for _, test := range []struct {
		pattern, url, kind, body string
		want                     string // a part of the error; empty for none
	}{
		{"GET /api/conversations", "/?agent=w&limit=5&live=true&node=n", "", "", ""},
		{"GET /api/conversations", "/?agnet=w", "", "", "not described"},
		{"GET /api/conversations", "/?limit=0", "", "", "limit"},
		{"GET /api/conversations", "/?limit=x", "", "", "invalid"},
		{"GET /api/conversations", "/?live=5", "", "", "live"},
		{"GET /api/conversations", "/?agent=a&agent=b", "", "", "values"},
		{"GET /api/conversations", "/", "", "{}", "body"},
		{"GET /api/refusals", "/?kind=lost", "", "", "kind"},
		{"GET /healthz", "/?node=n", "", "", "not described"},
		{"GET /api/node", "/?node=", "", "", "node"},
		{"POST /api/approvals/{id}", "/", jsonType, `{"approve":true}`, ""},
		{"POST /api/approvals/{id}", "/", jsonType, `{"approve":1}`, "boolean"},
		{"POST /api/approvals/{id}", "/", jsonType, `{"approve":true,"who":"me"}`, "who"},
		{"POST /api/approvals/{id}", "/", jsonType, ``, "no body"},
		{"POST /api/approvals/{id}", "/", "text/plain", `{"approve":true}`, "not described"},
		{"POST /api/conversations/{id}/cancel", "/", jsonType, `{"reason":"r"}`, ""},
		{"POST /api/conversations/{id}/cancel", "/", jsonType, `[]`, "object"},
		{"", "/?x=y", "", "", ""},
	} {
		method, _, _ := strings.Cut(test.pattern, " ")
		r := httptest.NewRequest(method, test.url, http.NoBody)
		r.Pattern = test.pattern
		r.Header.Set("Content-Type", test.kind)
		r.SetPathValue("id", "5")
		err := o.checkRequest(r, []byte(test.body))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s %s: %v, want %q", test.pattern, test.url, test.body, err, test.want)
		}
	}
	if all := o.parameters(o.Paths["/api/approvals/{id}"]["post"], "path"); o.checkParameter(all["id"], "x") == nil || o.checkParameter(all["id"], "7") != nil {
		t.Error("a parameter of a path is not checked")
	}
	if !slices.ContainsFunc(o.Paths["/api/node"]["get"].Parameters, func(p openParameter) bool { return p.Ref != "" }) {
		t.Error("no parameter is a reference")
	}
}
