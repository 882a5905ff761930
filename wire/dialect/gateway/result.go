package gateway

import (
	"bytes"
	"encoding/json"
	"strings"

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

// tool is an action as tools/list shows it.
type tool map[string]any

// toolList is the result of tools/list. MCP wants a schema of each tool.
func toolList(p performatives.InformCapabilities, mcp bool) ([]byte, error) {
	var actions []performatives.Action
	if p.Capabilities != nil {
		actions = p.Capabilities.Actions
	} else if p.Action != nil {
		actions = []performatives.Action{*p.Action}
	}
	tools, err := toolsOf(actions, mcp)
	if err != nil {
		return nil, err
	}
	return append(append([]byte(`{"tools":`), tools...), '}'), nil
}

func toolsOf(actions []performatives.Action, mcp bool) (json.RawMessage, error) {
	var out bytes.Buffer
	out.WriteByte('[')
	for i, a := range actions {
		text, err := toolOf(a, mcp)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(text)
	}
	out.WriteByte(']')
	return out.Bytes(), nil
}

// anyObject is the schema of a tool that says nothing about its arguments.
var anyObject = json.RawMessage(`{"type":"object"}`)

func toolOf(a performatives.Action, mcp bool) ([]byte, error) {
	if len(a.InputSchema) == 0 && mcp {
		a.InputSchema = anyObject
	}
	out, err := marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Input       json.RawMessage `json:"inputSchema,omitempty"`
		Output      json.RawMessage `json:"outputSchema,omitempty"`
	}{a.Name, a.Description, a.InputSchema, a.OutputSchema})
	if err != nil || len(a.Extra) == 0 {
		return out, err
	}
	members := extraMembers(a.Extra)
	object(out, func(name string, v []byte) { members[name] = json.RawMessage(v) })
	return marshal(members)
}

// resultOf reads the result of tools/call.
func resultOf(result []byte) performatives.InformResult {
	var contents, details, isError, status, artifacts []byte
	p := performatives.InformResult{Status: performatives.StatusSuccess}
	object(result, func(name string, v []byte) {
		if len(p.Extra) < maxMembers {
			p.Extra = with(p.Extra, name, bytes.Clone(v))
		}
	}, found{resultContent, &contents}, found{resultStructured, &details}, found{resultIsError, &isError}, found{resultStatus, &status}, found{resultArtifacts, &artifacts})
	if !is(contents, '[') { // it is no tool of MCP's, and this is what it says
		return performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.RawContent(bytes.Clone(result))}
	}
	summary, plain := summaryOf(contents)
	if !plain {
		p.Extra = with(p.Extra, resultContent, bytes.Clone(contents))
	}
	if details != nil && !isNull(details) {
		p.Details = performatives.RawContent(bytes.Clone(details))
	}
	if summary != string(details) {
		p.Summary = summary
	}
	p.Status = statusOf(status, isError)
	_ = json.Unmarshal(artifacts, &p.Artifacts) // what is none is left out
	return p
}

// statusOf reads the status; an error is a failure whatever else is said.
func statusOf(status, isError []byte) performatives.TaskStatus {
	s := performatives.TaskStatus(strings.ToLower(text(status)))
	switch {
	case is(isError, 't'):
		return performatives.StatusFailure
	case s.Valid():
		return s
	}
	return performatives.StatusSuccess
}

// summaryOf joins the texts of a content. plain is false where it holds more than one
// text, or more than text.
func summaryOf(contents []byte) (summary string, plain bool) {
	var texts []string
	plain = true
	w := walker{text: contents}
	w.enter('[')
	for {
		elem, ok := w.element()
		if !ok {
			return strings.Join(texts, "\n"), plain && len(texts) <= 1
		}
		var kind, words []byte
		object(elem, func(string, []byte) { plain = false }, found{"type", &kind}, found{"text", &words})
		if text(kind) != "text" {
			plain = false
			continue
		}
		texts = append(texts, text(words))
	}
}
