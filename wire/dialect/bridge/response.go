package bridge

import (
	"cmp"
	"encoding/json"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The members of the payload of a response (bridge, Request/Response Flow). The last three are
// extensions.
const (
	responseSuccess   = "success"
	responseResult    = "result"
	responseTime      = "execution_time"
	responseError     = "error"
	responseStatus    = "task_status"
	responseSummary   = "summary"
	responseArtifacts = "artifacts"
)

// response reads a ToolResponse: the result of a task, or another answer to a request.
func (d *decoder) response(m [][]byte, rest performatives.Members) {
	success, result, elapsed, fault, status, summary, artifacts := m[0], m[1], m[2], m[3], m[4], m[5], m[6]
	if jsonscan.IsNull(fault) { // as a success has it
		fault = nil
	}
	exchange.Keep(&rest, responseTime, elapsed)
	if d.other(performatives.ActInformResult) {
		for name, v := range map[string][]byte{responseError: fault, responseStatus: status, responseSummary: summary, responseArtifacts: artifacts} {
			exchange.Keep(&rest, name, v)
		}
		if jsonscan.Is(success, 'f') {
			exchange.Keep(&rest, responseSuccess, success)
		}
		d.typed(cmp.Or(d.act, performatives.ActInformResult), d.wrap(result), rest)
		return
	}
	p := performatives.InformResult{Status: performatives.StatusFailure, Summary: jsonscan.Text(fault), Extra: rest}
	if jsonscan.Is(success, 't') {
		p.Status, p.Summary = performatives.StatusSuccess, jsonscan.Text(summary)
		if s := performatives.TaskStatus(jsonscan.Text(status)); s == performatives.StatusPartial {
			p.Status = s
		}
		exchange.Keep(&p.Extra, responseError, fault)
		if summary == nil && jsonscan.Is(result, '"') { // a text for people
			p.Summary, result = jsonscan.Text(result), nil
		}
	} else {
		exchange.Keep(&p.Extra, responseSummary, summary)
	}
	if !jsonscan.IsNone(result) {
		p.Details = performatives.RawContent(d.wrap(result))
	}
	if !jsonscan.IsNone(artifacts) {
		if err := json.Unmarshal(artifacts, &p.Artifacts); err != nil {
			d.Invalid(field(responseArtifacts), "an array of objects", artifacts)
		}
	}
	d.out.Payload = p
}

// wrap returns a result as an object, which details must be.
func (d *decoder) wrap(result []byte) []byte {
	if jsonscan.IsNone(result) || jsonscan.Is(result, '{') {
		return result
	}
	d.shape.wrapped = true
	return append(append([]byte(`{"`+responseResult+`":`), result...), '}')
}

// response writes a ToolResponse.
func (w *writer) response() {
	if w.act != w.Message.Performative() || w.Message.MessageType() != "" {
		w.otherResponse()
		return
	}
	p := exchange.Content[performatives.InformResult](&w.Builder, w.Message)
	success := p.Status != performatives.StatusFailure
	w.Value(responseSuccess, success)
	switch {
	case !p.Details.IsZero():
		w.unwrapped(p.Details)
	case success:
		w.TextOrNull(responseResult, p.Summary)
	default:
		w.orNull(responseResult, nil)
	}
	w.elapsed(p.Extra[responseTime])
	if success {
		w.orNull(responseError, p.Extra[responseError])
	} else {
		w.TextOrNull(responseError, p.Summary)
	}
	if p.Status == performatives.StatusPartial {
		w.Text(responseStatus, string(p.Status))
	}
	switch {
	case success && !p.Details.IsZero():
		w.OptionalText(responseSummary, p.Summary)
	case !success && len(p.Extra[responseSummary]) > 0:
		w.Checked(responseSummary, p.Extra[responseSummary])
	}
	if len(p.Artifacts) > 0 {
		w.Value(responseArtifacts, p.Artifacts)
	}
	w.Sorted(p.Extra, responseSuccess, responseResult, responseTime, responseError, responseStatus, responseSummary, responseArtifacts)
}

// otherResponse writes an answer whose content is that of another act, or the application's own.
func (w *writer) otherResponse() {
	rest := w.restOf()
	if v := rest[responseSuccess]; len(v) > 0 {
		w.Checked(responseSuccess, v)
	} else {
		w.Value(responseSuccess, true)
	}
	if w.Message.Payload() == nil {
		w.orNull(responseResult, nil)
	} else {
		w.unwrapped(performatives.ContentOf(w.Message.Payload()))
	}
	w.elapsed(rest[responseTime])
	w.orNull(responseError, rest[responseError])
	w.Sorted(rest, responseSuccess, responseResult, responseTime, responseError)
}

// orNull writes a member as it came, which is null if it is absent.
func (w *writer) orNull(name string, v []byte) {
	if len(v) == 0 {
		v = null
	}
	w.Checked(name, v)
}

var null = []byte("null")

// unwrapped writes the result: an object, or the other value that the peer's result was.
func (w *writer) unwrapped(details performatives.Content) {
	if !w.shape.wrapped {
		exchange.PutContent(&w.Builder, responseResult, details)
		return
	}
	v, err := jsonscan.Marshal(details)
	w.Fail(err)
	var inner []byte
	others := false
	jsonscan.Read(v, func(string, []byte) { others = true }, jsonscan.Find(responseResult, &inner))
	if inner != nil && !others {
		v = inner
	}
	w.Raw(responseResult, v)
}

// elapsed writes the time that the work took: as it came, or as the session has measured it.
func (w *writer) elapsed(came []byte) {
	switch {
	case len(came) > 0:
		w.Checked(responseTime, came)
	case w.extras.answers:
		w.Value(responseTime, float64(w.extras.elapsed.Milliseconds())/1000)
	}
}
