package gateway

import (
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// A frame is one JSON object of a bounded depth, and nothing after it.
func TestFrames(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	ping := func(more string) string {
		return `{"id":1,"timestamp":"2024-01-15T10:30:45Z","source":"p",` + more + `"mcp_payload":{"jsonrpc":"2.0","id":1,"method":"ping"}}`
	}
	for frame, want := range map[string]performatives.Code{
		ping(""):                         "",
		" " + ping("") + "\n":            "",
		ping(`"x":` + nested(127) + `,`): "",
		ping(`"x":` + nested(128) + `,`): performatives.CodeParsingError, // the object is the first of 128
		ping("") + "}":                   performatives.CodeParsingError,
		ping("") + ping(""):              performatives.CodeParsingError,
		ping(`"x":[1,],`):                performatives.CodeParsingError,
		ping(`"x":"\ud83d",`):            "",
		nested(3):                        performatives.CodeUnexpectedAct,
		nested(129):                      performatives.CodeParsingError,
		"":                               performatives.CodeParsingError,
		strings.Replace(ping(""), "2024", "0001", 1):                                 "",
		strings.Replace(ping(""), "2024-01-15T10:30:45Z", "0001-01-01T00:00:00Z", 1): performatives.CodeUnexpectedAct, // it would be none
	} {
		in := one(t, open(t, Options{}, wire.CodecOptions{}), frame)
		switch {
		case want == "" && in.Err != nil, want != "" && (in.Err == nil || in.Err.Code != want):
			t.Errorf("%.60q: %v, want %q", frame, in.Err, want)
		case len(in.Answer) == 0:
			t.Errorf("%.60q gets no answer", frame)
		}
	}
}

// Each message of a batch has metadata of its own: that of an answer is not all of it.
func TestBatchSharesNoMetadata(t *testing.T) {
	c := open(t, Options{}, wire.CodecOptions{})
	if _, err := wiretest.Encode(t, c, ask(t, 1, performatives.TaskRequest{TaskType: "a"})); err != nil {
		t.Fatal(err)
	}
	var all []*performatives.Message
	c.Decode([]byte(`{"id":1,"timestamp":"2024-01-15T10:30:45Z","source":"peer","correlation_id":"x","mcp_payload":[`+
		`{"jsonrpc":"2.0","id":1,"method":"a.b"},{"jsonrpc":"2.0","id":1,"result":{}}]}`), func(in wire.Inbound) { all = append(all, in.Message) })
	if len(all) != 2 || all[0] == nil || all[1] == nil {
		t.Fatalf("got %v", all)
	}
	if v, _ := all[0].Metadata(metadataCorrelation); string(v) != `"x"` {
		t.Errorf("the request has lost its correlation_id: %s", v)
	}
}
