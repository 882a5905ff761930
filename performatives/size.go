package performatives

import (
	"math"
	"reflect"
)

// maxSized is the number of values of a payload that [Message.Size] visits.
const maxSized = 256

// Size returns the approximate memory of m and its payload, in bytes. It visits a bounded
// number of values, and estimates the rest of a long slice or map from the visited ones.
func (m *Message) Size() int {
	n := len(m.id) + len(m.sender) + len(m.receiver) + len(m.conversationID) + len(m.protocol) + len(m.inReplyTo) + len(m.replyWith) + len(m.ontology) + len(m.trace) +
		int(reflect.TypeFor[Message]().Size())
	s := sizer{left: maxSized}
	n += s.payload(m.payload)
	if r := m.rare; r != nil {
		n += int(reflect.TypeFor[rare]().Size()) + len(r.messageType) + len(r.language) + len(r.principal)
		for name, v := range r.metadata {
			n += len(name) + len(v)
		}
		if !r.budget.IsZero() {
			n += s.of(reflect.ValueOf(r.budget))
		}
	}
	return n
}

// Weigh stores the size of m, so that mailboxes and records can bound the memory of long
// messages from peers. Only the session that has just read m may call it, before it
// passes m on.
func (m *Message) Weigh() {
	m.changeRare(func(*rare) {}) // before Size, which counts the memory of the rare fields
	m.rare.weight = int32(min(m.Size(), math.MaxInt32))
	m.marks |= marksWeighed
}

// Weight returns the size that Weigh stored, in bytes. It is zero for a message of usual
// length, and for a message that was made in this process. It is at most [math.MaxInt32].
func (m *Message) Weight() int {
	if m.marks&marksWeighed == 0 {
		return 0
	}
	return int(m.rare.weight)
}

// sizer adds up the sizes of values, of which it visits a bounded number.
type sizer struct{ left int }

// payload is [sizer.of] for a payload, without reflection for those that most messages have.
func (s *sizer) payload(payload any) int {
	switch p := payload.(type) {
	case Raw:
		return len(p)
	case TaskRequest:
		return text(p.TaskType) + text(p.Description) + s.content(&p.Parameters) + s.members(p.Extra)
	case TaskAccept:
		return text(p.TaskID) + int(reflect.TypeFor[int64]().Size()) + len(p.Estimate.text) + text(p.Comments) + s.members(p.Extra)
	case InformResult:
		n := text(string(p.Status)) + text(p.Summary) + s.content(&p.Details) + s.members(p.Extra)
		if len(p.Artifacts) > 0 {
			n += s.of(reflect.ValueOf(p.Artifacts))
		}
		return n
	}
	return s.of(reflect.ValueOf(payload))
}

func text(s string) int { return int(reflect.TypeFor[string]().Size()) + len(s) }

func (s *sizer) content(c *Content) int {
	n := int(reflect.TypeFor[any]().Size()) + len(c.raw)
	if c.value != nil {
		n += s.value(c.value)
	}
	return n
}

// value is [sizer.of] for a value, without reflection for a short object of texts.
func (s *sizer) value(v any) int {
	switch v := v.(type) {
	case string:
		s.left--
		return text(v)
	case map[string]any:
		if 2*len(v) > s.left {
			break
		}
		n := 0
		s.left -= 2 * len(v)
		for name, member := range v {
			n += text(name) + int(reflect.TypeFor[any]().Size()) + s.value(member)
		}
		return n
	}
	return s.of(reflect.ValueOf(v))
}

func (s *sizer) members(m Members) int {
	if len(m) == 0 {
		return 0
	}
	return s.of(reflect.ValueOf(m))
}

// of returns the approximate size of v and of the values it refers to, in bytes. It also
// terminates for a value that contains itself.
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

// rest estimates the size of all elements when the visited ones, seen in number, have n
// bytes. Without a visited element, each counts as eight bytes.
func rest(n, seen, all int) int {
	if seen == 0 {
		return 8 * all
	}
	return n + n/seen*(all-seen)
}
