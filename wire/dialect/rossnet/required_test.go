package rossnet

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/wire"
)

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

// Each example of the specification, and of the addenda, without a member that it must have, or
// with one of a wrong kind, is refused: the sender gets ERROR with E003 and the name of the member,
// and the session goes on. Without any other member it is accepted. testdata/required.json has the
// members that are required after the addenda, by the type of the message, or "*" for each, and
// those that may have any value.
func TestRequiredMembers(t *testing.T) {
	text, err := os.ReadFile("testdata/required.json")
	if err != nil {
		t.Fatal(err)
	}
	var list map[string][]string
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	refused := make(map[string]int) // by type
	for _, v := range vectors(t) {
		var m struct {
			Header  map[string]json.RawMessage `json:"mcp_header"`
			Payload map[string]json.RawMessage
		}
		if !v.Valid || json.Unmarshal(v.Message, &m) != nil {
			continue
		}
		kind := jsonscan.Text(m.Header["message_type"])
		if text, err := json.Marshal(m.Payload); err != nil || list[kind] == nil || isField(kind, text) || m.Header["recipient_id"] == nil || m.Header["task_type"] != nil {
			continue // the clients in the field and the types of applications have rules of their own
		}
		required := slices.Concat(list["*"], list[kind])
		c := open(t)
		all := []string{"payload"}
		for _, name := range slices.Sorted(maps.Keys(m.Header)) {
			all = append(all, "mcp_header."+name)
		}
		for _, name := range slices.Sorted(maps.Keys(m.Payload)) {
			all = append(all, "payload."+name)
		}
		for _, path := range all {
			if in := c.items(without(t, v.Message, path, ""))[0]; slices.Contains(required, path) {
				refused[kind]++
				checkRefused(t, in, kind, v.Name+" without", path)
			} else if in.Err != nil {
				t.Errorf("%s without %s is refused: %v", v.Name, path, in.Err)
			}
			if !slices.Contains(list["anything"], path) && !slices.Contains(list["anything"], kind+" "+path) {
				other := "[7]"
				if path == "payload.results" {
					other = "7"
				}
				checkRefused(t, c.items(without(t, v.Message, path, other))[0], kind, v.Name+" with another kind of", path)
			}
			if in := c.items(string(v.Message))[0]; in.Err != nil || in.Message == nil {
				t.Errorf("%s, after one without %s: %v", v.Name, path, in.Err)
			}
		}
	}
	for kind, paths := range list {
		if kind != "*" && kind != "anything" && refused[kind] < len(paths)+len(list["*"]) {
			t.Errorf("of %s, only %d were refused", kind, refused[kind])
		}
	}
}

// checkRefused checks that a frame is refused because of the member at path, and that the sender is
// told, in rossnet.
func checkRefused(t *testing.T, in wire.Inbound, kind, what, path string) {
	t.Helper()
	switch {
	case in.Err == nil || in.Message != nil:
		t.Errorf("%s %s is accepted", what, path)
		return
	case in.Err.Field != path:
		t.Errorf("%s %s: the refusal names %q", what, path, in.Err.Field)
	}
	if kind == kindError && path != "mcp_header.message_type" {
		if in.Answer != nil {
			t.Errorf("%s %s is answered by %s", what, path, in.Answer) // and so without end
		}
		return
	}
	if code, text, field := errorOf(t, in.Answer); code != "E003" || field != path || !strings.HasPrefix(text, path+": ") {
		t.Errorf("%s %s is answered by %s", what, path, in.Answer)
	}
}
