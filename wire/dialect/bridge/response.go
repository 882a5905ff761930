package bridge

import (
	"bytes"
	"encoding/json"

	"github.com/ribosome-agents/ribosome/performatives"
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
func (d *decoder) response(v []byte) {
	var success, result, elapsed, fault, status, summary, artifacts []byte
	var rest performatives.Members
	over := false
	object(v, keep(&rest, &over), found{responseSuccess, &success}, found{responseResult, &result}, found{responseTime, &elapsed},
		found{responseError, &fault}, found{responseStatus, &status}, found{responseSummary, &summary}, found{responseArtifacts, &artifacts})
	if over {
		d.tooMany("payload")
	}
	if !is(success, 't') && !is(success, 'f') {
		d.invalid(field(responseSuccess), "true or false", success)
	}
	d.kinded(responseTime, "a number of seconds", "-0123456789", elapsed)
	d.kinded(responseError, "a string", `"`, fault)
	d.kinded(responseStatus, "a string", `"`, status)
	d.kinded(responseSummary, "a string", `"`, summary)
	d.kinded(responseArtifacts, "an array", `[`, artifacts)
	if isNull(fault) { // as a success has it
		fault = nil
	}
	put(&rest, responseTime, elapsed)
	if d.other(performatives.ActInformResult) {
		for name, v := range map[string][]byte{responseError: fault, responseStatus: status, responseSummary: summary, responseArtifacts: artifacts} {
			put(&rest, name, v)
		}
		if is(success, 'f') {
			put(&rest, responseSuccess, success)
		}
		d.typed(d.actOr(performatives.ActInformResult), d.wrap(result), rest)
		return
	}
	d.out.Performative = performatives.ActInformResult
	d.out.Payload = d.result(answer{is(success, 't'), result, fault, status, summary, artifacts}, rest)
}

// answer has the members of the payload of a response.
type answer struct {
	success                                   bool
	result, fault, status, summary, artifacts []byte
}

func (d *decoder) result(a answer, rest performatives.Members) performatives.InformResult {
	p := performatives.InformResult{Status: performatives.StatusFailure, Summary: text(a.fault), Extra: rest}
	if a.success {
		p.Status, p.Summary = performatives.StatusSuccess, text(a.summary)
		if s := performatives.TaskStatus(text(a.status)); s == performatives.StatusPartial {
			p.Status = s
		}
		put(&p.Extra, responseError, a.fault)
		if a.summary == nil && is(a.result, '"') { // a text for people
			p.Summary, a.result = text(a.result), nil
		}
	} else {
		put(&p.Extra, responseSummary, a.summary)
	}
	if !none(a.result) {
		p.Details = performatives.RawContent(bytes.Clone(d.wrap(a.result)))
	}
	if !none(a.artifacts) {
		if err := json.Unmarshal(a.artifacts, &p.Artifacts); err != nil {
			d.invalid(field(responseArtifacts), "an array of objects", a.artifacts)
		}
	}
	return p
}

// wrap returns a result as an object, which details must be.
func (d *decoder) wrap(result []byte) []byte {
	if none(result) || is(result, '{') {
		return result
	}
	d.shape.wrapped = true
	return append(append([]byte(`{"`+responseResult+`":`), result...), '}')
}

// response writes a ToolResponse.
func (w *writer) response() ([]byte, error) {
	b := openObject(nil)
	if w.act != w.m.Performative() || w.m.MessageType() != "" {
		return w.otherResponse(b)
	}
	p, err := payloadAs[performatives.InformResult](w.m)
	if err != nil {
		return nil, err
	}
	success := p.Status != performatives.StatusFailure
	b.value(responseSuccess, success)
	summarized := false
	switch {
	case !p.Details.IsZero():
		w.unwrapped(&b, p.Details)
	case success && p.Summary != "":
		b.text(responseResult, p.Summary)
		summarized = true
	default:
		b.raw(responseResult, []byte("null"))
	}
	w.elapsed(&b, p.Extra[responseTime])
	switch {
	case !success && p.Summary != "":
		b.text(responseError, p.Summary)
	case success && len(p.Extra[responseError]) > 0:
		b.unchecked(responseError, p.Extra[responseError])
	default:
		b.raw(responseError, []byte("null"))
	}
	if p.Status == performatives.StatusPartial {
		b.text(responseStatus, string(p.Status))
	}
	switch {
	case success && p.Summary != "" && !summarized:
		b.text(responseSummary, p.Summary)
	case !success && len(p.Extra[responseSummary]) > 0:
		b.unchecked(responseSummary, p.Extra[responseSummary])
	}
	if len(p.Artifacts) > 0 {
		b.value(responseArtifacts, p.Artifacts)
	}
	b.extra(p.Extra, responseSuccess, responseResult, responseTime, responseError, responseStatus, responseSummary, responseArtifacts)
	return b.close()
}

// otherResponse writes an answer whose content is that of another act, or the application's own.
func (w *writer) otherResponse(b builder) ([]byte, error) {
	rest := w.restOf()
	if v := rest[responseSuccess]; len(v) > 0 {
		b.unchecked(responseSuccess, v)
	} else {
		b.raw(responseSuccess, []byte("true"))
	}
	if w.m.Payload() == nil {
		b.raw(responseResult, []byte("null"))
	} else {
		w.unwrapped(&b, performatives.ContentOf(w.m.Payload()))
	}
	w.elapsed(&b, rest[responseTime])
	if v := rest[responseError]; len(v) > 0 {
		b.unchecked(responseError, v)
	} else {
		b.raw(responseError, []byte("null"))
	}
	b.extra(rest, responseSuccess, responseResult, responseTime, responseError)
	return b.close()
}

// unwrapped writes the result: an object, or the other value that the peer's result was.
func (w *writer) unwrapped(b *builder, details performatives.Content) {
	if !w.shape.wrapped {
		b.content(responseResult, details)
		return
	}
	v, err := marshal(details)
	w.note(err)
	var inner []byte
	others := false
	object(v, func(string, []byte) { others = true }, found{responseResult, &inner})
	if inner != nil && !others {
		v = inner
	}
	b.raw(responseResult, v)
}

// elapsed writes the time that the work took: as it came, or as the session has measured it.
func (w *writer) elapsed(b *builder, came []byte) {
	switch {
	case len(came) > 0:
		b.unchecked(responseTime, came)
	case w.extras.measured:
		b.value(responseTime, float64(w.extras.elapsed.Milliseconds())/1000)
	}
}
