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

// resultJSON returns a result: that of a tool in the form of MCP; that of ns.method as the details,
// if there are any and the status is no failure, else an object with the status, the summary and
// the details.
func resultJSON(p performatives.InformResult, tool bool) ([]byte, error) {
	failed := p.Status == performatives.StatusFailure
	var details []byte
	if !p.Details.IsZero() {
		var err error
		if details, err = jsonscan.Marshal(p.Details); err != nil || !tool && !failed {
			return details, err
		}
	}
	out := extraMembers(p.Extra)
	for _, name := range []string{"task_status", "result_summary", "result_details", "artifacts"} {
		delete(out, name) // of acl: Extra has those that a peer wrote empty
	}
	out[resultStatus] = p.Status
	setList(out, resultArtifacts, p.Artifacts)
	name, value := "details", details
	if tool {
		out[resultIsError] = failed
		if len(p.Extra[resultContent]) == 0 { // the content of the worker has precedence
			text, content := p.Summary, []textContent{} // as MCP advises
			if text == "" {
				text = string(details)
			}
			if text != "" {
				content = append(content, textContent{"text", text})
			}
			out[resultContent] = content
		}
		name, value = resultStructured, objectOf(details, "result") // MCP demands an object
	} else {
		out["summary"] = p.Summary
	}
	if details != nil {
		out[name] = json.RawMessage(value)
	}
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

// resultOf reads the result of tools/call.
func resultOf(result []byte) performatives.InformResult {
	var contents, details, isError, status, artifacts []byte
	p := performatives.InformResult{Status: performatives.StatusSuccess}
	jsonscan.Read(result, exchange.Rest(&p.Extra), jsonscan.Find(resultContent, &contents), jsonscan.Find(resultStructured, &details), jsonscan.Find(resultIsError, &isError), jsonscan.Find(resultStatus, &status), jsonscan.Find(resultArtifacts, &artifacts))
	if !jsonscan.Is(contents, '[') { // without content, the result is the details
		return performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.RawContent(objectOf(bytes.Clone(result), "result"))}
	}
	summary, plain := summaryOf(contents)
	if !plain {
		exchange.Keep(&p.Extra, resultContent, contents)
	}
	if !jsonscan.IsNone(details) {
		p.Details = performatives.RawContent(objectOf(bytes.Clone(details), "result"))
	}
	if summary != string(details) {
		p.Summary = summary
	}
	switch s := performatives.TaskStatus(strings.ToLower(jsonscan.Text(status))); {
	case jsonscan.Is(isError, 't'): // whatever the status is
		p.Status = performatives.StatusFailure
	case s.Valid():
		p.Status = s
	}
	_ = json.Unmarshal(artifacts, &p.Artifacts) // an invalid list is left out
	return p
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
