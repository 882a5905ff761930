package jsonscan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Builder writes the members of one object. It stores the first error, and writes on.
type Builder struct {
	JSON  []byte // up to the last member
	Depth int    // nesting levels that the value of a member may have; zero means 10,000
	Err   error  // the first member that cannot be written
}

// OpenObject returns a Builder of an object that is appended to dst.
func OpenObject(dst []byte) Builder { return Builder{JSON: append(dst, '{')} }

// Reopen returns a Builder that adds members to a copy of an object, which ends with its brace.
func Reopen(object []byte) Builder { return Builder{JSON: bytes.Clone(object[:len(object)-1])} }

// Empty reports whether the object has no member yet.
func (b *Builder) Empty() bool { return b.JSON[len(b.JSON)-1] == '{' }

// Fail stores the first error.
func (b *Builder) Fail(err error) {
	if b.Err == nil {
		b.Err = err
	}
}

// Name writes the name of the next member, whose value the caller appends.
func (b *Builder) Name(name string) {
	if !b.Empty() {
		b.JSON = append(b.JSON, ',')
	}
	b.JSON = append(AppendQuoted(b.JSON, name), ':')
}

// Text writes a member that is a string.
func (b *Builder) Text(name, text string) {
	b.Name(name)
	b.JSON = AppendQuoted(b.JSON, text)
}

// OptionalText writes a member that is a string, unless it is empty.
func (b *Builder) OptionalText(name, text string) {
	if text != "" {
		b.Text(name, text)
	}
}

// TextOrNull writes a member that is a string, or null for an empty one.
func (b *Builder) TextOrNull(name, text string) {
	if text == "" {
		b.Raw(name, []byte("null"))
		return
	}
	b.Text(name, text)
}

// Raw writes a member whose JSON is valid.
func (b *Builder) Raw(name string, v []byte) {
	b.Name(name)
	b.JSON = append(b.JSON, v...)
}

// Checked writes a member whose JSON may be invalid.
func (b *Builder) Checked(name string, v []byte) {
	s := Scanner{Data: v, Depth: b.Depth}
	if s.Depth == 0 {
		s.Depth = maxDepth
	}
	if !s.Value() || !s.End() {
		b.Fail(fmt.Errorf("%s: %s", name, s.Problem()))
	}
	b.Raw(name, v)
}

// Value writes a member as [Marshal] does.
func (b *Builder) Value(name string, v any) {
	text, err := Marshal(v)
	if err != nil {
		b.Fail(fmt.Errorf("%s: %w", name, err))
	}
	b.Raw(name, text)
}

// Open begins a member that is an object. End ends it.
func (b *Builder) Open(name string) {
	b.Name(name)
	b.JSON = append(b.JSON, '{')
}

// End ends the object that Open has begun.
func (b *Builder) End() { b.JSON = append(b.JSON, '}') }

// Sorted writes members whose JSON may be invalid, sorted by name, except those in without and
// those that are absent.
func (b *Builder) Sorted(members map[string]json.RawMessage, without ...string) {
	var room [16]string
	names := room[:0]
	for name, v := range members {
		if len(v) > 0 && !slices.Contains(without, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		b.Checked(name, members[name])
	}
}

// Close ends the object and returns it, or the first error.
func (b *Builder) Close() ([]byte, error) { return append(b.JSON, '}'), b.Err }
