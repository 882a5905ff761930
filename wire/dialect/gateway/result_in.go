package gateway

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

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
		p.Extra = with(p.Extra, resultContent, bytes.Clone(contents))
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
