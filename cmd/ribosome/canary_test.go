package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
)

// canary is in every secret of TestCanaries, and in nothing else.
const canary = "c4n4ry"

// secrets are members with secrets, at several depths.
var secrets = strings.ReplaceAll(`"password":"#","token":["#"],"deep":[{"x":{"api_key":"#","Authorization":"Bearer #"}}],"client_secret":{"a":{"b":"#"}},"cookies":["#"],"card":{"number":"#"},"number":5,"note":"kept"`, "#", canary)

// No secret is in any answer of the interface, in its stream, in what its commands print, in the
// metrics and spans, in the log or in the audit trail, wherever in a message it was. What is no
// secret is there.
func TestCanaries(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "tokens", "Ana "+canary+"-0123456789abcdefghijk\nCrm "+canary+"-abcdefghijk0123456789\n")
	writeFile(t, "ana", canary+"-0123456789abcdefghijk")
	collector := collects(t)
	n := hosts(t, "--tokens", "tokens", "--swarm", "eddyjules", "--http", "127.0.0.1:0", "--approvals", "ops", "--audit", "trail.jsonl", "--otlp", collector.URL,
		"--log-messages", "--message-log", "messages.log", "--mask", "card.number")
	c, url := browser(t, nil), served(n.running)
	token := canary + "-0123456789abcdefghijk"
	stream, err := http.NewRequestWithContext(t.Context(), "GET", url+"/api/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	stream.Header.Set("Authorization", "Bearer "+token)
	events, err := c.Do(stream)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = events.Body.Close() }()
	tail := begins(t, "tail", "--json", "--steps", "--addr", url, "--token-file", "ana")

	var live bytes.Buffer
	await := func(what string) {
		t.Helper()
		part := make([]byte, 4<<10)
		for !strings.Contains(live.String(), what) {
			k, err := events.Body.Read(part)
			if live.Write(part[:k]); err != nil {
				t.Fatalf("before %q: %v", what, err)
			}
		}
	}
	agent, err := (&clientFlags{Addr: n.at["tcp"], As: "Ana", credentialFlags: credentialFlags{TokenFile: "ana"}}).plan(io.Discard)
	if err == nil {
		err = agent.join(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer agent.leave()
	asked := 0
	say := func(receiver string, act performatives.Performative, payload string) {
		t.Helper()
		asked++
		m, err := performatives.New(performatives.Envelope{
			ID: performatives.MessageID(fmt.Sprint("m", asked)), ConversationID: performatives.ConversationID(fmt.Sprint("said", asked)),
			Timestamp: time.Now(), Performative: act, Sender: "Ana", Receiver: performatives.AgentID(receiver), Payload: performatives.Raw(payload),
			Metadata: map[string]json.RawMessage{"auth_token": []byte(`"` + canary + `"`), "deep": []byte("{" + secrets + "}")},
		})
		if err == nil {
			err = agent.Self().Send(m)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	say("Jules", performatives.ActTaskRequest, `{"task_type":"debug_code","task_description":"x","task_parameters":{"code":"for x in y:\n  pass",`+secrets+`}}`)
	say("Jules", performatives.ActRequest, `{"action":"fly","parameters":{`+secrets+`},`+secrets+`}`)
	say("Jules", performatives.ActTaskRequest, `{"task_type":5,`+secrets+`}`)
	say("Nobody", performatives.ActRequest, `{"action":"fly",`+secrets+`}`)
	say("Nobody", performatives.ActInform, `{`+secrets+`}`)
	go func() {
		_, _ = approval.Approve(t.Context(), agent, "ops", approval.Step{What: "deploy", Data: performatives.ContentOf(json.RawMessage("{" + secrets + "}"))})
	}()
	await(`"conversation_id":"said5"`)
	await(`"deploy"`)
	for late := time.Now().Add(patience.Time); ; { // the step has been sent, and is in the queue a little later
		if _, waiting := ask(t, c, "GET", url+"/api/approvals", token); strings.Contains(waiting, "deploy") {
			break
		}
		if time.Now().After(late) {
			t.Fatal("no step waits for an approval")
		}
	}

	seen := map[string]string{"the stream": live.String()}
	for _, path := range []string{
		"/api/openapi.json", "/api/node", "/api/nodes", "/api/members", "/api/agents", "/api/refusals", "/api/rates", "/api/conversations", "/api/codons/task-delegation", "/api/approvals", "/metrics",
		"/api/conversations/none", "/api/conversations?text=" + canary,
	} {
		_, seen[path] = ask(t, c, "GET", url+path, token)
	}
	_, seen["the answer to another token"] = ask(t, c, "GET", url+"/api/node", canary+"-x")
	for i := range asked {
		id := fmt.Sprint("said", i+1)
		_, seen[id] = ask(t, c, "GET", url+"/api/conversations/"+id, token)
		seen["trace "+id] = fmt.Sprint(runs(t, "trace", id, "--addr", url, "--token-file", "ana"))
	}
	for _, command := range []string{"conversations", "top", "approvals", "conversations --json", "top --json", "approvals --json"} {
		seen[command] = fmt.Sprint(runs(t, append(strings.Fields(command), "--addr", url, "--token-file", "ana")...))
	}
	for _, what := range []string{"the stream", "said1", "said2", "/api/approvals", "approvals", "trace said1"} {
		if !strings.Contains(seen[what], `***`) || !strings.Contains(seen[what], "kept") {
			t.Errorf("%s shows nothing that is masked: %s", what, seen[what])
		}
	}
	for late := time.Now().Add(patience.Time); !strings.Contains(tail.stdout.String(), "kept"); { // it shows what is said once it has connected
		if time.Now().After(late) {
			t.Fatalf("tail shows nothing, but %s", tail.stderr.String())
		}
		say("Nobody", performatives.ActInform, "{"+secrets+"}")
		await(fmt.Sprintf(`"conversation_id":"said%d"`, asked))
	}
	seen["tail"] = fmt.Sprint(tail.end())
	seen["the log"] = fmt.Sprint(n.end())
	if seen["the collector"] = string(collector.raw); !slices.Contains(collector.paths, otlpTraces) || !slices.Contains(collector.paths, otlpMetrics) {
		t.Errorf("a collector gets requests to %v", collector.paths)
	}
	trail, err := os.ReadFile("trail.jsonl")
	if err != nil || !strings.Contains(string(trail), "said1") {
		t.Errorf("%v: the trail is\n%s", err, trail)
	}
	seen["the trail"] = string(trail)
	messages, err := os.ReadFile("messages.log")
	if err != nil || !strings.Contains(string(messages), `MCP_MESSAGE_RECEIVED: {`) || !strings.Contains(string(messages), `"note":"kept"`) || !strings.Contains(string(messages), `"number":5`) {
		t.Errorf("%v: the log of messages is\n%s", err, messages)
	}
	seen["the log of messages"] = string(messages)
	for what, text := range seen {
		if i := strings.Index(text, canary); i >= 0 {
			t.Errorf("%s has a secret: …%s…", what, text[max(0, i-200):min(len(text), i+200)])
		}
	}
}
