package gateway

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
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
		out[resultStructured] = json.RawMessage(objectOf(details, "result")) // MCP demands an object
	}
	out[resultIsError] = p.Status == performatives.StatusFailure
	out[resultStatus] = p.Status
	setList(out, resultArtifacts, p.Artifacts)
	return jsonscan.Marshal(out)
}

// setList sets a member to a list, unless that is empty.
func setList[T any](out map[string]any, name string, list []T) {
	if len(list) > 0 {
		out[name] = list
	}
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
	setList(out, resultArtifacts, p.Artifacts)
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

// resultOf reads the result of tools/call.
func resultOf(result []byte) performatives.InformResult {
	var contents, details, isError, status, artifacts []byte
	p := performatives.InformResult{Status: performatives.StatusSuccess}
	jsonscan.Read(result, exchange.Rest(&p.Extra, nil), jsonscan.Find(resultContent, &contents), jsonscan.Find(resultStructured, &details), jsonscan.Find(resultIsError, &isError), jsonscan.Find(resultStatus, &status), jsonscan.Find(resultArtifacts, &artifacts))
	if !jsonscan.Is(contents, '[') { // without content, the result is the details
		return performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.RawContent(objectOf(bytes.Clone(result), "result"))}
	}
	summary, plain := summaryOf(contents)
	if !plain {
		exchange.Keep(&p.Extra, resultContent, contents)
	}
	if details != nil && !jsonscan.IsNull(details) {
		p.Details = performatives.RawContent(objectOf(bytes.Clone(details), "result"))
	}
	if summary != string(details) {
		p.Summary = summary
	}
	p.Status = statusOf(status, isError)
	_ = json.Unmarshal(artifacts, &p.Artifacts) // an invalid list is left out
	return p
}

// statusOf returns the status. isError means failure, whatever the status is.
func statusOf(status, isError []byte) performatives.TaskStatus {
	s := performatives.TaskStatus(strings.ToLower(jsonscan.Text(status)))
	switch {
	case jsonscan.Is(isError, 't'):
		return performatives.StatusFailure
	case s.Valid():
		return s
	}
	return performatives.StatusSuccess
}

// summaryOf joins the texts of a content. plain is false if the content has more than one
// text, or other members or kinds of content.
func summaryOf(contents []byte) (summary string, plain bool) {
	var texts []string
	plain = true
	for elem := range jsonscan.Elements(contents) {
		var kind, words []byte
		jsonscan.Read(elem, func(string, []byte) { plain = false }, jsonscan.Find("type", &kind), jsonscan.Find("text", &words))
		if jsonscan.Text(kind) != "text" {
			plain = false
			continue
		}
		texts = append(texts, jsonscan.Text(words))
	}
	return strings.Join(texts, "\n"), plain && len(texts) <= 1
}
