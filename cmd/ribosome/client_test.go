package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/ws"
)

// The task of the issue, over each transport.
func TestCall(t *testing.T) {
	n := open(t)
	for scheme, url := range n.at {
		t.Run(scheme, func(t *testing.T) {
			r := runs(t, "call", "Jules", "debug_code", "-d", "@testdata/task.json", "--addr", url)
			if r.code != exitDone || !strings.HasPrefix(r.stdout, "success: ") || !strings.Contains(r.stdout, "\n  \"fixed_code\": \"") {
				t.Errorf("got %+v", r)
			}
			if lines := strings.Split(r.stderr, "\n"); len(lines) < 4 || lines[0] != "accepted, about 1s: Starting now." || lines[1] != "  0%: reading the traceback" {
				t.Errorf("the progress is %q", r.stderr)
			}
			if r := runs(t, "call", "Eddy", "debug_code", "-d", "@testdata/task.json", "--addr", url, "-q"); r.code != exitDone || r.stderr != "" {
				t.Errorf("quiet, got %+v", r)
			}
		})
	}
}

// What --json prints is one JSON object, however it ends, with the same exit codes.
func TestCallJSON(t *testing.T) {
	n := open(t)
	for name, tt := range map[string]struct {
		args    []string
		code    int
		outcome string
		reason  string
	}{
		"success": {[]string{"Jules", "debug_code", "-d", "@testdata/task.json"}, exitDone, "success", ""},
		"by what": {[]string{"system", "debug_code", "-d", "@testdata/task.json"}, exitDone, "success", ""},
		"partial": {[]string{"Jules", "debug_code"}, exitFailed, "partial_success", ""},
		"failure": {[]string{"Jules", "debug_code", "-d", `{"code_to_debug":"x = int('a')\n","error_log":"Traceback (most recent call last):\n  File \"b.py\", line 1, in <module>\n    x = int('a')\nValueError: invalid literal"}`}, exitFailed, "failure", ""},
		"refused": {[]string{"Eliza", "sing"}, exitFailed, "rejected", "incapable"},
		"late":    {[]string{"Jules", "debug_code", "--deadline", "1ns"}, exitFailed, "timed_out", "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			r := runs(t, append([]string{"call", "--json", "-q", "--addr", n.at["tcp"]}, tt.args...)...)
			var got struct {
				Outcome string
				Result  *struct {
					Status string `json:"task_status"`
				}
				Error *struct{ Code, Text string }
			}
			if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || strings.Count(r.stdout, "\n") != 1 {
				t.Fatalf("%v: %+v", err, r)
			}
			if r.code != tt.code || got.Outcome != tt.outcome || (got.Result == nil) == (got.Error == nil) && name != "partial" {
				t.Errorf("got %+v", r)
			}
			if got.Result != nil && got.Result.Status != tt.outcome || got.Error != nil && (got.Error.Code != tt.reason || !strings.Contains(r.stderr, got.Error.Text)) {
				t.Errorf("got %+v", r)
			}
			if lines := strings.Count(r.stderr, "\n"); lines != tt.code {
				t.Errorf("%d lines on stderr: %s", lines, r.stderr)
			}
		})
	}
}

// Why a call has no result, in one line that says what to do.
func TestCallFails(t *testing.T) {
	n := open(t)
	host := func(scheme string) string {
		h, _, _ := strings.Cut(strings.TrimPrefix(n.at[scheme], scheme+"://"), "/")
		return h
	}
	const closed = "127.0.0.1:1" // a port that another program may take would not do
	for name, tt := range map[string]struct {
		args []string
		line string
	}{
		"unknown agent":     {[]string{"Nobody", "x", "--addr", n.at["tcp"]}, `there is no agent Nobody at ` + n.at["tcp"] + `; ribosome agents --addr ` + n.at["tcp"] + ` lists them`},
		"unknown over ws":   {[]string{"Nobody", "x", "--addr", n.at["ws"]}, `there is no agent Nobody at ` + n.at["ws"] + `; ribosome agents --addr ` + n.at["ws"] + ` lists them`},
		"unknown over grpc": {[]string{"Nobody", "x", "--addr", n.at["grpc"]}, `there is no agent Nobody at ` + n.at["grpc"] + `; ribosome agents --addr ` + n.at["grpc"] + ` lists them`},
		"unknown action":    {[]string{"Jules", "sing", "--addr", n.at["tcp"]}, `Jules cannot do it: the tasks here are debug_code, refactor_code_snippet and explain_code (incapable); ribosome agents --addr ` + n.at["tcp"] + ` lists who can do what`},
		"wrong parameters":  {[]string{"Jules", "debug_code", "-d", `{"code_to_debug":3}`, "--addr", n.at["grpc"]}, `Jules did not understand it: task_parameters.code_to_debug: type: 3 has type "integer", want "string" (invalid_payload_structure); check --data`},
		"wrong for all":     {[]string{"system", "debug_code", "-d", `{"code_to_debug":3}`, "--addr", n.at["tcp"]}, `the agent that the node at ` + n.at["tcp"] + ` chose did not understand it: task_parameters.code_to_debug: type: 3 has type "integer", want "string" (invalid_payload_structure); check --data`},
		"done by nobody":    {[]string{"system", "sing", "--addr", n.at["tcp"]}, `the node at ` + n.at["tcp"] + ` cannot do it: there is no action "sing"; there are DELEGATE_CODING_TASK_TO_JULES, debug_code, get_documentation, EXECUTE_DELEGATED_CODING_TASK, refactor_code_snippet, refactor_suggestion, explain_code (action_not_found); ribosome agents --addr ` + n.at["tcp"] + ` lists who can do what`},
		"too long":          {[]string{"Jules", "debug_code", "-d", `{"code_to_debug":"` + strings.Repeat("x", 5000) + `"}`, "--max-frame", "4KiB", "--addr", n.at["ws"]}, `Jules did not get it: the message is longer than the connection carries (invalid_payload_structure); check --data, and --max-frame`},
		"another's name":    {[]string{"Jules", "debug_code", "--as", "Eddy", "--addr", n.at["ws"]}, `the node at ` + n.at["ws"] + ` does not permit it: an agent of that name runs on the node: speak as another (forbidden); check --as and the rules there`},
		"nobody, tcp":       {[]string{"Jules", "x", "--addr", "tcp://" + closed}, `cannot reach tcp://` + closed + `: nobody listens there; start the node, or check --addr`},
		"nobody, ws":        {[]string{"Jules", "x", "--addr", "ws://" + closed}, `cannot reach ws://` + closed + `/mcp: nobody listens there; start the node, or check --addr`},
		"nobody, grpc":      {[]string{"Jules", "x", "--addr", "grpc://" + closed}, `cannot reach grpc://` + closed + `: nobody listens there; start the node, or check --addr`},
		"no host":           {[]string{"Jules", "x", "--addr", "tcp://nobody.invalid:1"}, `cannot reach tcp://nobody.invalid:1: there is no host of that name; check --addr`},
		"no path":           {[]string{"Jules", "x", "--addr", "ws://" + host("ws") + "/x"}, `cannot reach ws://` + host("ws") + `/x: there is no WebSocket at this path; use that of the node's --ws-path, such as /mcp`},
		"no TLS, tcp":       {[]string{"Jules", "x", "--addr", "tcps://" + host("tcp")}, `cannot reach tcps://` + host("tcp") + `: it does not speak TLS there; use tcp:// if that is right`},
		"no TLS, ws":        {[]string{"Jules", "x", "--addr", "wss://" + host("ws")}, `cannot reach wss://` + host("ws") + `/mcp: it does not speak TLS there; use ws:// if that is right`},
		"no TLS, grpc":      {[]string{"Jules", "x", "--addr", "grpcs://" + host("grpc")}, `cannot reach grpcs://` + host("grpc") + `: it does not speak TLS there; use grpc:// if that is right`},
	} {
		t.Run(name, func(t *testing.T) {
			r := runs(t, append([]string{"call", "-q"}, tt.args...)...)
			if r.code != exitFailed || r.stdout != "" || r.stderr != "ribosome: "+tt.line+"\n" {
				t.Errorf("exit code %d, stdout %q, stderr\n%s, want\nribosome: %s", r.code, r.stdout, r.stderr, tt.line)
			}
		})
	}
}

// Addresses of another transport. The other end may hang up before its answer is read.
func TestAnotherTransport(t *testing.T) {
	n := open(t)
	for _, tt := range [][2]string{{"ws", "tcp"}, {"ws", "grpc"}, {"tcp", "grpc"}, {"grpc", "tcp"}, {"grpc", "ws"}} {
		host, _, _ := strings.Cut(strings.TrimPrefix(n.at[tt[1]], tt[1]+"://"), "/")
		r := runs(t, "agents", "--addr", tt[0]+"://"+host)
		if r.code != exitFailed || !strings.Contains(r.stderr, "check the scheme of --addr") || strings.Contains(r.stderr, "malformed") || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s to %s: got %+v", tt[0], tt[1], r)
		}
	}
}

// What a server of another protocol answers is not quoted.
func TestMistaken(t *testing.T) {
	l := &link{at: address{transport: "ws"}}
	for text, want := range map[string]string{
		`ws: connect to h:1: malformed HTTP response "\x00\x00"`: "something else speaks there; check the scheme of --addr",
		`tcp: a frame does not begin with 4D 43`:                 "something else speaks there; check the scheme of --addr",
		"another":                                                "",
	} {
		if got := l.mistaken(errors.New(text)); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	if got := l.mistaken(&ws.RefusedError{Status: 400}); !strings.Contains(got, "wss://") {
		t.Errorf("of a bad request, got %q", got)
	}
}

// A server that waits for the end of a request, as those of HTTP do, says nothing.
func TestNothingHeard(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mute.Close() }()
	url := "tcp://" + mute.Addr().String()
	l, err := (&clientFlags{Addr: url}).plan(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.join(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer l.leave()
	want := "the deadline passed, and nothing has come from " + url + "; if something else speaks there, check the scheme of --addr, else try again with a longer --deadline"
	if got := l.explain(context.DeadlineExceeded, "Jules"); got.Text != want {
		t.Errorf("got %+v, want %s", got, want)
	}
	l.worked.Store(true)
	if got := l.explain(context.DeadlineExceeded, "Jules"); got.Text != "the deadline passed before Jules answered; try again with a longer --deadline" {
		t.Errorf("of what has answered before, got %+v", got)
	}
}

// A task that the node does not want to read, and that would not be read the next time.
func TestCallTooLong(t *testing.T) {
	n := hosts(t, "--no-auth", "--swarm", "eddyjules", "--max-frame", "64KiB")
	long := `{"code_to_debug":"` + strings.Repeat("x", 70_000) + `"}`
	for _, scheme := range []string{"tcp", "ws"} {
		r := runs(t, "call", "Jules", "debug_code", "-q", "-d", long, "--addr", n.at[scheme])
		if r.code != exitFailed || strings.Count(r.stderr, "\n") != 1 || strings.HasSuffix(r.stderr, "; try again\n") ||
			strings.Contains(r.stderr, "longer than") && !strings.HasSuffix(r.stderr, "; check --data, and --max-frame of the node\n") {
			t.Errorf("%s: got %+v", scheme, r)
		}
	}
}

func TestAgents(t *testing.T) {
	n := open(t)
	for scheme, url := range n.at {
		r := runs(t, "agents", "--addr", url)
		lines := strings.Split(r.stdout, "\n")
		if r.code != exitDone || r.stderr != "" || len(lines) != 5 ||
			lines[0] != "AGENT  NODE  ACTIONS                                                                                              TOPICS" ||
			lines[1] != "Eddy   node  DELEGATE_CODING_TASK_TO_JULES, debug_code, get_documentation                                         Developer Support, Delegation" ||
			lines[2] != "Eliza  node  -                                                                                                    Conversation, Storytelling, Philosophy" {
			t.Errorf("%s: got %+v", scheme, r)
		}
		var all []present
		r = runs(t, "agents", "--addr", url, "--json")
		if err := json.Unmarshal([]byte(r.stdout), &all); err != nil || len(all) != 3 || all[2].ID != "Jules" || all[2].Node != "node" || len(all[2].Topics) != 15 || len(all[2].Actions) != 5 {
			t.Errorf("%s: %v: got %+v", scheme, err, r)
		}
	}
	empty := hosts(t, "--no-auth", "--name", "n2")
	if r := runs(t, "agents", "--addr", empty.at["ws"], "--json"); r.code != exitDone || r.stdout != "[]\n" {
		t.Errorf("got %+v", r)
	}
}

// An agent joins over each transport, gets a task, and answers it.
func TestListen(t *testing.T) {
	n := open(t)
	for _, scheme := range slices.Sorted(maps.Keys(n.at)) {
		t.Run(scheme, func(t *testing.T) {
			url := n.at[scheme]
			l := begins(t, "listen", "--addr", url, "--as", "Rubber", "--topic", "Ducks", "--action", "explain=Listens.", "--answer", `{"said":"quack"}`)
			l.shows(&l.stderr, "connected to "+url+" as Rubber\n")
			if r := runs(t, "agents", "--addr", n.at["tcp"]); !strings.Contains(r.stdout, "\nRubber  node  explain                                                                                              Ducks\n") {
				t.Errorf("the node does not know it: %s", r.stdout)
			}
			r := runs(t, "call", "rubber", "explain", "-d", `{"why":1}`, "--as", "Ana", "--addr", n.at["tcp"])
			if want := "success: answered by ribosome listen\n\n{\n  \"said\": \"quack\"\n}\n"; r.code != exitDone || r.stdout != want {
				t.Errorf("got %+v, want %s", r, want)
			}
			got := l.end()
			first, _, _ := strings.Cut(got.stdout, "\n") // a CANCEL may follow: the asker is gone
			if got.code != exitDone || !strings.HasSuffix(first, ` TASK_REQUEST from Ana: {"task_type":"explain","task_parameters":{"why":1}}`) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// A message with a message type reaches an agent over each transport, and shows it.
func TestSend(t *testing.T) {
	n := open(t)
	for _, scheme := range slices.Sorted(maps.Keys(n.at)) {
		t.Run(scheme, func(t *testing.T) {
			url := n.at[scheme]
			l := begins(t, "listen", "--addr", url, "--as", "Rubber", "--answer", `{"said":"quack"}`)
			l.shows(&l.stderr, "connected to "+url+" as Rubber\n")
			r := runs(t, "send", "Rubber", "INFORM", "--message-type", "REVIEW_SEEN", "-d", `{"file":"a.go"}`, "--as", "Ana", "--addr", url)
			if r.code != exitDone || r.stdout+r.stderr != "" {
				t.Errorf("got %+v", r)
			}
			l.shows(&l.stdout, ` INFORM REVIEW_SEEN from Ana: {"file":"a.go"}`+"\n")
			r = runs(t, "send", "rubber", "TASK_REQUEST", "-d", `{"task_type":"explain"}`, "--as", "Ana", "--addr", url)
			if r.code != exitDone || r.stderr != "" || !strings.HasPrefix(r.stdout, "TASK_ACCEPT from Rubber: {") {
				t.Errorf("got %+v", r)
			}
			l.end()
		})
	}
}

// The answer to a message whose payload is wrong is the receiver's: another agent's would not be
// taken for the answer.
func TestSendWrongPayload(t *testing.T) {
	n := open(t)
	for scheme, url := range n.at {
		r := runs(t, "send", "Jules", "TASK_REQUEST", "-d", `{"x":3}`, "--deadline", "20s", "--addr", url)
		if r.code != exitFailed || !strings.HasPrefix(r.stderr, "ribosome: Jules did not understand it: payload.task_type: ") {
			t.Errorf("%s: got %+v", scheme, r)
		}
	}
}

func TestSendJSON(t *testing.T) {
	n := open(t)
	r := runs(t, "send", "system", "QUERY_REF", "-d", `{"reference":"agents"}`, "--json", "--addr", n.at["ws"])
	var m map[string]any
	if err := json.Unmarshal([]byte(r.stdout), &m); err != nil || r.code != exitDone || m["performative"] != "INFORM_REF" {
		t.Errorf("%v: got %+v", err, r)
	}
	r = runs(t, "send", "Nobody", "REQUEST", "--message-type", "REVIEW_REQUEST", "--addr", n.at["tcp"])
	if r.code != exitFailed || !strings.HasPrefix(r.stderr, "ribosome: there is no agent Nobody at ") {
		t.Errorf("got %+v", r)
	}
}

func TestSummaryShowsTheMessageType(t *testing.T) {
	m, err := performatives.New(performatives.Envelope{
		ID: "1", Sender: "Critic", Timestamp: time.Unix(0, 0), Performative: performatives.ActInform, MessageType: "REVIEW_DONE",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := summaryOf(m); got != "INFORM REVIEW_DONE from Critic to all" {
		t.Errorf("got %s", got)
	}
}

func TestListenRejects(t *testing.T) {
	n := open(t)
	l := begins(t, "listen", "--addr", n.at["ws"], "--as", "Rubber", "--json")
	l.shows(&l.stderr, "connected")
	r := runs(t, "call", "Rubber", "explain", "--addr", n.at["grpc"])
	if r.code != exitFailed || !strings.Contains(r.stderr, "Rubber cannot do it: this agent only listens (incapable)") {
		t.Errorf("got %+v", r)
	}
	r = runs(t, "send", "Rubber", "QUERY_REF", "-d", `{"reference":"weather"}`, "--as", "Ana", "--addr", n.at["ws"])
	if r.code != exitFailed || !strings.Contains(r.stderr, "Rubber cannot do it: this agent only listens (incapable)") {
		t.Errorf("got %+v", r)
	}
	got := l.end()
	var m map[string]any
	if err := json.NewDecoder(strings.NewReader(got.stdout)).Decode(&m); err != nil || m["performative"] != "TASK_REQUEST" {
		t.Errorf("%v: got %+v", err, got)
	}
}

// Nobody joins under the name of the node.
func TestNameOfTheNode(t *testing.T) {
	n := open(t)
	l := runs(t, "listen", "--addr", n.at["tcp"], "--as", "Node")
	if l.code != exitFailed || l.stderr != "ribosome: the node at "+n.at["tcp"]+" does not permit it: the name is reserved: speak as another agent (forbidden); check --as and the rules there\n" {
		t.Errorf("got %+v", l)
	}
}

// An agent that loses its node comes back once there is one again.
func TestListenComesBack(t *testing.T) {
	first := hosts(t, "--no-auth")
	url := first.at["tcp"]
	l := begins(t, "listen", "--addr", url, "--as", "Rubber")
	l.shows(&l.stderr, "connected to "+url+" as Rubber\n")
	first.end()
	l.shows(&l.stderr, "not connected, next attempt in ")
	second := begins(t, "node", "--tcp", strings.TrimPrefix(url, "tcp://"), "--no-auth")
	second.shows(&second.stdout, "listening on")
	l.shows(&l.stderr, "\nconnected to "+url+" as Rubber\n")
	if got := l.end(); got.code != exitDone {
		t.Errorf("got %+v", got)
	}
}

// What hung up had worked, so that it was no lack of TLS.
func TestListenCutOff(t *testing.T) {
	n := hosts(t, "--no-auth")
	relayed, cut := relay(t, n.at["tcp"])
	l := begins(t, "listen", "--addr", relayed, "--as", "Rubber")
	l.shows(&l.stderr, "connected to "+relayed+" as Rubber\n")
	cut()
	l.shows(&l.stderr, ": the node at "+relayed+" hung up; try again\n")
	l.end()
}

// Of two connections that speak for one agent, the former is told, and does not come back to end
// the other.
func TestListenReplaced(t *testing.T) {
	n := open(t)
	for _, scheme := range slices.Sorted(maps.Keys(n.at)) {
		t.Run(scheme, func(t *testing.T) {
			url := n.at[scheme]
			former := begins(t, "listen", "--addr", url, "--as", "Rubber")
			former.shows(&former.stderr, "connected to "+url+" as Rubber\n")
			latter := begins(t, "listen", "--addr", n.at["ws"], "--as", "Rubber")
			latter.shows(&latter.stderr, "connected to "+n.at["ws"]+" as Rubber\n")
			if got := former.wait(); got.code != exitFailed ||
				!strings.HasSuffix(got.stderr, "\nribosome: another connection to "+url+" speaks for Rubber now; end that, or use another name with --as\n") {
				t.Errorf("got %+v", got)
			}
			if r := runs(t, "send", "Rubber", "QUERY_REF", "-d", `{"reference":"weather"}`, "--as", "Ana", "--addr", url); !strings.Contains(r.stderr, "only listens") {
				t.Errorf("the latter: got %+v", r)
			}
			latter.end()
		})
	}
}

func TestListenNowhere(t *testing.T) {
	r := runs(t, "listen", "--addr", "tcp://127.0.0.1:1", "--as", "Rubber")
	if r.code != exitFailed || r.stderr != "ribosome: cannot reach tcp://127.0.0.1:1: nobody listens there; start the node, or check --addr\n" {
		t.Errorf("got %+v", r)
	}
}
