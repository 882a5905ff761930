package gateway

import (
	"encoding/json"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The members of a result of tools/call: those of MCP, and two extensions.
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

// toolResult returns the result of tools/call in the form of MCP.
func toolResult(p performatives.InformResult) ([]byte, error) {
	out := resultExtra(p)
	details, err := detailsOf(p)
	if err != nil {
		return nil, err
	}
	if len(p.Extra[resultContent]) == 0 { // the content of the worker has precedence
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
	return jsonscan.Marshal(out)
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

// resultExtra returns the further members of a result. It leaves out the members of acl,
// which Extra has if a peer wrote them empty.
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
	return jsonscan.Marshal(p.Details)
}

// content returns the text for people: the summary, or else the details, as MCP advises.
func content(summary string, details []byte) []textContent {
	switch {
	case summary != "":
		return []textContent{{"text", summary}}
	case details != nil:
		return []textContent{{"text", string(details)}}
	}
	return []textContent{}
}

// structured returns details as an object, as MCP demands: another value becomes the
// member result of one.
func structured(details json.RawMessage) json.RawMessage {
	if jsonscan.Is(details, '{') {
		return details
	}
	return append(append([]byte(`{"result":`), details...), '}')
}

// methodResult returns the result of ns.method: the details, if there are any and the
// status is no failure, else an object with the status, the summary and the details.
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
	return jsonscan.Marshal(out)
}

// plainResult returns the result of an answer other than INFORM_RESULT, such as INFORM:
// its payload.
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
