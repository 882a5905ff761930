package rag

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// memberResponse is the text of a RESPONSE_RESULT.
const memberResponse = "response"

// result reads a payload as the details of a result.
func (d *decoder) result(payload []byte) {
	r, bad := readResult(d.kind, d.out.Metadata[metaResult], payload)
	d.Refuse(bad)
	rest, needed := resultRest(d.kind, r, payload)
	d.drop(metaResult, rest, needed)
	r.Details = performatives.RawContent(bytes.Clone(payload))
	exchange.Keep(&d.out.Metadata, keptType, exchange.Quoted(d.kind))
	d.out.Payload = r
}

// readResult reads the members of a result besides its details, which are the payload.
func readResult(kind string, v, payload []byte) (r performatives.InformResult, bad *performatives.Refusal) {
	bad = readBeside(metaResult, v, &r, "result_details")
	r.Status = cmp.Or(r.Status, performatives.StatusSuccess)
	if r.Summary == "" && kind == typeResponded {
		r.Summary = jsonscan.Text(jsonscan.Member(payload, memberResponse))
	}
	return r, bad
}

// resultRest returns the members of a result of that type besides its payload, and whether they
// must be written.
func resultRest(kind string, r performatives.InformResult, payload []byte) (rest performatives.InformResult, needed bool) {
	r.Details = performatives.Content{}
	if kind == typeResponded && jsonscan.Text(jsonscan.Member(payload, memberResponse)) == r.Summary {
		r.Summary = ""
	}
	return r, natural[kind] != performatives.ActInformResult || r.Summary != "" || len(r.Artifacts) > 0 || len(r.Extra) > 0 ||
		r.Status != performatives.StatusSuccess
}

// result writes the details of a result, under the type that belongs to the request.
func (w *writer) result() {
	r := exchange.Content[performatives.InformResult](&w.Builder, w.Message)
	if w.Kind = w.resultType(); w.Kind == "" {
		w.Plain()
		return
	}
	w.MarshalContent(r.Details)
	switch { // adds what the type demands, as far as the result says it
	case w.Err != nil:
	case w.Kind == typeRetrieved && jsonscan.Member(w.Payload, "retrieved_chunks") == nil:
		w.Payload = jsonscan.WithMember(w.Payload, "retrieved_chunks", []byte("[]"))
	case w.Kind == typeResponded && jsonscan.Member(w.Payload, memberResponse) == nil:
		w.Payload = jsonscan.WithMember(w.Payload, memberResponse, jsonscan.AppendQuoted(nil, r.Summary))
	}
	if w.Err == nil && checkPayload(w.Kind, w.Payload) != nil {
		w.Plain() // the details are of another kind than the type has them
		return
	}
	rest, needed := resultRest(w.Kind, r, w.Payload)
	w.rest(metaResult, rest, needed, func(had []byte) (any, *performatives.Refusal) {
		came, bad := readResult(w.Kind, had, w.Payload)
		came, _ = resultRest(w.Kind, came, w.Payload)
		return came, bad
	})
}

// resultType returns the type of a result: the one with which it came, or the one that belongs to
// the request. Empty means the name of its act.
func (w *writer) resultType() string {
	kind := w.kept(keptType)
	if kind == "" && w.call != nil {
		if _, err := performatives.ParsePerformative(w.call.Kind); err != nil { // it is not the name of an act
			kind = strings.TrimSuffix(w.call.Kind, "_REQUEST") + "_RESULT"
		}
	}
	act, known := natural[kind]
	_, registered := w.codec.opts.Registry.MessageTypeAct(kind)
	if kind == performatives.ActInformResult.String() || registered || known && act != performatives.ActInformResult ||
		performatives.CheckMessageType(kind) != nil {
		return ""
	}
	return kind
}
