package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// archive has resources, and nothing else.
type archive struct{}

func (archive) Describe() performatives.Capabilities {
	return performatives.Capabilities{Resources: []performatives.Resource{
		{URI: "doc:notes", Name: "notes", MIMEType: "text/markdown", Extra: performatives.Members{"size": []byte("7")}},
		{URI: "doc:logo"},
	}}
}

func (archive) HandleQueryRef(_ context.Context, q query.AskedRef) (any, error) {
	switch q.Reference {
	case "doc:notes":
		return performatives.ResourceContent{MIMEType: "text/markdown", Text: "# Notes"}, nil
	case "doc:logo":
		return performatives.ResourceContent{MIMEType: "image/png", Blob: []byte{0, 0xff, 7}}, nil
	case "doc:plain":
		return "é\n", nil
	case "doc:data":
		return map[string]int{"n": 1}, nil
	case "doc:long":
		return strings.Repeat("x", 2<<20), nil
	}
	return nil, &performatives.Refusal{Code: performatives.CodeUnknownReference, Text: "there is no " + q.Reference}
}

// A client of MCP lists the resources of agents in Go and of programs, and reads them.
func TestGatewayResources(t *testing.T) {
	h := newGatewayHub(t, func(o *wire.Options) { o.Limits.Frame = 1 << 20 })
	h.spawn("Archive", func() actors.Agent { return archive{} })
	files := h.program("Files")
	files.ask("0", "", "initialize", `{"protocolVersion":"1.1","capabilities":{"resources":[{"uri":"file:///a","name":"a","mimeType":"text/plain","own":1}]}}`)
	files.result("0")
	p := h.program("cli")
	p.ask("1", "", "initialize", `{"protocolVersion":"2025-06-18"}`)
	if got := p.result("1"); !strings.Contains(got, `"resources":{}`) {
		t.Errorf("the capabilities are %s", got)
	}
	const (
		notes = `{"uri":"doc:notes","name":"notes","mimeType":"text/markdown","size":7,"_meta":{"agent":"Archive"}}`
		logo  = `{"uri":"doc:logo","name":"doc:logo","_meta":{"agent":"Archive"}}`
		file  = `{"uri":"file:///a","name":"a","mimeType":"text/plain","own":1,"_meta":{"agent":"Files"}}`
	)
	for of, want := range map[string]string{"": notes + "," + logo + "," + file, "nobody": notes + "," + logo + "," + file, "Archive": notes + "," + logo, "files": file} {
		p.ask("2", of, "resources/list", "{}")
		if got := p.result("2"); got != `{"resources":[`+want+`]}` {
			t.Errorf("of %q: %s", of, got)
		}
	}
	for i, tt := range []struct{ namespace, uri, want string }{
		{"", "doc:notes", `{"contents":[{"mimeType":"text/markdown","text":"# Notes","uri":"doc:notes"}]}`},
		{"Archive", "doc:logo", `{"contents":[{"blob":"AP8H","mimeType":"image/png","uri":"doc:logo"}]}`},
		{"Archive", "doc:plain", `{"contents":[{"text":"é\n","uri":"doc:plain"}]}`},
		{"Archive", "doc:data", `{"contents":[{"mimeType":"application/json","text":"{\"n\":1}","uri":"doc:data"}]}`},
	} {
		p.ask(fmt.Sprint(10+i), tt.namespace, "resources/read", fmt.Sprintf(`{"uri":%q}`, tt.uri))
		if got := p.result(fmt.Sprint(10 + i)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.uri, got, tt.want)
		}
	}
	for i, tt := range []struct {
		namespace, params string
		code              int
		text              string
	}{
		{"", `{"uri":"doc:none"}`, -32002, `unknown reference "doc:none"`},
		{"Archive", `{"uri":"doc:none"}`, -32002, "there is no doc:none"},
		{"", `{"uri":7}`, -32602, "mcp_payload.params.uri: want a non-empty string, got a number"},
		{"", `{}`, -32602, "mcp_payload.params.uri: want a non-empty string, got nothing"},
		{"Archive", `{"uri":"doc:long"}`, -32603, ""},
	} {
		p.ask(fmt.Sprint(20+i), tt.namespace, "resources/read", tt.params)
		if code, _, text := p.fault(fmt.Sprint(20 + i)); code != tt.code || !strings.HasPrefix(text, tt.text) {
			t.Errorf("%s: %d %s", tt.params, code, text)
		}
	}

	p.ask("30", "", "resources/read", `{"uri":"file:///a"}`)
	asked := files.read()
	if want := `{"uri":"file:///a",`; asked.Method != "resources/read" || !strings.HasPrefix(string(asked.Params), want) {
		t.Fatalf("the program gets %s", asked.Payload)
	}
	const contents = `{"contents":[{"uri":"file:///a","text":"one"},{"uri":"file:///a#2","blob":"AA=="}]}`
	files.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, asked.ID, contents), "")
	if got := p.result("30"); got != contents {
		t.Errorf("of a program: %s", got)
	}
	p.ask("31", "Files", "resources/read", `{"uri":"file:///b"}`)
	files.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32002,"message":"gone"}}`, files.read().ID), "")
	if code, _, text := p.fault("31"); code != -32002 || text != "gone" {
		t.Errorf("an unknown one of a program: %d %s", code, text)
	}
}

// An agent of acl reads resources by QUERY_REF, of those agents only that it may call.
func TestResourcesByRights(t *testing.T) {
	h := newHub(t, noPeerOptions, func(o *wire.Options) {
		o.Authorize = func(_ wire.Identity, m *performatives.Message) error {
			if m.Receiver().Is("Archive") {
				return errors.New("not the archive")
			}
			return nil
		}
	})
	h.spawn("Archive", func() actors.Agent { return archive{} })
	h.spawn("Branch", func() actors.Agent { return archive{} })
	o := newOutpost(t, h, "out")
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	got, err := query.Ref[performatives.ResourceContent](patience.Context(t), o, "system", "doc:notes")
	if err != nil || got.Text != "# Notes" {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := h.StopAgent(patience.Context(t), "Branch"); err != nil {
		t.Fatal(err)
	}
	if _, err := query.Ref[performatives.ResourceContent](patience.Context(t), o, "system", "doc:notes"); !errors.Is(err, performatives.CodeUnknownReference) {
		t.Errorf("of an agent that it may not call: %v", err)
	}
}
