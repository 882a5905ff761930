package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/performatives"
)

// oracle knows the values of references, and that a condition is true if its member "is" is.
type oracle struct{ why chan error }

func (oracle) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Knowledge"}}
}

func (o oracle) HandleQueryRef(ctx context.Context, q query.AskedRef) (any, error) {
	switch q.Reference {
	case "future":
		return nil, &performatives.Refusal{Code: performatives.CodeUnknownReference, Text: "nobody knows"}
	case "eternity":
		if err := q.Agree(); err != nil {
			return nil, err
		}
		<-ctx.Done()
		o.why <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	case "nothing":
		return nil, nil
	}
	return map[string]any{"of": q.Reference}, nil
}

func (oracle) HandleQueryIf(_ context.Context, q query.AskedIf) (bool, error) {
	c, err := performatives.Decode[struct {
		Is bool `json:"is"`
	}](q.Condition)
	return c.Is, err
}

// Values and conditions, over each transport.
func TestQuery(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "condition", `{"is":true}`)
	n := hosts(t, "--no-auth")
	for scheme, url := range n.at {
		agent := "Oracle-" + scheme
		joins(t, url, performatives.AgentID(agent), oracle{})
		for name, tt := range map[string]struct {
			args []string
			want string
		}{
			"value":         {[]string{"<time>"}, "{\n  \"of\": \"<time>\"\n}\n"},
			"null":          {[]string{"nothing"}, "null\n"},
			"JSON":          {[]string{"<time>", "--json"}, `{"outcome":"answered","value":{"of":"<time>"},"error":null}` + "\n"},
			"true":          {[]string{"--if", "@condition"}, "true\n"},
			"false":         {[]string{"--if", `{"is":false}`}, "false\n"},
			"false in JSON": {[]string{"--if", `{"is":false}`, "--json"}, `{"outcome":"answered","value":false,"error":null}` + "\n"},
		} {
			r := runs(t, append([]string{"query", agent, "--addr", url}, tt.args...)...)
			if r.code != exitDone || r.stdout != tt.want || r.stderr != "" {
				t.Errorf("%s, %s: got %+v, want %s", scheme, name, r, tt.want)
			}
		}
		refused := runs(t, "query", agent, "future", "--json", "--addr", url)
		var got queried
		if err := json.Unmarshal([]byte(refused.stdout), &got); err != nil || refused.code != exitFailed || got.Outcome != "refused" || got.Error == nil ||
			got.Error.Code != performatives.CodeUnknownReference || refused.stderr != "ribosome: "+got.Error.Text+"\n" || !strings.HasPrefix(got.Error.Text, agent+" cannot do it: nobody knows (unknown_reference)") {
			t.Errorf("%s: %v: got %+v", scheme, err, refused)
		}
		if r := runs(t, "query", agent, "--if", "3", "--addr", url); r.code != exitFailed || !strings.HasPrefix(r.stderr, "ribosome: "+agent+" did not understand it: ") {
			t.Errorf("%s: got %+v", scheme, r)
		}
	}
	if r := runs(t, "query", "system", "agents", "--addr", n.at["tcp"]); r.code != exitDone || !strings.Contains(r.stdout, `"id": "Oracle-ws",`) {
		t.Errorf("got %+v", r)
	}
}

// An interrupt withdraws the question.
func TestQueryInterrupted(t *testing.T) {
	n := hosts(t, "--no-auth", "--log-messages")
	o := oracle{make(chan error, 1)}
	joins(t, n.at["ws"], "Oracle", o)
	q := begins(t, "query", "Oracle", "eternity", "--addr", n.at["tcp"])
	n.shows(&n.stderr, "AGREE")
	if got := q.end(); got.code != exitFailed || got.stderr != "ribosome: interrupted; Oracle has stopped\n" {
		t.Errorf("got %+v", got)
	}
	if why := <-o.why; !errors.Is(why, codons.ErrCanceled) {
		t.Errorf("the handler ended by %v", why)
	}
}
