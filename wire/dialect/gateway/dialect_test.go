package gateway

import (
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

func TestRecognizes(t *testing.T) {
	d := New(Options{})
	for frame, want := range map[string]bool{
		`{"mcp_payload":{}}`: true,
		` { "id" : "\"}" , "x":[{"y":"]"}], "mcp_payload" : 1`: true, // it need not be whole
		`[{"id":1,"mcp_payload":{}}]`:                          true,
		`{"source":"s","error":{}}`:                            true,
		`{"error":{},"source":"s"}`:                            true,
		`{"error":{}}`:                                         false,
		`{"source":"s"}`:                                       false,
		`{"x":{"mcp_payload":1}}`:                              false,
		`{"x":"mcp_payload"}`:                                  false,
		`{"performative":"REQUEST"}`:                           false,
		`[[{"mcp_payload":1}]]`:                                false,
		`"mcp_payload"`:                                        false,
		``:                                                     false,
		`[`:                                                    false,
		`{`:                                                    false,
		`{"`:                                                   false,
		`{"mcp_payload"`:                                       false,
		`{"a":`:                                                false,
		`{"a":"\`:                                              false,
		`}{`:                                                   false,
		"MC\x01\x00":                                           false,
		`{"a":` + strings.Repeat("]", 9) + `,"mcp_payload":1}`: false,
	} {
		if got := d.Recognizes([]byte(frame)); got != want {
			t.Errorf("%s: %t", frame, got)
		}
	}
}

func TestNamespace(t *testing.T) {
	for _, c := range []struct{ target, method, want string }{
		{"", "initialize", "system"},
		{"", "tools/list", "system"},
		{"", "tools/call", "system"},
		{"tools", "tools/list", "tools"},
		{"", "calc.add", "calc"},
		{"", "calc.add.all", "calc"},
		{"maths", "calc.add", "maths"},
		{"", "ping", "default"},
		{"", "resources/list", "default"},
		{"", "notifications/x.y", "default"},
		{"", "rpc.discover", "default"},
		{"", ".add", "default"},
		{"", "calc.", "default"},
		{"", "", "default"},
	} {
		if got := Namespace(c.target, c.method); got != c.want {
			t.Errorf("%q %q: %q, want %q", c.target, c.method, got, c.want)
		}
	}
}

// A connection that cannot compress does not agree to it, whatever the peer offers.
func TestNoCompressionOfTheConnection(t *testing.T) {
	for compression, want := range map[string]string{"": "", "gzip": "gzip"} {
		c := open(t, Options{}, wire.CodecOptions{Compression: []string{compression}})
		in := one(t, c, `{"id":1,"timestamp":"2024-01-15T10:30:45Z","source":"p","mcp_payload":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1.0","capabilities":{"compression":["gzip"]}}}}`)
		if in.Message == nil {
			t.Fatal(in.Err)
		}
		answer, err := in.Message.Reply(performatives.Stamp{ID: "a", Time: epoch}, performatives.InformCapabilities{Capabilities: &performatives.Capabilities{}})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := c.Encode(nil, answer); err != nil || len(out) == 0 || c.Agreed() != want {
			t.Errorf("%q: %s, %v", compression, out, err)
		}
	}
}
