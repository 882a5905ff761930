package rag

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// task reads a payload as the parameters of a task.
func (d *decoder) task(payload []byte) {
	t, bad := readTask(d.out.Metadata[metaTask])
	d.Refuse(bad)
	d.drop(metaTask, t, taskNeeded(t))
	t.TaskType, t.Parameters = taskType(d.kind), performatives.RawContent(bytes.Clone(payload))
	if typeOfTask(t.TaskType, "", nil) != d.kind { // its case is unusual
		exchange.Keep(&d.out.Metadata, keptType, exchange.Quoted(d.kind))
	}
	d.out.Payload = t
}

// readTask reads the members of a task besides its type and its parameters.
func readTask(v []byte) (t performatives.TaskRequest, bad *performatives.Refusal) {
	bad = readBeside(metaTask, v, &t, "task_type", "task_parameters")
	return t, bad
}

// readBeside reads the member of the metadata with what a payload has beside the payload of this
// dialect. It refuses the members that the type or the payload has.
func readBeside(name string, text []byte, v json.Unmarshaler, elsewhere ...string) *performatives.Refusal {
	if !jsonscan.Is(text, '{') {
		return nil
	}
	for _, m := range elsewhere {
		if found := jsonscan.Member(text, m); found != nil {
			return exchange.Invalid("metadata."+name+"."+m, "none, since the type and the payload have it", found)
		}
	}
	err := v.UnmarshalJSON(text)
	if err == nil {
		return nil
	}
	r := *exchange.Renamed(err, nil)
	why := strings.TrimPrefix(r.Text, r.Field+": ")
	r.Field = strings.TrimSuffix("metadata."+name+"."+r.Field, ".")
	r.Text = r.Field + ": " + why
	return &r
}

// taskNeeded reports whether a task has anything beside its type and parameters.
func taskNeeded(t performatives.TaskRequest) bool { return len(t.Extra) > 0 || t.Description != "" }

// drop removes a member of the metadata from which a field of the message was read, if it is
// written again just so.
func (d *decoder) drop(name string, v any, needed bool) {
	if needed && performatives.RawContent(d.out.Metadata[name]).Equal(performatives.ContentOf(v)) {
		delete(d.out.Metadata, name)
	}
}

// task writes the parameters of a task as the payload, and its other members into the metadata.
func (w *writer) task() {
	t := exchange.Content[performatives.TaskRequest](&w.Builder, w.Message)
	if w.Kind = typeOfTask(t.TaskType, w.kept(keptType), w.codec.opts.Registry); w.Kind == "" {
		w.Plain()
		return
	}
	w.MarshalContent(t.Parameters)
	if bad := checkPayload(w.Kind, w.Payload); bad != nil {
		bad.About = w.Message.ID()
		w.Fail(bad)
	}
	rest := performatives.TaskRequest{Description: t.Description, Extra: t.Extra}
	v := t.Extra[exchange.MetaPriority]
	if p, ok := exchange.Priority(v); ok && p == w.Message.Priority() { // which is written in the metadata
		rest.Extra = maps.Clone(t.Extra)
		delete(rest.Extra, exchange.MetaPriority)
		w.Meta[exchange.MetaPriority] = v
	}
	w.rest(metaTask, rest, taskNeeded(rest), func(had []byte) (any, *performatives.Refusal) { return readTask(had) })
}

// rest writes what a payload has beside the payload of this dialect, unless the metadata say the
// same already.
func (w *writer) rest(name string, v any, needed bool, read func(had []byte) (any, *performatives.Refusal)) {
	if had := w.Meta[name]; jsonscan.Is(had, '{') {
		if came, bad := read(had); bad == nil && performatives.ContentOf(came).Equal(performatives.ContentOf(v)) {
			return
		}
		delete(w.Meta, name) // it came by another dialect, and has another meaning here
	}
	if needed {
		text, err := json.Marshal(v)
		w.Fail(err)
		w.Meta[name] = text
	}
}
