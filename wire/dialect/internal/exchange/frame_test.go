package exchange_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

var names = exchange.Names{"id", "payload"}

func TestOpenAndScan(t *testing.T) {
	for frame, want := range map[string]string{
		` {"id":"a","payload":{"id":1},"x":[2],"\u0079":null} `:  "",
		`{"id":"a","payload":` + strings.Repeat(" ", 300) + `1}`: "want at most 300 bytes, got 322",
		`{"id":"a","payload":` + strings.Repeat(" ", 279) + `1`:  "at byte 300: want a comma or the end of the object, got the end",
		"{\"id\":\"\xff\"}":    "want UTF-8, got other bytes",
		`[1]`:                  "message: want an object, got an array",
		` "a"`:                 "message: want an object, got a string",
		`[`:                    "at byte 1: want a value, got the end",
		``:                     "at byte 0: want a value, got the end",
		`{"id":1}}`:            "at byte 8: want nothing more, got '}'",
		`{"id":1,"\u0069d":2}`: "at byte 18: want no second id, got '2'",
		`{"\ud800":1}`:         "at byte 10: want a name without half a surrogate pair, got '1'",
		`{"id":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + `}`: "at byte 133: want no deeper nesting, got '['",
		`{"payload":1,"id":2,"id":3 }`:                                       "at byte 25: want no second id, got '3'",
	} {
		var m exchange.Members
		s, bad := exchange.Open([]byte(frame), 300)
		if bad == nil && !m.Scan(&s, names) {
			bad = exchange.Broken(s.Problem())
		}
		switch {
		case want == "" && (bad != nil || string(m.Values[0]) != `"a"` || len(m.Unknown) != 2 || m.Unknown[1].Name != "y"):
			t.Errorf("%s: %v, %s, %v", frame, bad, m.Values, m.Unknown)
		case want != "" && (bad == nil || bad.Text != want):
			t.Errorf("%s: %v, want %s", frame, bad, want)
		}
	}
}

// The members of one value are found while it is scanned. Of two of a name the last counts. A value
// that is no object has none, and no member of another value is taken for one.
func TestNested(t *testing.T) {
	for frame, want := range map[string]string{
		`{"id":{"a":0,"b":0},"payload": {"a":1,"x":{"a":2},"\u0062": "c" ,"a": 33 } }`: `33 "c"`,
		`{"id":{"a":0,"b":0},"payload":["a"]}`:                                         " ",
		`{"id":1,"payload":{"a":1,"b"}}`:                                               "at byte 28: want a colon, got '}'",
		`{"id":1,"payload":{"a":[1}}`:                                                  "at byte 25: want a comma or the end of the array, got '}'",
	} {
		m := exchange.Members{Nested: exchange.Nested{In: 1, Names: exchange.Names{"a", "b"}}}
		s, bad := exchange.Open([]byte(frame), 0)
		if bad == nil && !m.Scan(&s, names) {
			bad = exchange.Broken(s.Problem())
		}
		got := fmt.Sprintf("%s %s", m.Nested.Values[0], m.Nested.Values[1])
		if bad != nil {
			got = bad.Text
		}
		if got != want {
			t.Errorf("%s: %s, want %s", frame, got, want)
		}
		for i, v := range m.Nested.Values {
			if end := m.Nested.Ends[i]; v != nil && frame[end-len(v):end] != string(v) {
				t.Errorf("%s: %s does not end at %d", frame, v, end)
			}
		}
	}
}

func many(name string, n int) string {
	return strings.TrimSuffix(strings.Repeat(`"`+name+`":1, `, n), ", ")
}

// The unknown members of a frame are bounded; a frame has any number of bytes without a limit.
func TestUnknownMembersAreBounded(t *testing.T) {
	for _, n := range []int{exchange.MaxUnknown, exchange.MaxUnknown + 1} {
		var m exchange.Members
		s, bad := exchange.Open([]byte(`{`+many("x", n)+`}`), 0)
		if ok := m.Scan(&s, names); bad != nil || ok != (n == exchange.MaxUnknown) || !ok && s.Want != "no more unknown members" {
			t.Errorf("%d members: %t, %v, %s", n, ok, bad, s.Want)
		}
	}
}

func TestFaultIsTheFirst(t *testing.T) {
	var f exchange.Fault
	f.Wrong("a", "a time, got %q", "x")
	f.Invalid("b", "a string", []byte("1"))
	f.Refuse(exchange.Broken("broken"))
	if r := f.Refusal; r.Code != performatives.CodeInvalidPayload || r.Field != "a" || r.Text != `a: want a time, got "x"` {
		t.Errorf("%+v", r)
	}
	f = exchange.Fault{}
	f.Invalid("b", "a string", []byte("1"))
	if r := f.Refusal; r.Field != "b" || r.Text != "b: want a string, got a number" {
		t.Errorf("%+v", r)
	}
}

func TestRenamed(t *testing.T) {
	fields := map[string]string{"sender": "sender_id", "payload.task_type": "payload.name"}
	for _, tt := range []struct {
		field, text, want, renamed string
	}{
		{"sender", "sender: want an id", "sender_id", "sender_id: want an id"},
		{"sender", "an id is missing", "sender_id", "sender_id: an id is missing"},
		{"senders", "senders: want an id", "senders", "senders: want an id"},
		{"payload.task_type.x", "payload.task_type.x: want 1", "payload.name.x", "payload.name.x: want 1"},
	} {
		err := &performatives.Refusal{Code: performatives.CodeInvalidID, Field: tt.field, Text: tt.text}
		r := exchange.Renamed(err, fields)
		if r.Code != err.Code || r.Field != tt.want || r.Text != tt.renamed || err.Field != tt.field {
			t.Errorf("%+v becomes %+v", err, r)
		}
	}
	if r := exchange.Renamed(errNone, nil); r.Code != performatives.CodeInvalidPayload || strings.Contains(r.Text, "secret") {
		t.Errorf("another error becomes %+v", r)
	}
}

const errNone = none("secret")

type none string

func (n none) Error() string { return string(n) }

func TestLegible(t *testing.T) {
	long := strings.Repeat("a", performatives.MaxIDLength)
	for v, want := range map[string]string{
		`"a\u0062"`: "ab", `"` + long + `"`: long, `"` + long + `a"`: "", `"a\u0007"`: "", `"a\u0085"`: "", `"a\ud800"`: "", `1`: "", ``: "",
	} {
		if got := exchange.Legible([]byte(v)); got != want {
			t.Errorf("%.20s is read as %.20q", v, got)
		}
	}
}

// A set of acts has those that it was made of: each act has a bit of its own.
func TestActs(t *testing.T) {
	for act := range performatives.Performatives() {
		set := exchange.SetOf(act)
		for other := range performatives.Performatives() {
			if set.Has(other) != (other == act) {
				t.Errorf("the set of %s has %s: %v", act, other, set.Has(other))
			}
		}
	}
}

// The sets that the dialects share.
func TestSets(t *testing.T) {
	for want, set := range map[string]exchange.Set[performatives.Performative]{
		"AGREE STATUS_UPDATE TASK_ACCEPT":           exchange.Interim,
		"FAILURE NOT_UNDERSTOOD REFUSE TASK_REJECT": exchange.Refusals,
		"REQUEST TASK_REQUEST":                      exchange.Opening,
	} {
		var names []string
		for act := range performatives.Performatives() {
			if set.Has(act) {
				names = append(names, act.String())
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Of more than 1,024 members, the rest are dropped.
func TestRestIsBounded(t *testing.T) {
	var all performatives.Members
	keep := exchange.Rest(&all)
	for i := range exchange.MaxUnknown {
		keep(strconv.Itoa(i), []byte("1"))
	}
	if len(all) != exchange.MaxUnknown {
		t.Errorf("%d members", len(all))
	}
	keep("more", []byte("1"))
	exchange.Rest(&all)("more", []byte("1"))
	if len(all) != exchange.MaxUnknown || all["more"] != nil {
		t.Errorf("%d members", len(all))
	}
}

// The digest of a message depends on each text, on where it ends, and on the payload.
func TestDigest(t *testing.T) {
	seen := make(map[[32]byte]string)
	for _, parts := range [][]string{{"", "a", "b"}, {"", "ab", ""}, {"", "", "ab"}, {"", "a", "c"}, {"p", "a", "b"}, {"b", "a", ""}} {
		sum := exchange.Digest([]byte(parts[0]), parts[1:]...)
		if other, twice := seen[sum]; twice {
			t.Errorf("%q has the digest of %s", parts, other)
		}
		seen[sum] = strings.Join(parts, "|")
	}
}

// The members of an object are kept under their names, of which the reserved ones get a prefix. None
// may come twice, and there may be so many.
func TestKeepObject(t *testing.T) {
	var kept performatives.Members
	var f exchange.Fault
	f.KeepObject("metadata", []byte(`{"a":1,"own.b":2}`), &kept, "metadata.", "own.")
	if f.Refusal != nil || len(kept) != 2 || string(kept["a"]) != "1" || string(kept["metadata.own.b"]) != "2" {
		t.Errorf("kept %s, %v", kept, f.Refusal)
	}
	var many strings.Builder
	for i := range exchange.MaxUnknown + 1 {
		fmt.Fprintf(&many, `,"%d":0`, i)
	}
	for object, want := range map[string]performatives.Code{
		`{"a":1,"a":2}`: performatives.CodeParsingError, "{" + many.String()[1:] + "}": performatives.CodeInvalidPayload,
	} {
		var kept performatives.Members
		var f exchange.Fault
		if f.KeepObject("metadata", []byte(object), &kept, "metadata."); f.Refusal == nil || f.Refusal.Code != want {
			t.Errorf("%.20s: %v", object, f.Refusal)
		}
	}
}
