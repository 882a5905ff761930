package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// FuzzTexts: whatever is in names, ids and payloads, an answer is JSON without the characters that
// begin markup or end a line in a script, which has the texts as they were; and an event of the
// stream is one event with one line of data.
func FuzzTexts(f *testing.F) {
	f.Add("Jules", "c-1", "a text")
	f.Add("</script><script>alert(1)</script>", "\x1b[31m\u202e", "data: x\n\nevent: lost\ndata: {\"lost\":9}\n\n")
	f.Add("a&b", "../../etc/%2e%2e?x=y#z", "\u2028\u2029\r\n\x00\x7f\xff")
	f.Add("名\u200d前", " ", `"}],"error":{"code":"x`)
	n, err := runtime.New(runtime.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = n.Stop(context.Background()) })
	r, err := observe.New(n, observe.Options{Conversations: 10})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(r.Close)
	h, err := api.New(api.Options{Node: n, Recorder: r})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(h.Close)
	f.Fuzz(func(t *testing.T, name, id, text string) {
		m, err := performatives.New(performatives.Envelope{
			ID: performatives.NewID(), ConversationID: performatives.ConversationID(id), Timestamp: time.Now(), Performative: performatives.ActInform,
			MessageType: "A_TYPE", Sender: performatives.AgentID(name), Receiver: "b", Protocol: text, Payload: map[string]any{"text": text, name: id},
		})
		if err != nil {
			t.Skip(err)
		}
		sent := events.MessageSent{At: events.At{Time: time.Now()}, Message: m}
		n.Events().Publish(sent)
		n.Events().Publish(events.MessageRefused{At: sent.At, Message: m, Refusal: &performatives.Refusal{Code: performatives.CodeBusy, Text: text}})
		for _, path := range []string{"/api/conversations/" + url.PathEscape(id), "/api/conversations", "/api/refusals"} {
			got := ask(h, "GET", path, "")
			if strings.HasPrefix(path, "/api/conversations/") && (got.Code == http.StatusBadRequest || got.Code == http.StatusNotFound) {
				continue // the id is empty, or dots
			}
			body := got.Body.Bytes()
			if got.Code != http.StatusOK || !json.Valid(body) || bytes.ContainsAny(body, "<>&\u2028\u2029") || bytes.Count(body, []byte("\n")) != 1 {
				t.Errorf("%s: %d %q", path, got.Code, body)
			}
			if want := quote(string(m.Sender())); !bytes.Contains(body, want) && path != "/api/conversations" { // a list has no messages
				t.Errorf("%s: %s is not in %s", path, want, body)
			}
		}
		frame := h.Frame(events.Record{Seq: 7, Event: sent})
		lines := strings.Split(frame, "\n")
		if len(lines) != 5 || lines[0] != "event: message.sent" || lines[1] != "id: 7" || !strings.HasPrefix(lines[2], "data: ") || lines[3]+lines[4] != "" || strings.ContainsAny(frame, "\r<>&\u2028\u2029") {
			t.Fatalf("%q", frame)
		}
		var data struct {
			Protocol string `json:"protocol"`
			Message  struct {
				Sender string `json:"sender"`
			} `json:"message"`
		}
		if err := json.Unmarshal([]byte(lines[2][len("data: "):]), &data); err != nil || data.Message.Sender != string([]rune(string(m.Sender()))) || data.Protocol != string([]rune(m.Protocol())) {
			t.Errorf("%v: %q has become %q", err, name, data.Message.Sender)
		}
	})
}
