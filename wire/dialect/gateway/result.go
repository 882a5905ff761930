package gateway

import (
	"encoding/json"

	"github.com/ribosome-agents/ribosome/performatives"
)

// The members of a result of tools/call: MCP's, and two of ours.
const (
	resultContent    = "content"
	resultStructured = "structuredContent"
	resultIsError    = "isError"
	resultStatus     = "task_status"
	resultArtifacts  = "artifacts"
)

// textContent is a piece of content that is text.
type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// toolResult is the result of tools/call, in MCP's shape.
func toolResult(p performatives.InformResult) ([]byte, error) {
	out := resultExtra(p)
	details, err := detailsOf(p)
	if err != nil {
		return nil, err
	}
	if len(p.Extra[resultContent]) == 0 { // one that the worker wrote itself says more
		out[resultContent] = content(p.Summary, details)
	}
	if details != nil {
		out[resultStructured] = structured(details)
	}
	out[resultIsError] = p.Status == performatives.StatusFailure
	out[resultStatus] = p.Status
	if len(p.Artifacts) > 0 {
		out[resultArtifacts] = p.Artifacts
	}
	return marshal(out)
}

func extraMembers(extra performatives.Members) map[string]any {
	out := make(map[string]any, len(extra)+5)
	for name, v := range extra {
		if len(v) > 0 {
			out[name] = v
		}
	}
	return out
}

// resultExtra are the members that neither MCP nor we have a name for. Those that acl
// has one for are there when a peer wrote them empty.
func resultExtra(p performatives.InformResult) map[string]any {
	out := extraMembers(p.Extra)
	for _, name := range []string{"task_status", "result_summary", "result_details", "artifacts"} {
		delete(out, name)
	}
	return out
}

// detailsOf returns the details as JSON, or nil for none.
func detailsOf(p performatives.InformResult) (json.RawMessage, error) {
	if p.Details.IsZero() {
		return nil, nil
	}
	return marshal(p.Details)
}

// content is the text for people: the summary, or else the details, as MCP advises.
func content(summary string, details []byte) []textContent {
	switch {
	case summary != "":
		return []textContent{{"text", summary}}
	case details != nil:
		return []textContent{{"text", string(details)}}
	}
	return []textContent{}
}

// structured wraps what is no object, since MCP wants one.
func structured(details json.RawMessage) json.RawMessage {
	if is(details, '{') {
		return details
	}
	return append(append([]byte(`{"result":`), details...), '}')
}

// methodResult is the result of ns.method: the details as they are, where they say all
// of it.
func methodResult(p performatives.InformResult) ([]byte, error) {
	details, err := detailsOf(p)
	if err != nil || details != nil && p.Status != performatives.StatusFailure {
		return details, err
	}
	out := resultExtra(p)
	out[resultStatus], out["summary"] = p.Status, p.Summary
	if details != nil {
		out["details"] = details
	}
	if len(p.Artifacts) > 0 {
		out[resultArtifacts] = p.Artifacts
	}
	return marshal(out)
}

// plainResult is the result of an answer that is no INFORM_RESULT, such as a bare
// INFORM: its payload.
func plainResult(m *performatives.Message, tool bool) ([]byte, error) {
	p := performatives.InformResult{Status: performatives.StatusSuccess}
	if m.Payload() != nil {
		p.Details = performatives.ContentOf(m.Payload())
	}
	if tool {
		return toolResult(p)
	}
	return methodResult(p)
}
