package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// operated is a node with the swarm, an inbox of approvals and an operator's interface, which has
// performed one task.
func operated(t *testing.T, args ...string) (n begun, url, id string) {
	t.Helper()
	t.Chdir(t.TempDir())
	n = hosts(t, append([]string{"--no-auth", "--swarm", "eddyjules", "--http", "127.0.0.1:0", "--approvals", "ops"}, args...)...)
	url = served(n.running)
	if r := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", n.at["tcp"]); r.code != exitDone {
		t.Fatalf("got %+v", r)
	}
	nothingLive(t, url)
	var all []observe.Conversation
	r := operates(t, url, "conversations", "--agent", "jules", "--act", "TASK_REQUEST", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &all); err != nil || len(all) != 1 {
		t.Fatalf("%v: %+v", err, r)
	}
	return n, url, string(all[0].ID)
}

// operates runs a command of operators, which succeeds.
func operates(t *testing.T, url, command string, args ...string) ran {
	t.Helper()
	r := runs(t, append([]string{command, "--addr", url}, args...)...)
	if r.code != exitDone || r.stderr != "" {
		t.Errorf("%s: %+v", command, r)
	}
	return r
}

// nothingLive waits until no conversation is under way. The side of a worker ends a little after it
// has sent the result or the receipt.
func nothingLive(t *testing.T, url string) {
	t.Helper()
	for late := time.Now().Add(patience.Time); ; {
		r := operates(t, url, "conversations", "--live", "--json")
		if r.stdout == "[]\n" {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("under way is %s", r.stdout)
		}
	}
}

// An operator lists the conversations, reads one, sees that nothing waits, and cannot cancel what
// has ended or never was.
func TestOperator(t *testing.T) {
	n, url, id := operated(t)
	lines := strings.Split(operates(t, url, "conversations", "--codon", "task-delegation", "--limit", "1").stdout, "\n")
	if !strings.HasPrefix(lines[0], "BEGAN ") || !strings.Contains(lines[1], "  task-delegation  ") || !strings.HasSuffix(lines[1], "  "+id) || len(lines) != 3 {
		t.Errorf("the list is %q", lines)
	}
	if r := operates(t, url, "conversations", "--live"); strings.Count(r.stdout, "\n") != 1 {
		t.Errorf("under way are\n%s", r.stdout)
	}
	r := operates(t, url, "trace", id)
	for _, part := range []string{id + " task-delegation ", " → Jules ", "TASK_REQUEST ", "TASK_ACCEPT ", "INFORM_RESULT ", "order 1001 paid"} {
		if !strings.Contains(r.stdout, part) {
			t.Errorf("the trace lacks %q:\n%s", part, r.stdout)
		}
	}
	if r := operates(t, url, "trace", id, "--json"); !json.Valid([]byte(r.stdout)) || !strings.HasPrefix(r.stdout, `[{"conversation_id":"`+id) {
		t.Errorf("the trace is %s", r.stdout)
	}
	if r := operates(t, url, "top"); !strings.HasPrefix(r.stdout, "AGENT  NODE  QUEUED  URGENT ") || !strings.Contains(r.stdout, "\nJules  node  0       0 ") {
		t.Errorf("the list of agents is\n%s", r.stdout)
	}
	if r := operates(t, url, "top", "--json", "--limit", "2"); strings.Count(r.stdout, `"agent":`) != 2 {
		t.Errorf("the list of agents is\n%s", r.stdout)
	}
	if r := operates(t, url, "cancel", id); !strings.HasPrefix(r.stdout, "it had ended before") {
		t.Errorf("%+v", r)
	}
	for want, args := range map[string][]string{
		"no conversation with this id":     {"cancel", "none", "--addr", url},
		"no conversation with this id is ": {"trace", "none", "--addr", url},
		"no open step has this number":     {"deny", "7", "--addr", url},
		`there is no node "n9"`:            {"approve", "7", "--on", "n9", "--addr", url},
		"something else speaks there":      {"top", "--addr", strings.Replace(n.at["tcp"], "tcp://", "http://", 1)},
		"to HTTPS client":                  {"top", "--addr", strings.Replace(url, "http://", "https://", 1)},
	} {
		r := runs(t, args...)
		if r.code != exitFailed || r.stdout != "" || !strings.Contains(r.stderr, want) && want != "to HTTPS client" || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%v: %+v", args, r)
		}
	}
	n.end()
	if r := runs(t, "top", "--addr", url); r.code != exitFailed || !strings.Contains(r.stderr, "start the node with --http") {
		t.Errorf("%+v", r)
	}
}

// As many pages are asked for as the limit needs, and no more.
func TestConversationsByPages(t *testing.T) {
	var asked []string
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("limit")+r.URL.Query().Get("cursor"))
		_, _ = w.Write([]byte(`{"conversations":[{"conversation_id":"a"},{"conversation_id":"b"}],"next":"x"}`))
	}))
	defer node.Close()
	r := operates(t, node.URL, "conversations", "--json", "--limit", "4")
	if strings.Count(r.stdout, `"conversation_id"`) != 4 || strings.Join(asked, " ") != "4 2x" {
		t.Errorf("asked for %q, printed %s", asked, r.stdout)
	}
}

// A conversation of which no side is known is listed with the agents of its first message.
func TestConversationWithoutSides(t *testing.T) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"conversations":[{"conversation_id":"a","from":"Ann","to":"Bob"},{"conversation_id":"b","from":"Ann"},{"conversation_id":"c"}]}`))
	}))
	defer node.Close()
	r := operates(t, node.URL, "conversations")
	for _, want := range []string{"Ann Bob 0 a", "Ann all 0 b", "- - 0 c"} {
		if !strings.Contains(strings.Join(strings.Fields(r.stdout), " "), want) {
			t.Errorf("the list lacks %s:\n%s", want, r.stdout)
		}
	}
}

// The tree of a trace is one request, however deep it is. A tree that a node describes as a circle
// is printed once, from its top.
func TestTraceAsksForTheTreeOnce(t *testing.T) {
	const deep = 300
	trees := 0
	tree := `{"conversation_id":"c0","parent_conversation_id":"c9"}`
	for i := range deep {
		tree += fmt.Sprintf(`,{"conversation_id":"c%d","parent_conversation_id":"c%d"}`, i+1, i)
	}
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch id := strings.TrimPrefix(r.URL.Path, "/api/conversations/"); id {
		case "c2/tree":
			trees++
			_, _ = w.Write([]byte(`{"root":"c0","conversations":[` + tree + `],"truncated":true,"missing":[{"node":"n2","reason":"gone"}]}`))
		case "c7":
			w.WriteHeader(http.StatusNotFound) // it is forgotten meanwhile
			_, _ = w.Write([]byte(`{"error":{"code":"unknown_conversation","text":"none"}}`))
		default:
			_, _ = fmt.Fprintf(w, `{"conversation_id":%q,"messages":[{"sender":"S","payload":"of %s"}]}`, id, id)
		}
	}))
	defer node.Close()
	r := runs(t, "trace", "c2", "--addr", node.URL)
	for _, want := range []string{"\n" + strings.Repeat("   ", deep-1) + "└─ ", "of c300\"\n", "  ←\n"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("the trace lacks %q:\n%.3000s", want, r.stdout)
		}
	}
	if trees != 1 || strings.Count(r.stdout, "└─ ") != deep || strings.Count(r.stdout, `"of c`) != deep {
		t.Errorf("the tree was asked for %d times, and has %d branches and %d messages", trees, strings.Count(r.stdout, "└─ "), strings.Count(r.stdout, `"of c`))
	}
	if !strings.Contains(r.stderr, "more than 301 conversations") || !strings.Contains(r.stderr, "n2") {
		t.Errorf("it says %q", r.stderr)
	}
	if r := runs(t, "trace", "c2", "--addr", node.URL, "--json"); strings.Count(r.stdout, `"conversation_id"`) != deep+1 || !strings.HasPrefix(r.stdout, `[{"conversation_id":"c0"`) {
		t.Errorf("it prints %.3000s", r.stdout)
	}
}

// The token does not go to the address that an answer names.
func TestOperatorIsNotRedirected(t *testing.T) {
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked = true
		_, _ = w.Write([]byte(`{"agents":[]}`))
	}))
	defer other.Close()
	node := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer node.Close()
	if r := runs(t, "top", "--addr", node.URL); r.code != exitFailed || asked || !strings.Contains(r.stderr, "answers 307") {
		t.Errorf("asked is %v: %+v", asked, r)
	}
}

// A node whose operator's interface has TLS is reached by https only, and the error says so.
func TestOperatorWithoutTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // of the failed handshake
	server.StartTLS()
	defer server.Close()
	r := runs(t, "check", "--addr", "http://"+server.Listener.Addr().String())
	if r.code != exitFailed || !strings.Contains(r.stderr, "use https:// if it wants TLS") {
		t.Errorf("%+v", r)
	}
}

// The agents with the most to do come first: by the queue, then by the wait, then by errors.
func TestOrderOfTop(t *testing.T) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"agents":[{"agent":"d"},{"agent":"c","errors":1},{"agent":"b","queued":{"low":1},"oldest_wait_s":1},` +
			`{"agent":"a","queued":{"low":1},"oldest_wait_s":2},{"agent":"first","queued":{"low":1,"high":1}}]}`))
	}))
	defer node.Close()
	var got []string
	for line := range strings.Lines(operates(t, node.URL, "top").stdout) {
		got = append(got, strings.Fields(line)[0])
	}
	if strings.Join(got, " ") != "AGENT first a b c d" {
		t.Errorf("the order is %q", got)
	}
}

// What is under way is cancelled with a receipt, or the operator is told that there is none.
func TestOperatorCancels(t *testing.T) {
	for outcome, want := range map[string]struct {
		code           int
		stdout, stderr string
	}{
		`{"outcome":"receipt","state":"cancelled"}`:    {exitDone, "cancelled: nothing of it runs any more\n", ""},
		`{"outcome":"already_ended","state":"done"}`:   {exitDone, "it had ended before: done\n", ""},
		`{"outcome":"still_running","state":"failed"}`: {exitFailed, "", "ribosome: there is no receipt: parts of it may still run (still_running)\n"},
		`{"outcome":"of another version"}`:             {exitFailed, "", "ribosome: there is no receipt: parts of it may still run (of another version)\n"},
		`{"outcome":"receipt","missing":[{"node":"n2","why":"it is slow"}]}`: {
			exitDone, "cancelled: nothing of it runs any more\n", "ribosome: the node n2 is missing: it is slow\n",
		},
		`{"outcome":"receipt","state":"cancelled"} json`: {exitDone, `{"outcome":"receipt","state":"cancelled"}` + "\n", ""},
	} {
		text, asJSON := strings.CutSuffix(outcome, " json")
		node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.URL.Path != "/api/conversations/a b/cancel" || r.Header.Get("Content-Type") != "application/json" {
				w.WriteHeader(http.StatusTeapot)
			}
			_, _ = w.Write([]byte(text))
		}))
		args := []string{"cancel", "a b", "--addr", node.URL}
		if asJSON {
			args = append(args, "--json")
		}
		if r := runs(t, args...); r.code != want.code || r.stdout != want.stdout || r.stderr != want.stderr {
			t.Errorf("%s: %+v", outcome, r)
		}
		node.Close()
	}
}

// With --pace, the work of the swarm takes as long as an operator needs to see it, and to cancel
// it: the receipt says that it has ended. What a program has asked for is cancelled at its
// responder, with all that was begun for it.
func TestOperatorCancelsWhatIsUnderWay(t *testing.T) {
	t.Chdir(t.TempDir())
	n := hosts(t, "--no-auth", "--swarm", "eddyjules", "--http", "127.0.0.1:0", "--pace", "1h")
	url := served(n.running)
	for agent, said := range map[string]string{"Jules": "Eddy gave no result: the request was cancelled (canceled)", "cli": "an operator has stopped the work"} {
		call := begins(t, "call", "Eddy", "debug_code", "-d", task, "--addr", n.at["tcp"], "--as", "cli")
		call.shows(&call.stderr, "reading the traceback")
		var live []observe.Conversation
		r := operates(t, url, "conversations", "--live", "--agent", agent, "--codon", "task-delegation", "--json") // a whisper to Jules may have just been answered
		if err := json.Unmarshal([]byte(r.stdout), &live); err != nil || len(live) != 1 {
			t.Fatalf("%v: under way is %+v", err, r)
		}
		if r := operates(t, url, "cancel", string(live[0].ID)); r.stdout != "cancelled: nothing of it runs any more\n" {
			t.Errorf("%+v", r)
		}
		if r := call.wait(); r.code != exitFailed || !strings.Contains(r.stderr, said) {
			t.Errorf("the call: %+v", r)
		}
		nothingLive(t, url)
	}
}

// A step waits in the inbox of --approvals until an operator decides. The audit trail has what
// operators did.
func TestOperatorApproves(t *testing.T) {
	n, url, id := operated(t, "--audit", "trail.jsonl")
	operates(t, url, "cancel", id, "--reason", "too late")
	acts := []observe.OperatorActed{{What: "cancel", Of: id, Reason: "too late", Outcome: "already_ended", Conversation: performatives.ConversationID(id)}}
	if r := operates(t, url, "trace", id); !strings.Contains(r.stdout, "cancel by an operator (127.0.0.1): already_ended, because too late") {
		t.Errorf("the trace is %s", r.stdout)
	}
	l, err := (&clientFlags{Addr: n.at["tcp"], As: "deployer"}).plan(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.join(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer l.leave()
	for word, want := range map[string]bool{"approve": true, "deny": false, "approve --json": true, "deny --json": false} {
		asked := make(chan approval.Approval, 1)
		go func() {
			a, _ := approval.Approve(t.Context(), l, "ops", approval.Step{What: "deploy", Data: performatives.ContentOf(map[string]string{"api_key": anasToken})})
			asked <- a
		}()
		var steps []api.StepView
		for late := time.Now().Add(patience.Time); len(steps) == 0 && time.Now().Before(late); {
			r := operates(t, url, "approvals", "--json")
			noSecrets(t, r)
			if err := json.Unmarshal([]byte(r.stdout), &steps); err != nil {
				t.Fatalf("%v: %+v", err, r)
			}
		}
		if len(steps) != 1 {
			t.Fatalf("%+v wait", steps)
		}
		number := strings.TrimSpace(string(mustJSON(t, steps[0].ID)))
		if r := operates(t, url, "approvals"); !strings.Contains(r.stdout, "\n"+number+"       node  deployer/client-") || !strings.Contains(r.stdout, `"deploy"`) {
			t.Errorf("the list is\n%s", r.stdout)
		}
		printed := map[string]string{
			"approve": "approved\n", "approve --json": `{"id":` + number + `,"node":"node","approved":true,"reason":"because"}` + "\n",
			"deny": "denied\n", "deny --json": `{"id":` + number + `,"node":"node","approved":false,"reason":"because"}` + "\n",
		}[word]
		if words := strings.Fields(word); operates(t, url, words[0], append(words[1:], number, "--reason", "because", "--on", "node")...).stdout != printed {
			t.Errorf("%s does not print %s", word, printed)
		}
		if a := <-asked; a.Approved != want || a.Reason != "because" {
			t.Errorf("%s: the agent gets %+v", word, a)
		}
		acts = append(acts, observe.OperatorActed{What: strings.Fields(word)[0], Of: number, Reason: "because", Outcome: "decided", Agent: performatives.AgentID(steps[0].From), Conversation: performatives.ConversationID(steps[0].Conversation)})
		if r := operates(t, url, "trace", string(steps[0].Conversation)); !strings.Contains(r.stdout, "deployer/client-") || !strings.Contains(r.stdout, " → ops") {
			t.Errorf("the trace of the step is %s", r.stdout)
		}
	}
	l.leave()
	n.end()
	text, err := os.ReadFile("trail.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var trail []observe.OperatorActed
	for line := range strings.Lines(string(text)) {
		var one struct {
			Kind events.Kind
			observe.OperatorActed
		}
		if json.Unmarshal([]byte(line), &one) == nil && one.Kind == observe.KindOperatorActed {
			one.Host, one.Time = "", time.Time{}
			trail = append(trail, one.OperatorActed)
		}
	}
	if !slices.Equal(trail, acts) {
		t.Errorf("the trail has\n%+v, want\n%+v", trail, acts)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Messages are printed as they are sent, with the steps only when they are wanted, and the command
// ends in order.
func TestTail(t *testing.T) {
	n, url, _ := operated(t)
	plain := begins(t, "tail", "--addr", url, "--agent", "Jules")
	all := begins(t, "tail", "--addr", url, "--codon", "task-delegation", "--steps", "--json")
	// A stream may begin in the midst of a delegation: it has seen a whole one when it has seen a
	// request, and an end after it.
	after := func(text, first, last string) bool {
		_, rest, found := strings.Cut(text, first)
		return found && strings.Contains(rest, last)
	}
	seen := func() bool {
		return after(plain.stdout.String(), " → Jules TASK_REQUEST ", "INFORM_RESULT") && after(all.stdout.String(), "TASK_REQUEST", `"to":"completed"`)
	}
	for late := time.Now().Add(patience.Time); !seen(); {
		if time.Now().After(late) {
			t.Fatalf("it prints\n%s and\n%s", plain.stdout.String(), all.stdout.String())
		}
		if r := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", n.at["tcp"]); r.code != exitDone {
			t.Fatalf("got %+v", r)
		}
	}
	p, a := plain.end(), all.end()
	if p.code != exitDone || a.code != exitDone || strings.Contains(p.stdout, "conversation.transition") || !strings.Contains(p.stdout, " → Jules TASK_REQUEST ") {
		t.Errorf("%+v and %+v", p, a)
	}
	for line := range strings.Lines(a.stdout) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
}

// When the node goes away, tail says so, and goes on when it is there again. What is lost or
// missing is said on stderr.
func TestTailGoesOn(t *testing.T) {
	connections := 0
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections++
		w.Header().Set("Content-Type", "text/event-stream")
		if connections == 1 {
			_, _ = w.Write([]byte(": events\n\nevent: node\ndata: {\"node\":\"n2\",\"state\":\"missing\",\"why\":\"refused\"}\n\nevent: lost\ndata: {\"lost\":7,\"node\":\"n1\"}\n\n"))
			return
		}
		_, _ = w.Write([]byte("event: node\ndata: {\"node\":\"n2\",\"state\":\"present\"}\n\nevent: message.sent\ndata: {\"kind\":\"message.sent\",\"message\":{\"performative\":\"INFORM\",\"sender\":\"a\"}}\n\n"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer node.Close()
	tail := begins(t, "tail", "--addr", node.URL)
	tail.shows(&tail.stdout, "a → all INFORM")
	r := tail.end()
	for _, want := range []string{
		"the events of the node n2 are missing: refused", "7 events of n1 came faster", "has ended the stream; next attempt in ", "the stream goes on; what happened in between",
		"the events of the node n2 follow",
	} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, r.stderr)
		}
	}
	if r.code != exitDone {
		t.Errorf("got %+v", r)
	}
}

// A token is asked for, checked, and never shown.
func TestOperatorsToken(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "tokens", "Ana "+anasToken+"\n")
	writeFile(t, "ana", anasToken)
	writeFile(t, "rules.json", `[{"agent":"Ana","operator":["read"]}]`)
	n := hosts(t, "--tokens", "tokens", "--rules", "rules.json", "--http", "127.0.0.1:0")
	url := served(n.running)
	for want, args := range map[string][]string{
		"give one with --token-file":              {"top"},
		"use one that it knows":                   {"top", "--token", otherToken},
		"has not the right to act":                {"cancel", "x", "--token-file", "ana"},
		"--addr has a name or a password":         {"top", "--addr", "http://ann:" + anasToken + "@127.0.0.1:1"},
		"--addr says more than where the node is": {"tail", "--addr", url + "/api/events"},
		"is where agents connect":                 {"tail", "--addr", n.at["tcp"]},
		"--limit: want more than 0":               {"conversations", "--limit", "0"},
		"--every: want more than 0, not 0s":       {"top", "--every", "0s"},
		"--deadline: want more than 0":            {"approvals", "--deadline", "0s"},
		"<id>: it may not be empty":               {"cancel", ""},
	} {
		if len(args) < 2 || args[1] != "--addr" {
			args = append(args, "--addr", url)
		}
		r := runs(t, args...)
		if r.code == exitDone || r.stdout != "" || !strings.Contains(r.stderr, want) {
			t.Errorf("%v: %+v", args, r)
		}
		noSecrets(t, r)
	}
	if r := operates(t, url, "top", "--token-file", "ana"); !strings.HasPrefix(r.stdout, "AGENT") {
		t.Errorf("%+v", r)
	}
	t.Setenv(variable("token"), anasToken)
	operates(t, url, "approvals")
}

// The tree of a trace has the conversations below those that began them.
func TestTree(t *testing.T) {
	one := func(id performatives.ConversationID, depth int, last bool) traced {
		sides := []observe.Side{{Agent: "a", Peer: "b", Role: "initiator", State: "s"}}
		return traced{api.ConversationView{Conversation: observe.Conversation{ID: id, Protocol: "p", Live: true, Sides: sides}}, depth, last}
	}
	got := treeOf([]traced{one("0", 0, true), one("1", 1, false), one("2", 2, true), one("3", 3, true), one("4", 1, true), one("5", 2, false), one("6", 2, true)}, "3")
	const want = `0 p a → b s
├─ 1 p a → b s
│  └─ 2 p a → b s
│     └─ 3 p a → b s  ←
└─ 4 p a → b s
   ├─ 5 p a → b s
   └─ 6 p a → b s
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

// FuzzTail: whatever a node sends, a line of the output is one line without control characters, and
// nothing panics.
func FuzzTail(f *testing.F) {
	f.Add("message.sent", []byte(`{"kind":"message.sent","message":{"performative":"INFORM","sender":"\u001b[31ma","receiver":"\u202eb","payload":"\u001b]0;x\u0007"}}`))
	f.Add("lost", []byte(`{"lost":1,"node":"\u001b[2J"}`))
	f.Add("node", []byte(`{"node":"n","state":"missing","why":"a\nb"}`))
	f.Add("conversation.transition", []byte(`{"kind":"conversation.transition","agent":"a\r\nb","to":"done"}`))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		var text bytes.Buffer
		out := newPrinter(&text)
		if (&tailCmd{Steps: true}).take(serverEvent{name, data}, out, out) != nil {
			return
		}
		line, found := strings.CutSuffix(text.String(), "\n")
		if text.Len() > 0 && (!found || strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) })) {
			t.Errorf("%q", text.String())
		}
	})
}

// Of a conversation that the node only relays, it is not known whether it has ended.
func TestRelayedConversationIsUnknown(t *testing.T) {
	c := observe.Conversation{ID: "c", From: "a", To: "b", Relayed: true}
	if row := conversationRows([]observe.Conversation{c})[1]; row[1] != "unknown" || row[3] != "a" || row[4] != "b" {
		t.Errorf("%q", row)
	}
	if got := summary(&c); !strings.HasSuffix(got, "a → b  unknown") {
		t.Errorf("%q", got)
	}
}

// A list of nothing is a list in JSON, and a node that is missing in several parts of a tree is named
// once.
func TestAnswersWithLittle(t *testing.T) {
	answers := map[string]string{
		"/api/conversations":        `{"conversations":[]}`,
		"/api/conversations/c":      `{"conversation_id":"c","missing":[{"node":"n2","why":"x"}]}`,
		"/api/conversations/c/tree": `{"root":"c","conversations":[{"conversation_id":"c"}],"missing":[{"node":"n2","why":"x"}]}`,
	}
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, answers[r.URL.Path]) }))
	t.Cleanup(node.Close)
	if r := runs(t, "conversations", "--json", "--addr", node.URL); r.code != exitDone || r.stdout != "[]\n" {
		t.Errorf("conversations: %+v", r)
	}
	if r := runs(t, "trace", "c", "--json", "--addr", node.URL); r.code != exitDone || !strings.HasPrefix(r.stdout, `[{"conversation_id":"c",`) || !strings.HasSuffix(r.stdout, `,"missing":[{"node":"n2","why":"x"}]}]`+"\n") || strings.Count(r.stderr, "n2 is missing: x") != 1 {
		t.Errorf("trace: %+v", r)
	}
}
