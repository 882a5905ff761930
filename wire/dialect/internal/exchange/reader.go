package exchange

import (
	"time"

	"github.com/ribosome-agents/ribosome/internal/isotime"
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Reader reads the members of an envelope. It stores the first error.
type Reader struct {
	Fault
	Members
	Names Names
	Path  string // what the names begin with in errors, such as "mcp_header."
}

// Open finds the members of a frame. It reports false for a frame that cannot be read.
func (r *Reader) Open(frame []byte, maxBytes, depth int) bool {
	s, bad := Open(frame, maxBytes, depth)
	if bad == nil && !r.Scan(&s, r.Names) {
		bad = Broken(s.Problem())
	}
	r.Refusal = bad
	return bad == nil
}

// Required reads a string that must be there and must not be empty.
func (r *Reader) Required(i int) string {
	v := r.Values[i]
	if !jsonscan.Is(v, '"') || len(v) == len(`""`) {
		r.Invalid(r.Path+r.Names[i], "a non-empty string", v)
		return ""
	}
	text, ok := jsonscan.Unquote(v)
	if !ok {
		r.Invalid(r.Path+r.Names[i], "text", v)
	}
	return string(text)
}

// Optional reads a string. It is empty if the member is absent or null.
func (r *Reader) Optional(i int) string {
	v := r.Values[i]
	if !jsonscan.IsNone(v) && !jsonscan.Is(v, '"') {
		r.Invalid(r.Path+r.Names[i], "a string or null", v)
	}
	return jsonscan.Text(v)
}

// Time reads a time that must be there.
func (r *Reader) Time(i int) time.Time {
	v := r.Values[i]
	if !jsonscan.Is(v, '"') {
		r.Invalid(r.Path+r.Names[i], "an ISO 8601 time", v)
		return time.Time{}
	}
	text := jsonscan.TextBytes(v)
	t, ok := isotime.Parse(text)
	if !ok || t.IsZero() {
		r.Wrong(r.Path+r.Names[i], "an ISO 8601 time, got %.48q", text)
	}
	return t
}

// KeepAll adds the unknown members of an object to the metadata of a message, under their names
// with a prefix.
func (f *Fault) KeepAll(unknown []Member, metadata *performatives.Members, prefix string) {
	for _, u := range unknown {
		if _, twice := (*metadata)[prefix+u.Name]; twice {
			f.Refuse(Broken("want no second " + u.Name))
		}
		Keep(metadata, prefix+u.Name, u.Value)
	}
}
