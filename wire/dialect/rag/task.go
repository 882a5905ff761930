package rag

import (
	"bytes"
	"cmp"
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
		d.keepText(keptType, d.kind)
	}
	d.out.Payload = t
}

// readTask reads the members of a task besides its type and its parameters.
func readTask(v []byte) (t performatives.TaskRequest, bad *performatives.Refusal) {
	if jsonscan.Is(v, '{') {
		if err := t.UnmarshalJSON(v); err != nil {
			bad = within(metaTask, err)
		}
		bad = cmp.Or(elsewhere(metaTask, v, "task_type", "task_parameters"), bad)
	}
	return t, bad
}

// elsewhere refuses members that the type or the payload has.
func elsewhere(name string, v []byte, members ...string) *performatives.Refusal {
	for _, m := range members {
		if found := jsonscan.Member(v, m); found != nil {
			return exchange.Invalid("metadata."+name+"."+m, "none, since the type and the payload have it", found)
		}
	}
	return nil
}

// within returns the refusal of a member of the metadata.
func within(name string, err error) *performatives.Refusal {
	r := *exchange.RefusalOf(err)
	text := strings.TrimPrefix(r.Text, r.Field+": ")
	r.Field = strings.TrimSuffix("metadata."+name+"."+r.Field, ".")
	r.Text = r.Field + ": " + text
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
	rest := performatives.TaskRequest{Description: t.Description, Extra: w.withoutPriority(t.Extra)}
	w.rest(metaTask, rest, taskNeeded(rest), func(had []byte) (any, *performatives.Refusal) { return readTask(had) })
}

// withoutPriority returns the members of a task without its priority, which is the message's and is
// written in the metadata.
func (w *writer) withoutPriority(extra performatives.Members) performatives.Members {
	v := extra[exchange.MetaPriority]
	if p, ok := exchange.Priority(v); !ok || p != w.Message.Priority() {
		return extra
	}
	rest := maps.Clone(extra)
	delete(rest, exchange.MetaPriority)
	w.Meta[exchange.MetaPriority] = v
	return rest
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
