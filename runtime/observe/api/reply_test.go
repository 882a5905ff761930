package api_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// say publishes a message of a conversation, begun in the work of another one or of none.
func say(t *testing.T, n *runtime.Node, id, conversation, parent string) *performatives.Message {
	t.Helper()
	e := performatives.Envelope{
		ID: performatives.MessageID(id), Performative: performatives.ActRequest, Sender: "a", Receiver: "b", ConversationID: performatives.ConversationID(conversation),
		Timestamp: time.Now(), Payload: performatives.Raw(`{"text":"` + strings.Repeat("dig ", 100) + `"}`),
	}
	if parent != "" {
		e.Metadata = map[string]json.RawMessage{"parent_conversation_id": json.RawMessage(`"` + parent + `"`)}
	}
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	n.Events().Publish(events.MessageSent{At: events.At{Time: m.Timestamp()}, Message: m})
	return m
}

// JSON is compressed for a client that takes it, except for what has contents of several agents,
// and for pages of other sites.
func TestCompressedAnswers(t *testing.T) {
	n, h, _ := serve(t, nil)
	for i := range 1000 {
		say(t, n, fmt.Sprint("m", i), fmt.Sprint("c", i), "")
	}
	for _, test := range []struct {
		path    string
		zipped  bool
		headers []string
	}{
		{"/api/conversations?limit=1000", true, nil},
		{"/api/conversations?limit=1000", true, []string{"Sec-Fetch-Site", "same-origin"}},
		{"/api/conversations?limit=1000", false, []string{"Sec-Fetch-Site", "cross-site"}},
		{"/api/conversations?limit=1000", false, []string{"Sec-Fetch-Site", "same-site"}},
		{"/api/conversations?limit=1000", false, []string{"Accept-Encoding", "identity"}},
		{"/healthz", false, nil}, // too short
		{"/api/approvals", false, nil},
		{"/api/refusals", false, nil},
		{"/api/openapi.json", true, nil},
	} {
		plain, zipped := ask(h, "GET", test.path, ""), ask(h, "GET", test.path, "", append([]string{"Accept-Encoding", "gzip, deflate, br"}, test.headers...)...)
		if got := zipped.Header().Get("Content-Encoding") == "gzip"; got != test.zipped || plain.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s %q: compressed: %v", test.path, test.headers, got)
			continue
		}
		text, long := zipped.Body.String(), plain.Body.Len()
		if test.zipped {
			if len(text)*4 > long {
				t.Errorf("%s: %d bytes, and %d compressed", test.path, long, len(text))
			}
			z, err := gzip.NewReader(zipped.Body)
			if err != nil {
				t.Fatal(err)
			}
			text = ""
			for part := make([]byte, 1<<16); err == nil; {
				var n int
				n, err = z.Read(part)
				text += string(part[:n])
			}
		}
		if text != plain.Body.String() {
			t.Errorf("%s %q: the texts differ", test.path, test.headers)
		}
	}
}

// A client that has an answer is told so.
func TestUnchangedAnswers(t *testing.T) {
	n, h, _ := serve(t, nil)
	say(t, n, "m1", "c1", "")
	first := ask(h, "GET", "/api/conversations", "")
	tag := first.Header().Get("ETag")
	if again := ask(h, "GET", "/api/conversations", "", "If-None-Match", tag); tag == "" || again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("the same with the tag %q: %d %s", tag, again.Code, again.Body)
	}
	say(t, n, "m2", "c1", "")
	if other := ask(h, "GET", "/api/conversations", "", "If-None-Match", tag); other.Code != http.StatusOK || other.Header().Get("ETag") == tag {
		t.Errorf("another one: %d %s", other.Code, other.Body)
	}
	if none := ask(h, "GET", "/api/conversations/none", "", "If-None-Match", tag); none.Code != http.StatusNotFound || none.Header().Get("ETag") != "" {
		t.Errorf("an error: %d %v", none.Code, none.Header())
	}
}

// A client reads what has changed since its last answer: conversations of the list, and messages of
// a conversation.
func TestSince(t *testing.T) {
	n, h, _ := serve(t, nil)
	say(t, n, "m1", "c1", "")
	say(t, n, "m2", "c2", "")
	second := say(t, n, "m3", "c2", "")
	type answer struct {
		AsOf          string                 `json:"as_of"`
		Conversations []observe.Conversation `json:"conversations"`
		Messages      []observe.Message      `json:"messages"`
		Count         int                    `json:"message_count"`
	}
	list, one := read[answer](t, h, "/api/conversations"), read[answer](t, h, "/api/conversations/c2")
	if len(list.Conversations) != 2 || len(one.Messages) != 2 {
		t.Fatalf("at first there are %+v and %+v", list, one)
	}
	if same := read[answer](t, h, "/api/conversations?since="+list.AsOf); len(same.Conversations) > 0 || same.AsOf != list.AsOf {
		t.Errorf("nothing has changed, and there is %+v", same)
	}
	if same := read[answer](t, h, "/api/conversations/c2?since="+one.AsOf); len(same.Messages) > 0 || same.Count != 2 {
		t.Errorf("nothing has changed, and there is %+v", same)
	}
	n.Events().Publish(events.MessageReceived{At: events.At{Time: time.Now()}, Agent: "b", Message: second})
	say(t, n, "m4", "c2", "")
	list, one = read[answer](t, h, "/api/conversations?since="+list.AsOf), read[answer](t, h, "/api/conversations/c2?since="+one.AsOf)
	if len(list.Conversations) != 1 || list.Conversations[0].ID != "c2" {
		t.Errorf("changed are %+v", list.Conversations)
	}
	if len(one.Messages) != 2 || one.Messages[0].ID != "m3" || one.Messages[0].Received != 1 || one.Messages[1].ID != "m4" || one.Count != 3 {
		t.Errorf("changed are %+v", one)
	}
	n.Events().Publish(events.MessageRefused{At: events.At{Time: time.Now()}, Message: second})
	if one = read[answer](t, h, "/api/conversations/c2?since="+one.AsOf); len(one.Messages) != 1 || one.Messages[0].Refused == "" {
		t.Errorf("refused is %+v", one)
	}
	_, other, _ := serve(t, nil) // the mark of another run of the node means everything
	if all := ask(other, "GET", "/api/conversations?since="+list.AsOf, ""); all.Code != http.StatusOK {
		t.Errorf("%d %s", all.Code, all.Body)
	}
}
