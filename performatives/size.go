package performatives

import "reflect"

// maxSized is how many values of a payload [Message.Size] looks at.
const maxSized = 256

// Size returns about how many bytes m holds, its payload included, for those who bound
// what they keep. It looks at a bounded number of values, and takes the rest of a long
// slice or map to be like the beginning.
func (m *Message) Size() int {
	e := &m.e
	n := len(e.ID) + len(e.Sender) + len(e.Receiver) + len(e.ConversationID) + len(e.Protocol) + len(e.InReplyTo) +
		len(e.ReplyWith) + len(e.Language) + len(e.Ontology) + len(e.Trace) + int(reflect.TypeFor[Message]().Size())
	for name, v := range e.Metadata {
		n += len(name) + len(v)
	}
	if raw, ok := e.Payload.(Raw); ok && e.Budget.IsZero() {
		return n + len(raw)
	}
	s := sizer{left: maxSized}
	return n + s.of(reflect.ValueOf(e.Payload)) + s.of(reflect.ValueOf(e.Budget))
}

// Weigh notes m's size, for whoever bounds what it keeps of long messages from outside. It
// is for the session that has just read m, before anybody else has it.
func (m *Message) Weigh() { m.weight = m.Size() }

// Weight returns the size that Weigh noted: zero for a message that was made here, whose
// maker bounds what it makes, or that is of the usual length.
func (m *Message) Weight() int { return m.weight }

// sizer adds up values until it has seen enough of them.
type sizer struct{ left int }

// of returns about how many bytes v refers to and is. It ends also for a value that
// contains itself.
func (s *sizer) of(v reflect.Value) int {
	if s.left--; s.left < 0 {
		return 0
	}
	switch v.Kind() { // the rest refer to nothing
	case reflect.Invalid:
		return 0
	case reflect.String:
		return int(v.Type().Size()) + v.Len()
	case reflect.Pointer, reflect.Interface:
		return int(v.Type().Size()) + s.of(v.Elem())
	case reflect.Struct:
		n := 0
		for i := range v.NumField() {
			n += s.of(v.Field(i))
		}
		return n
	case reflect.Slice, reflect.Array:
		return s.list(v)
	case reflect.Map:
		return s.table(v)
	}
	return int(v.Type().Size())
}

func (s *sizer) list(v reflect.Value) int {
	if e := v.Type().Elem(); e.Kind() == reflect.Uint8 {
		return v.Len()
	}
	n := 0
	for i := range v.Len() {
		if s.left <= 0 {
			return rest(n, i, v.Len())
		}
		n += s.of(v.Index(i))
	}
	return n
}

func (s *sizer) table(v reflect.Value) int {
	n, i := 0, 0
	for entries := v.MapRange(); entries.Next(); i++ {
		if s.left <= 0 {
			return rest(n, i, v.Len())
		}
		n += s.of(entries.Key()) + s.of(entries.Value())
	}
	return n
}

// rest is how many bytes so many elements have, when the first seen have n. One that has
// not been looked at counts as a word.
func rest(n, seen, all int) int {
	if seen == 0 {
		return 8 * all
	}
	return n + n/seen*(all-seen)
}
