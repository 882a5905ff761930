package gateway

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
)

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
	w := walk(contents)
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
