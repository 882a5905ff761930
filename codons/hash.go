package codons

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"reflect"
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Hash returns a hash of what two nodes must have in common to converse by the codon: its rows and
// its payload types.
func (c *Codon) Hash() uint64 {
	h := sha256.New()
	for _, row := range c.Table.Rows {
		_, _ = fmt.Fprintln(h, row.Role, row.From, row.On, row.To, row.Do) // a hash returns no error
	}
	for _, p := range c.Sends() {
		_, _ = fmt.Fprint(h, p.Act, " ")
		hashType(h, reflect.TypeOf(p.Type), nil)
	}
	for _, name := range c.Messages.names() {
		m := c.Messages[name]
		_, _ = fmt.Fprint(h, name, " ", m.Act, " ")
		hashType(h, m.Payload, nil)
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// hashType adds the form of a payload type: the names, tags and types of its fields. A type within
// itself is added by name.
func hashType(h hash.Hash, t reflect.Type, within []reflect.Type) {
	if t == nil {
		_, _ = fmt.Fprintln(h, "none")
		return
	}
	_, _ = fmt.Fprintln(h, t.Kind(), t.Name())
	if slices.Contains(within, t) {
		return
	}
	within = append(within, t)
	switch t.Kind() { // the others have no parts
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.IsExported() && f.Tag.Get("json") != performatives.MemberRetryAfter { // a hint, which a node may ignore
				_, _ = fmt.Fprintln(h, f.Name, f.Tag)
				hashType(h, f.Type, within)
			}
		}
	case reflect.Map:
		hashType(h, t.Key(), within)
		hashType(h, t.Elem(), within)
	case reflect.Array:
		_, _ = fmt.Fprintln(h, t.Len())
		hashType(h, t.Elem(), within)
	case reflect.Pointer, reflect.Slice:
		hashType(h, t.Elem(), within)
	}
}
