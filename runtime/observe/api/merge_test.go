package api_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// at returns the time of a second.
func at(second int) time.Time { return time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC) }

// shows is a node that answers with a view.
func shows(t *testing.T, view any) http.HandlerFunc {
	t.Helper()
	text, err := json.Marshal(view)
	if err != nil {
		t.Fatal(err)
	}
	return says(string(text))
}

// viewed returns what a node shows that knows nothing itself, among nodes that answer with views.
func viewed[T any](t *testing.T, path string, views ...any) (v T) {
	t.Helper()
	nodes := fakeNodes{}
	for i, view := range views {
		nodes[fmt.Sprint("n", i+2)] = shows(t, view)
	}
	_, h, _ := among(t, nodes)
	if got := ask(h.Handler, "GET", path, ""); got.Code != http.StatusOK || json.Unmarshal(got.Body.Bytes(), &v) != nil {
		t.Fatalf("%s: %d %s", path, got.Code, got.Body)
	}
	return v
}

// joined has for each case the records that two nodes have of one conversation, and the record that
// is shown, whichever node is first.
var joined = map[string]struct{ one, other, want observe.Conversation }{
	"where it came from": {
		observe.Conversation{Began: at(2), Updated: at(5), From: "b", To: "c"},
		observe.Conversation{Began: at(1), Updated: at(4), From: "a", To: "b", Parent: "p", Protocol: "x", Live: true},
		observe.Conversation{Began: at(1), Updated: at(5), From: "a", To: "b", Parent: "p", Protocol: "x", Live: true},
	},
	"the first has no messages": {
		observe.Conversation{Began: at(1), Updated: at(1)},
		observe.Conversation{Began: at(2), Updated: at(3), From: "a", To: "b"},
		observe.Conversation{Began: at(1), Updated: at(3), From: "a", To: "b"},
	},
	"counts": {
		observe.Conversation{Count: 7, Forgotten: 1},
		observe.Conversation{Count: 5, Forgotten: 2},
		observe.Conversation{Count: 7, Forgotten: 2},
	},
	"counts of what both have": {
		observe.Conversation{Count: 1, Messages: []observe.Message{{ID: "m", Time: at(1)}}},
		observe.Conversation{Count: 1, Messages: []observe.Message{{ID: "n", Time: at(2)}}},
		observe.Conversation{Count: 2, Messages: []observe.Message{{ID: "m", Time: at(1)}, {ID: "n", Time: at(2)}}},
	},
	"relayed by both": {
		observe.Conversation{Relayed: true, Lost: "node_lost"},
		observe.Conversation{Relayed: true},
		observe.Conversation{Relayed: true, Lost: "node_lost"},
	},
	"relayed by one": {
		observe.Conversation{Relayed: true, Lost: "node_lost"},
		observe.Conversation{Sides: []observe.Side{{Agent: "a"}}},
		observe.Conversation{Sides: []observe.Side{{Agent: "a"}}},
	},
	"sides and acts": {
		observe.Conversation{Sides: []observe.Side{{Agent: "b", Began: at(2)}}, Acts: []observe.Act{{Time: at(4), Who: "y"}}},
		observe.Conversation{Sides: []observe.Side{{Agent: "a", Began: at(1)}}, Acts: []observe.Act{{Time: at(3), Who: "x"}}},
		observe.Conversation{
			Sides: []observe.Side{{Agent: "a", Began: at(1)}, {Agent: "b", Began: at(2)}}, Acts: []observe.Act{{Time: at(3), Who: "x"}, {Time: at(4), Who: "y"}},
		},
	},
	"one message": {
		observe.Conversation{Count: 1, Messages: []observe.Message{{ID: "m", Time: at(2), Sent: 2, Received: 1, LeftOut: "too_long"}}},
		observe.Conversation{Count: 1, Messages: []observe.Message{{ID: "m", Time: at(1), Sent: 1, Received: 3, Refused: "busy", Payload: json.RawMessage(`{}`)}}},
		observe.Conversation{Count: 1, Messages: []observe.Message{{ID: "m", Time: at(1), Sent: 2, Received: 4, Refused: "busy", Payload: json.RawMessage(`{}`)}}},
	},
}

// Records of one conversation are one record, in a list and alone.
func TestJoinedConversations(t *testing.T) {
	for name, test := range joined {
		for _, c := range []*observe.Conversation{&test.one, &test.other, &test.want} {
			c.ID = "c"
		}
		for _, both := range [][]any{{test.one, test.other}, {test.other, test.one}} {
			got := viewed[observe.Conversation](t, "/api/conversations/c", both...)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			list := viewed[struct {
				Conversations []observe.Conversation `json:"conversations"`
			}](t, "/api/conversations", map[string]any{"conversations": both[:1]}, map[string]any{"conversations": both[1:]})
			if diff := cmp.Diff([]observe.Conversation{test.want}, list.Conversations, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, in a list: %s", name, diff)
			}
		}
	}
}

// merged has lists of two nodes, and what the list of both has: one member of each entry, or the
// entry itself, and the key of the last entry, where there are more.
var merged = []struct{ path, list, member, one, other, want, next string }{
	{"/api/conversations/c", "children", "", `{"children":["x","z"]}`, `{"children":["y","x"]}`, "[x y z]", ""},
	{"/api/conversations/c", "failures", "node", `{"failures":[{"time":"2026-01-02T03:04:01Z","node":"n2"}]}`, `{"failures":[{"time":"2026-01-02T03:04:02Z","node":"n3"}]}`, "[n3 n2]", ""},
	{
		"/api/conversations/c", "next_moves", "moves",
		`{"next_moves":[{"agent":"b","role":"responder","state":"x","moves":["4"]},{"agent":"a","role":"responder","state":"z","moves":["2"]}]}`,
		`{"next_moves":[{"agent":"c","role":"initiator","state":"y","moves":["1"]},{"agent":"b","role":"responder","state":"w","moves":["3"]}]}`, "[[1] [2] [3] [4]]", "",
	},
	{"/api/agents", "agents", "agent", `{"agents":[{"agent":"a","node":"n2"},{"agent":"c","node":"n3"}]}`, `{"agents":[{"agent":"B","node":"n3"}]}`, "[a B node w]", ""},
	{"/api/approvals", "approvals", "node", `{"approvals":[{"node":"n2"},{"node":"n2"}]}`, `{"approvals":[{"node":"n3"}]}`, "[n2 n2 n3]", ""},
	{"/api/nodes", "nodes", "node", `{"nodes":[{"node":"z"}]}`, `{"nodes":[{"node":"a"}]}`, "[a node z]", ""},
	{
		"/api/traces/t", "messages", "children",
		`{"trace":"t","messages":[{"id":"m","time":"2026-01-02T03:04:01Z"},{"id":"o","parent":"m","time":"2026-01-02T03:04:03Z"}]}`,
		`{"trace":"t","messages":[{"id":"n","parent":"m","time":"2026-01-02T03:04:02Z"},{"id":"m","time":"2026-01-02T03:04:04Z"}]}`, "[[n o] <nil> <nil>]", "",
	},
	{
		"/api/failures?limit=3", "failures", "node",
		`{"failures":[{"time":"2026-01-02T03:04:04Z","node":"n2"},{"time":"2026-01-02T03:04:01Z","node":"n4"}]}`,
		`{"failures":[{"time":"2026-01-02T03:04:05Z","node":"n3"},{"time":"2026-01-02T03:04:02Z","node":"n5"}]}`, "[n3 n2 n5]", "",
	},
	{
		"/api/refusals?limit=2", "refusals", "node",
		`{"refusals":[{"seq":1,"time":"2026-01-02T03:04:01Z","node":"n2"}],"next":"x"}`, `{"refusals":[{"seq":2,"time":"2026-01-02T03:04:01Z","node":"n3"}]}`,
		"[n3 n2]", "2026-01-02T03:04:01.00000000000000000000000000001n2",
	},
	{
		"/api/refusals?limit=2", "refusals", "node",
		`{"refusals":[{"seq":1,"time":"2026-01-02T03:04:01Z","node":"n2"}]}`, `{"refusals":[{"seq":1,"time":"2026-01-02T03:04:01Z","node":"n3"}]}`, "[n3 n2]", "",
	},
	{
		"/api/conversations?limit=1", "conversations", "conversation_id",
		`{"conversations":[{"conversation_id":"c","began":"2026-01-02T03:04:01Z"}]}`, `{"conversations":[{"conversation_id":"d","began":"2026-01-02T03:04:02Z"}]}`,
		"[d]", "2026-01-02T03:04:02.000000000\x9b\xff",
	},
	{
		"/api/conversations?limit=2", "conversations", "conversation_id",
		`{"conversations":[{"conversation_id":"c","began":"2026-01-02T03:04:01Z"}]}`, `{"conversations":[{"conversation_id":"b","began":"2026-01-02T03:04:01Z"}]}`, "[b c]", "",
	},
	{
		"/api/conversations?limit=3", "conversations", "conversation_id",
		`{"conversations":[{"conversation_id":"c","began":"2026-01-02T03:04:01Z"}],"next":"x"}`, `{"conversations":[]}`, "[c]", "2026-01-02T03:04:01.000000000\x9c\xff",
	},
}

// Lists of several nodes are one list: each entry is there once, in the order of the list.
func TestMergedLists(t *testing.T) {
	for _, test := range merged {
		got := viewed[map[string]any](t, test.path, json.RawMessage(test.one), json.RawMessage(test.other))
		var shown []any
		for _, entry := range got[test.list].([]any) {
			if members, ok := entry.(map[string]any); ok {
				entry = members[test.member]
			}
			shown = append(shown, entry)
		}
		next, _ := got["next"].(string)
		if key, err := base64.RawURLEncoding.DecodeString(next); err != nil || fmt.Sprint(shown) != test.want || string(key) != test.next {
			t.Errorf("%s: got %v and the key %q, want %s and %q", test.path, shown, key, test.want, test.next)
		}
	}
}

// The marks of all nodes are in one, and the counts of an interval are added.
func TestMergedMarksAndRates(t *testing.T) {
	marks := func(nodes ...string) string {
		all := map[string]observe.Mark{}
		for i, n := range nodes {
			all[n] = observe.Mark{Run: 1, Seq: uint64(i)}
		}
		text, _ := json.Marshal(all) // it can be encoded
		return hex.EncodeToString(text)
	}
	type marked struct {
		AsOf string `json:"as_of"`
	}
	for _, path := range []string{"/api/conversations", "/api/conversations/c"} {
		got := viewed[marked](t, path, marked{marks("n2")}, marked{marks("n3")})
		text, err := hex.DecodeString(got.AsOf)
		if err != nil || !strings.Contains(string(text), `"n2"`) || !strings.Contains(string(text), `"n3"`) {
			t.Errorf("%s: %s %v", path, text, err)
		}
	}
	type rates struct {
		Samples []observe.Sample `json:"samples"`
	}
	one := observe.Sample{Time: at(5), Messages: 1, Refused: 2, DeadLetters: 3, Begun: 4, Ended: 5, Errors: 6, Failed: 7}
	other, before := one, observe.Sample{Time: at(0), Errors: 1}
	got := viewed[rates](t, "/api/rates", rates{[]observe.Sample{one}}, rates{[]observe.Sample{before, other}})
	want := observe.Sample{Time: at(5), Messages: 2, Refused: 4, DeadLetters: 6, Begun: 8, Ended: 10, Errors: 12, Failed: 14}
	if diff := cmp.Diff([]observe.Sample{before, want}, got.Samples[:min(2, len(got.Samples))]); diff != "" {
		t.Error(diff)
	}
}

// What no node knows is unknown, or nobody can say whether it is there.
func TestUnknownAmongNodes(t *testing.T) {
	for path, unknown := range map[string]string{
		"/api/conversations/c": "unknown_conversation", "/api/conversations/c/tree": "unknown_conversation", "/api/traces/t": "unknown_trace", "/api/codons/x": "unknown_codon",
	} {
		for status, code := range map[int]string{http.StatusNotFound: unknown, http.StatusServiceUnavailable: "incomplete"} {
			_, h, _ := among(t, fakeNodes{"n2": refuses(status), "n3": refuses(http.StatusNotFound)})
			got := ask(h.Handler, "GET", path, "")
			if got.Code != http.StatusNotFound || !strings.HasPrefix(got.Body.String(), `{"error":{"code":"`+code+`"`) || strings.Contains(got.Body.String(), "n2") != (code == "incomplete") {
				t.Errorf("%s, where another node answers %d: %d %s", path, status, got.Code, got.Body)
			}
		}
	}
}

// A node that is asked again, for what others have said, counts once.
func TestTreeOfRepeatedAnswers(t *testing.T) {
	type tree struct {
		Root          string                 `json:"root"`
		Conversations []observe.Conversation `json:"conversations"`
	}
	root := observe.Conversation{ID: "c", Began: at(1), Sides: []observe.Side{{Agent: "a", Began: at(1)}}}
	below := observe.Conversation{ID: "d", Parent: "c", Began: at(2), Sides: []observe.Side{{Agent: "b", Began: at(2)}}}
	both := below
	both.Sides = append(both.Sides, observe.Side{Agent: "z", Began: at(3)})
	n2, n3 := tree{"d", []observe.Conversation{below}}, tree{"c", []observe.Conversation{root, {ID: "d", Parent: "c", Began: at(2), Sides: both.Sides[1:]}}}
	got := viewed[tree](t, "/api/conversations/d/tree", n2, n3)
	if diff := cmp.Diff(tree{"c", []observe.Conversation{root, both}}, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}
