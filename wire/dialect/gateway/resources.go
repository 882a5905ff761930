package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/rule"
)

// codeNoResource is the code of MCP for a resource that is not there. Elsewhere, it is that of
// [performatives.CodeForbidden].
const codeNoResource = "-32002"

// resourceOf reads a resource. It has no URI if the value is none.
func resourceOf(v []byte) (r performatives.Resource) {
	if jsonscan.Unmarshal(v, &r) != nil || len(r.Extra) > maxMembers {
		return performatives.Resource{}
	}
	return r
}

// read serves resources/read of the peer: the question for the value of a reference.
func (c *codec) read(e *envelope, r *rpc, o *origin) wire.Inbound {
	uri := jsonscan.Member(r.params, "uri")
	if !jsonscan.Is(uri, '"') || len(uri) == len(`""`) {
		r.Refuse(exchange.Invalid(pathParams+".uri", "a non-empty string", uri))
	}
	return c.serve(e, r, o, performatives.Envelope{
		Receiver: c.queried(e, r.method), Payload: performatives.QueryRef{Reference: jsonscan.Text(uri)},
	}, &call{})
}

// resourceList returns the result of resources/list, with the resources of the agents of a
// namespace.
func resourceList(p performatives.InformCapabilities, of performatives.AgentID) ([]byte, error) {
	all := []json.RawMessage{}
	if p.Capabilities != nil {
		for _, r := range p.Capabilities.Resources {
			extra := r.Extra
			if of != "" && !contains(of, performatives.AgentID(jsonscan.Text(extra[toolAgent]))) {
				continue
			}
			r.Name, r.Extra = cmp.Or(r.Name, r.URI), nil // MCP demands a name
			text, _ := jsonscan.Marshal(r)               // it has texts
			b := jsonscan.Reopen(text)
			b.Sorted(extra, toolAgent, memberMeta)
			putMeta(&b, extra)
			all = append(all, append(b.JSON, '}')) // invalid JSON fails when all are marshaled
		}
	}
	return jsonscan.Marshal(map[string]any{"resources": all})
}

// resourceResult returns the result of resources/read for the value of a reference.
func resourceResult(p performatives.InformRef) ([]byte, error) {
	value, err := jsonscan.Marshal(p.Value)
	if err != nil {
		return nil, err
	}
	if string(value) == "[]" || !aContents.Fits(value) {
		value = append(append([]byte{'['}, contentOf(p.Reference, value)...), ']')
	}
	b := jsonscan.OpenObject(nil)
	b.Raw("contents", value)
	return b.Close()
}

// aContents is the kind of an array of contents with a URI each: those of another gateway.
var aContents = rule.ListOf("", func(v []byte) bool { return jsonscan.Is(jsonscan.Member(v, "uri"), '"') })

// contentOf returns the content of a resource: an object with text or blob as it is, a text, or the
// JSON of any other value.
func contentOf(uri string, value []byte) []byte {
	out := map[string]any{"uri": uri}
	var text, blob []byte
	if jsonscan.Is(value, '{') {
		text, blob = jsonscan.Member(value, "text"), jsonscan.Member(value, "blob")
	}
	switch {
	case jsonscan.Is(blob, '"') || jsonscan.Is(text, '"'):
		jsonscan.Read(value, func(name string, v []byte) { out[name] = json.RawMessage(v) })
		if jsonscan.Is(blob, '"') {
			delete(out, "text") // MCP has one of them
		}
	case jsonscan.Is(value, '"'):
		out["text"] = jsonscan.Text(value)
	default:
		out["mimeType"], out["text"] = "application/json", string(value)
	}
	content, _ := jsonscan.Marshal(out) // it has texts and members of a value that has been marshaled
	return content
}

// valueOf reads the result of resources/read: the one content, or all of them.
func valueOf(result []byte) performatives.Content {
	contents := jsonscan.Member(result, "contents")
	n := 0
	for elem := range jsonscan.Elements(contents) {
		if n++; n == 1 {
			result = elem
		}
	}
	if n > 1 {
		result = contents
	}
	return performatives.RawContent(bytes.Clone(result))
}
