package acl

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// demands is testdata/required.json: the members that a message must have after the addenda, by its
// act, or its act and its query_type, or "*" for each; and those that may have a value of any kind.
type demands struct {
	Required map[string][]string
	Anything []string
}

// without returns a message that lacks the member at path, or has another value there.
func without(t *testing.T, message []byte, path, value string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(message, &m); err != nil {
		t.Fatal(err)
	}
	name, rest, deeper := strings.Cut(path, ".")
	switch {
	case deeper:
		m[name] = json.RawMessage(without(t, m[name], rest, value))
	case value == "":
		delete(m, name)
	default:
		m[name] = json.RawMessage(value)
	}
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// paths returns the members of an object, and of the objects in it.
func paths(t *testing.T, object []byte) (all []string) {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(object, &m); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, name)
		var in map[string]json.RawMessage
		if json.Unmarshal(m[name], &in) == nil {
			for _, inner := range slices.Sorted(maps.Keys(in)) {
				all = append(all, name+"."+inner)
			}
		}
	}
	return all
}

// Each example of the specification without a member that it must have, or with one of a wrong
// kind, is refused: the sender gets NOT_UNDERSTOOD with the code and the name of the member, and
// the session goes on. Without any other member it is accepted.
func TestRequiredMembers(t *testing.T) {
	text, err := os.ReadFile("testdata/required.json")
	if err != nil {
		t.Fatal(err)
	}
	var list demands
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	refused := make(map[string]int) // by act
	for _, v := range vectors(t) {
		var m struct {
			Version     string `json:"mcp_version"`
			MessageType string `json:"message_type"`
			Act         string `json:"performative"`
			Payload     json.RawMessage
		}
		if !v.Valid || json.Unmarshal(v.Message, &m) != nil || m.Version == "" || m.MessageType != "" || list.Required[m.Act] == nil {
			continue // the variant of IDE clients and the types of applications have rules of their own
		}
		var query struct {
			Type string `json:"query_type"`
		}
		if err := json.Unmarshal(m.Payload, &query); err != nil {
			t.Fatal(err)
		}
		required := slices.Concat(list.Required["*"], list.Required[m.Act], list.Required[m.Act+" "+query.Type])
		c, err := Dialect{}.Open(wire.CodecOptions{Local: "node", Stamper: stamps{}, MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths(t, v.Message) {
			if in := received(c, without(t, v.Message, path, "")); slices.Contains(required, path) {
				refused[m.Act]++
				checkNotUnderstood(t, in, m.Act, v.Name+" without", path)
			} else if in.Err != nil {
				t.Errorf("%s without %s is refused: %v", v.Name, path, in.Err)
			}
			if !slices.Contains(list.Anything, path) {
				checkNotUnderstood(t, received(c, without(t, v.Message, path, "[7]")), m.Act, v.Name+" with another kind of", path)
			}
			if in := received(c, string(v.Message)); in.Err != nil || in.Message == nil {
				t.Errorf("%s, after one without %s: %v", v.Name, path, in.Err)
			}
		}
	}
	for key, paths := range list.Required {
		if act, _, _ := strings.Cut(key, " "); act != "*" && refused[act] < len(paths)+len(list.Required["*"]) {
			t.Errorf("of %s, only %d were refused", act, refused[act])
		}
	}
}

func received(c wire.Codec, frame string) (in wire.Inbound) {
	c.Decode([]byte(frame), func(got wire.Inbound) { in = got })
	return in
}

// checkNotUnderstood checks that a frame is refused because of the member at path, and that the
// sender is told, in acl.
func checkNotUnderstood(t *testing.T, in wire.Inbound, act, what, path string) {
	t.Helper()
	if in.Err == nil || in.Message != nil {
		t.Errorf("%s %s is accepted", what, path)
		return
	}
	if field := in.Err.Field; !strings.HasPrefix(field, path) && !strings.HasPrefix(path, field+".") {
		t.Errorf("%s %s: the refusal names %q", what, path, field)
	}
	if act == "NOT_UNDERSTOOD" && path != "performative" {
		if in.Answer != nil {
			t.Errorf("%s %s is answered by %s", what, path, in.Answer) // and so without end
		}
		return
	}
	var answer struct {
		Act     string `json:"performative"`
		Payload performatives.NotUnderstood
	}
	if err := json.Unmarshal(in.Answer, &answer); err != nil || answer.Act != "NOT_UNDERSTOOD" || answer.Payload.ReasonCode != in.Err.Code ||
		!strings.HasPrefix(answer.Payload.ReasonText, in.Err.Field+": ") {
		t.Errorf("%s %s is answered by %s (%v)", what, path, in.Answer, err)
	}
}

type stamps struct{}

func (stamps) Stamp() performatives.Stamp { return stamp }
