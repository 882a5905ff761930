package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// The address that a node with --http prints serves all commands. That of agents serves theirs, and
// operators' commands name the variable that it came from and the address to give.
func TestOneAddress(t *testing.T) {
	n := startMember(t, "n1", "--http", "127.0.0.1:0", "--swarm", "eddyjules", "--approvals", "Ops", "--operators", "*")
	n.lists("agents", "Eddy n1", "Eliza n1", "Jules n1", "Ops n1")
	t.Setenv("RIBOSOME_ADDR", n.http)
	const call = "Jules debug_code -q -d @testdata/task.json"
	runs(t, append([]string{"call"}, strings.Fields(call)...)...)
	nothingLive(t, n.http)
	var all []observe.Conversation
	if r := runs(t, "conversations", "--act", "TASK_REQUEST", "--json"); json.Unmarshal([]byte(r.stdout), &all) != nil || len(all) == 0 {
		t.Fatalf("%+v", r)
	}
	id := string(all[0].ID)
	commands := map[string]struct {
		args, want string
		operator   bool
	}{
		"call":          {args: call, want: "success: "},
		"send":          {args: `Jules TASK_REQUEST -d {"task_type":"debug_code"}`, want: "TASK_"},
		"query":         {args: "Jules capacity", want: "{"},
		"listen":        {args: "--as Rubber -v", want: "connected to "},
		"subscribe":     {args: "Jules x", want: "(incapable); ribosome agents --addr tcp://"},
		"agents":        {want: "Jules"},
		"members":       {want: "n1"},
		"tail":          {want: "TASK_REQUEST", operator: true},
		"conversations": {want: id, operator: true},
		"trace":         {args: id, want: "TASK_REQUEST", operator: true},
		"top":           {want: "Jules", operator: true},
		"cancel":        {args: id + " --reason late", want: "it had ended before", operator: true},
		"approvals":     {want: "", operator: true},
		"check":         {want: "nothing found", operator: true},
		"approve":       {args: "7", want: "no open step", operator: true},
		"deny":          {args: "7", want: "no open step", operator: true},
		"drain":         {args: "n2", want: "n2"},
	}
	for _, node := range model().Leaves(true) {
		if _, is := commands[node.Name]; !is && slices.ContainsFunc(node.Flags, func(f *kong.Flag) bool { return f.Name == "addr" }) {
			t.Errorf("%s is not tested", node.Name)
		}
	}
	for _, addr := range []string{n.http, n.tcp} {
		t.Setenv("RIBOSOME_ADDR", addr)
		for name, command := range commands {
			args := append([]string{name}, strings.Fields(command.args)...)
			if command.operator && addr == n.tcp {
				if r := runs(t, args...); r.code != exitUsage || !strings.Contains(r.stderr, "RIBOSOME_ADDR is where agents connect") || !strings.Contains(r.stderr, "such as http://127.0.0.1:8080") {
					t.Errorf("%s at %s: %+v", name, addr, r)
				}
				continue
			}
			switch name {
			case "listen":
				b := begins(t, args...)
				b.shows(&b.stderr, command.want)
				b.end()
			case "tail":
				b := begins(t, args...)
				// It may begin in the midst of a call, so only a later call shows its first message.
				for !strings.Contains(b.stdout.String(), command.want) {
					runs(t, append([]string{"call"}, strings.Fields(call)...)...)
				}
				b.end()
			default:
				if r := runs(t, args...); r.code == exitUsage || !strings.Contains(r.stdout+r.stderr, command.want) {
					t.Errorf("%s at %s: %+v", name, addr, r)
				}
			}
		}
	}
}

// prophet answers questions and publishes prices.
type prophet struct {
	oracle
	exchange
}

func (prophet) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"quotes"}}
}

// Behind one http:// or https:// address, each command of agents speaks under the name of its
// token, or a name of --as that the token permits.
func TestOneAddressWithATokenAndTLS(t *testing.T) {
	t.Chdir(t.TempDir())
	pki(t)
	writeFile(t, "tokens", "Ana "+anasToken+"\nOracle "+otherToken+"\n")
	for name, flags := range map[string][2][]string{
		"http":  {{}, {}},
		"https": {{"--tls-cert", "server.pem", "--tls-key", "server.key"}, {"ca.pem"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := hosts(t, append([]string{"--tokens", "tokens", "--swarm", "eddyjules", "--http", "127.0.0.1:0", "--operators", "Ana"}, flags[0]...)...)
			url := served(n.running)
			if !strings.HasPrefix(url, name+"://") {
				t.Fatalf("it serves %s", url)
			}
			t.Setenv("RIBOSOME_ADDR", url)
			t.Setenv("RIBOSOME_TOKEN", anasToken)
			ca := strings.Join(flags[1], "")
			t.Setenv("RIBOSOME_CA", ca)

			listening := begins(t, "listen", "--action", "explain=Listens.", "--answer", `{"said":"quack"}`, "-v")
			listening.shows(&listening.stderr, " as Ana, the name of the token\n")
			listening.shows(&listening.stderr, "connected to ")
			if r := runs(t, "call", "Ana", "explain", "-q", "--as", "Ana/cli"); r.code != exitDone || !strings.Contains(r.stdout, "quack") {
				t.Errorf("call: %+v", r)
			}
			listening.shows(&listening.stdout, " TASK_REQUEST from Ana/cli")
			if got := listening.end(); got.code != exitDone {
				t.Errorf("listen: %+v", got)
			}

			x := newExchange()
			joinsBy(t, clientFlags{Addr: n.at["tcp"+strings.TrimPrefix(name, "http")], As: "Oracle", credentialFlags: credentialFlags{Token: otherToken, CA: ca}}, prophet{exchange: x})
			t.Setenv("RIBOSOME_TOKEN", anasToken)
			for _, tt := range []struct {
				args []string
				want string
			}{
				{[]string{"call", "Jules", "debug_code", "-q", "-d", task}, "success: "},
				{[]string{"send", "Jules", "TASK_REQUEST", "-d", `{"task_type":"debug_code"}`}, "TASK_"},
				{[]string{"query", "Oracle", "time"}, "{\n  \"of\": \"time\"\n}\n"},
				{[]string{"agents"}, "Jules"},
				{[]string{"members"}, "node"},
			} {
				if r := runs(t, tt.args...); r.code != exitDone || !strings.Contains(r.stdout, tt.want) {
					t.Errorf("%s: %+v", tt.args[0], r)
				}
			}
			s := begins(t, "subscribe", "Oracle", "quotes")
			s.shows(&s.stderr, " as Ana\n")
			s.shows(&s.stderr, "subscribed to quotes of Oracle\n")
			x.quotes.Publish(quote{"ACME", 10})
			s.shows(&s.stdout, `"share":"ACME"`)
			if got := s.end(); got.code != exitDone {
				t.Errorf("subscribe: %+v", got)
			}
			if r := runs(t, "call", "Jules", "debug_code", "-q", "-d", task, "--as", "Bob"); r.code != exitFailed || !strings.Contains(r.stderr, "(forbidden)") {
				t.Errorf("as another: %+v", r)
			}
			t.Setenv("RIBOSOME_TOKEN", "")
			for _, command := range [][]string{{"call", "Jules", "x"}, {"send", "Jules", "INFORM"}, {"query", "Oracle", "time"}, {"listen"}, {"subscribe", "Oracle", "quotes"}, {"agents"}} {
				if r := runs(t, command...); r.code != exitFailed || !strings.Contains(r.stderr, "wants a token; give one with") {
					t.Errorf("%s without a token: %+v", command[0], r)
				}
			}
		})
	}
}

// An error about the address names the variable that it is from, for each command that has one.
func TestWrongAddressOfTheEnvironment(t *testing.T) {
	for _, addr := range []string{"ftp://127.0.0.1:1", "127.0.0.1", "http://me:pw@127.0.0.1:1", "http://127.0.0.1:1/x?y"} {
		t.Setenv("RIBOSOME_ADDR", addr)
		for _, command := range []string{
			"call Jules x", "send Jules INFORM", "query Jules x", "listen --as Rubber", "subscribe Jules x", "agents", "members", "drain n",
			"tail", "conversations", "trace x", "top", "cancel x --reason y", "approvals", "approve 1", "deny 1",
		} {
			if r := runs(t, strings.Fields(command)...); r.code != exitUsage || !strings.Contains(r.stderr, "RIBOSOME_ADDR") || strings.Contains(r.stderr, "--addr") {
				t.Errorf("%s with %s: %+v", command, addr, r)
			}
		}
	}
}
