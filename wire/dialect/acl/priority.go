package acl

import (
	"bytes"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// readPriority reads the value of payload.priority. An absent value, null and "" are Normal.
func readPriority(v []byte) (performatives.Priority, error) {
	if len(v) == 0 || jsonscan.IsNull(v) {
		return performatives.Normal, nil
	}
	if v[0] == '"' {
		v, _ = jsonscan.Unquote(v)
		if len(v) == 0 {
			return performatives.Normal, nil
		}
	}
	if p, ok := priorities[string(v)]; ok {
		return p, nil
	}
	return performatives.ParsePriority(string(v))
}

// priorities has the usual spellings, so that reading them allocates nothing.
var priorities = func() map[string]performatives.Priority {
	m := make(map[string]performatives.Priority)
	for _, name := range []string{"low", "medium", "normal", "high", "urgent", "1", "2", "3", "4", "5"} {
		m[name], _ = performatives.ParsePriority(name)
	}
	return m
}()

// prioritized writes the text of a payload with the message's priority in it, unless the
// priority is Normal or the payload has the same. A member priority with another kind of
// value belongs to the application, and stays.
func (w *writer) prioritized(text []byte, view payloadView) {
	p := w.m.Priority()
	own, err := readPriority(view.priority)
	if p == performatives.Normal || own == p || err != nil {
		w.dst = append(w.dst, text...)
		return
	}
	if view.priority != nil {
		at := view.priorityAt
		w.dst = jsonscan.AppendQuoted(append(w.dst, text[:at]...), p.String())
		w.dst = append(w.dst, text[at+len(view.priority):]...)
		return
	}
	rest := bytes.TrimLeft(text[bytes.IndexByte(text, '{')+1:], " \t\r\n")
	w.dst = jsonscan.AppendQuoted(append(w.dst, `{"priority":`...), p.String())
	if rest[0] != '}' {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(w.dst, rest...)
}
