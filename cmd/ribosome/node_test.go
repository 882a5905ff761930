package main

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
)

func TestNodeStartsAndStops(t *testing.T) {
	n := open(t)
	for scheme, url := range n.at {
		host, _, _ := strings.Cut(strings.TrimPrefix(url, scheme+"://"), "/")
		c, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		_ = c.Close()
	}
	if len(n.at) != 3 || !strings.HasSuffix(n.at["ws"], "/mcp") {
		t.Errorf("it listens on %v", n.at)
	}
	r := n.end()
	if r.code != exitDone || strings.Count(r.stdout, "\n") != 3 {
		t.Errorf("got %+v", r)
	}
	for _, url := range n.at {
		_, rest, _ := strings.Cut(url, "://")
		host, _, _ := strings.Cut(rest, "/")
		if c, err := net.Dial("tcp", host); err == nil {
			_ = c.Close()
			t.Errorf("%s: somebody listens on", url)
		}
	}
}

// Each message is a line of its own, in a file or on stdout, and acl reads them all.
func TestMessageLog(t *testing.T) {
	t.Chdir(t.TempDir())
	codec := acl.New(wire.CodecOptions{})
	for _, to := range []string{"messages", "-"} {
		n := hosts(t, "--no-auth", "--swarm", "eddyjules", "--message-log", to)
		if r := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", n.at["tcp"]); r.code != exitDone {
			t.Fatalf("got %+v", r)
		}
		text := n.end().stdout
		if to != "-" {
			file, err := os.ReadFile(to)
			if err != nil {
				t.Fatal(err)
			}
			text = string(file)
		}
		acts := map[performatives.Performative]int{}
		for line := range strings.Lines(text) {
			prefix, message, _ := strings.Cut(line, ": ")
			if prefix != "MCP_MESSAGE_SENT" && prefix != "MCP_MESSAGE_RECEIVED" {
				continue
			}
			m, err := codec.Decode([]byte(message))
			if err != nil {
				t.Error(err)
				continue
			}
			acts[m.Performative()]++
		}
		if lines := strings.Count(text, "\nMCP_MESSAGE_"); acts[performatives.ActTaskRequest] < 2 || acts[performatives.ActInformResult] < 1 || lines < 4 {
			t.Errorf("%s: %d lines, %v of\n%s", to, lines, acts, text)
		}
	}
	if info, err := os.Stat("messages"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	addr := l.Addr().String()
	for _, flag := range []string{"--ws", "--tcp", "--grpc", "--http"} {
		r := runs(t, "node", flag, addr, "--no-auth", "--log-level", "error")
		if want := "ribosome: " + flag + " " + addr + ": another program listens there; stop it, or choose another port\n"; r.code != exitFailed || r.stderr != want {
			t.Errorf("got %+v, want %s", r, want)
		}
	}
}

// Files that a node is given, and that make no sense.
func TestBadFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	pki(t)
	writeFile(t, "empty", "# nobody\n")
	writeFile(t, "weak", "crm s3cret\n")
	writeFile(t, "words", "s3cret\n")
	writeFile(t, "rules.json", `[{"agent":"crm","alow":["Eddy"]}]`)
	writeFile(t, "bom", "\ufeffcrm Vq0m8cQy5m3kz7o2hZ4p1A\n")
	writeFile(t, "bom within", "crm Vq0m8cQy5m3kz7o2hZ4p1A\n\ufeffcrm cR8dXw2nT6uJf9aLs3kEyQ\n")
	writeFile(t, "utf16", "\xff\xfec\x00r\x00m\x00")
	writeFile(t, "bom.json", "\ufeff"+`[{"agent":"crm","allow":["Eddy"]}]`)
	writeFile(t, "two.json", `[{"agent":"crm","allow":["Eddy"],"Allow":["*"]}]`)
	writeFile(t, "twice.json", `[{"agent":"crm","allow":["Eddy"],"allow":["*"]}]`)
	tokens := writeFile(t, "tokens", "crm Vq0m8cQy5m3kz7o2hZ4p1A\n")
	for name, tt := range map[string]struct {
		args []string
		line string // as it begins
	}{
		"no tokens":         {[]string{"--tokens", "empty"}, `--tokens empty has no token in it; write an agent and its token a line`},
		"weak token":        {[]string{"--tokens", "weak"}, `--tokens weak: line 1: the token is shorter than 22 bytes`},
		"no token":          {[]string{"--tokens", "words"}, `--tokens words: line 1: want the name of an agent and its token; write an agent and its token a line`},
		"missing tokens":    {[]string{"--tokens", "nope"}, `--tokens nope: no such file or directory; name a file that can be read`},
		"weak key":          {[]string{"--jwt-key", "words"}, `--jwt-key words: words: a shared secret has at least`},
		"private key":       {[]string{"--jwt-key", "ca.key"}, `--jwt-key ca.key: ca.key: it holds a private key: want the public one; see also --jwt-alg`},
		"algorithm":         {[]string{"--jwt-key", "ca.pem", "--jwt-alg", "HS256"}, `--jwt-key ca.pem: `},
		"keys in the clear": {[]string{"--jwks-url", "http://example.org/"}, `--jwks-url http://example.org/: `},
		"rules":             {[]string{"--tokens", tokens, "--rules", "rules.json"}, `--rules rules.json: rules: [0].alow: there is no such member; write a JSON array such as [{"agent":"crm","allow":["Eddy"]}]`},
		"rules twice":       {[]string{"--tokens", tokens, "--rules", "twice.json"}, `--rules twice.json: rules: [0].allow: the member occurs twice; write a JSON array`},
		"rules in two ways": {[]string{"--tokens", tokens, "--rules", "two.json"}, `--rules two.json: rules: [0].Allow: the name of this member is written "allow"; write a JSON array`},
		"marked rules":      {[]string{"--tokens", tokens, "--rules", "bom.json"}, `--rules bom.json: it begins with a byte order mark (U+FEFF); save it as UTF-8 without one`},
		"marked tokens":     {[]string{"--tokens", "bom"}, `--tokens bom: it begins with a byte order mark (U+FEFF); save it as UTF-8 without one`},
		"mark in tokens":    {[]string{"--tokens", "bom within"}, `--tokens bom within: line 2: id: the id has U+FEFF, which is not displayed (invalid_id); write an agent and its token a line`},
		"UTF-16":            {[]string{"--tokens", "utf16"}, `--tokens utf16: it begins with a byte order mark`},
		"marked key":        {[]string{"--jwt-key", "bom"}, `--jwt-key bom: it begins with a byte order mark`},
		"missing rules":     {[]string{"--tokens", tokens, "--rules", "nope"}, `--rules nope: no such file or directory`},
		"no pair":           {[]string{"--tokens", tokens, "--tls-cert", "server.pem", "--tls-key", "ca.key"}, `TLS: `},
		"no authority":      {[]string{"--tls-cert", "server.pem", "--tls-key", "server.key", "--client-ca", "words"}, `TLS: words: no certificate in it; check --tls-cert, --tls-key and --client-ca`},
	} {
		t.Run(name, func(t *testing.T) {
			r := runs(t, append([]string{"node", "--tcp", "127.0.0.1:0", "--log-level", "error"}, tt.args...)...)
			if r.code != exitUsage || !strings.HasPrefix(r.stderr, "ribosome: "+tt.line) || strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("exit code %d, stderr\n%s, want\nribosome: %s", r.code, r.stderr, tt.line)
			}
			if strings.Contains(r.stderr, "s3cret") {
				t.Error("it tells a secret")
			}
		})
	}
}

// A file of tokens that others can read is worth a warning.
func TestExposedTokens(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "tokens", "crm Vq0m8cQy5m3kz7o2hZ4p1A\n")
	if err := os.Chmod("tokens", 0o644); err != nil {
		t.Fatal(err)
	}
	n := begins(t, "node", "--tcp", "127.0.0.1:0", "--tokens", "tokens", "--log-format", "tint")
	n.shows(&n.stdout, "listening on tcp://")
	if r := n.end(); !strings.Contains(r.stderr, " WRN ") || !strings.Contains(r.stderr, "tokens") || strings.Contains(r.stderr, "Vq0m8") {
		t.Errorf("the log is %s", r.stderr)
	}
}

// stuck connects a peer that answers nothing, not even that the node closes.
func stuck(t *testing.T, url string) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	ping := []byte("MC\x02\x00\x00\x00\x0812345678") // wire, Binary Encoding Example
	if _, err := c.Write(ping); err != nil {
		t.Fatal(err)
	}
	pong := make([]byte, len(ping))
	if _, err := io.ReadFull(c, pong); err != nil || string(pong) != "MC\x03\x00\x00\x00\x0812345678" {
		t.Fatalf("%v: the node answers %q", err, pong)
	}
}

// Who comes from a host that has as many connections as it may is told so, by each
// transport.
func TestMaxPerHost(t *testing.T) {
	n := hosts(t, "--no-auth", "--stop-timeout", "1ms", "--max-per-host", "1")
	stuck(t, n.at["tcp"])
	for scheme, url := range n.at {
		r := runs(t, "agents", "--addr", url)
		if r.code == exitDone || !strings.Contains(r.stderr, "too many connections from the same host; try again\n") {
			t.Errorf("%s: got %+v", scheme, r)
		}
	}
}

// What has not stopped in time is said, and is no failure.
func TestStopTimeout(t *testing.T) {
	n := hosts(t, "--no-auth", "--stop-timeout", "1ms")
	stuck(t, n.at["tcp"])
	r := n.end()
	if r.code != exitDone || !strings.Contains(r.stderr, "ribosome: a connection had not stopped after 1ms, and was cut off; --stop-timeout gives more time\n") {
		t.Errorf("got %+v", r)
	}
}

// The trail has what was asked of whom, by whom, and its end, and no contents.
func TestAuditTrail(t *testing.T) {
	t.Chdir(t.TempDir())
	n := hosts(t, "--no-auth", "--swarm", "eddyjules", "--audit", "trail.jsonl")
	if r := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", n.at["tcp"]); r.code != exitDone {
		t.Fatalf("got %+v", r)
	}
	n.end()
	text, err := os.ReadFile("trail.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var l struct{ Kind string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v in line %q", err, line)
		}
		kinds[l.Kind]++
	}
	if kinds["audit.opened"] != 1 || kinds["agent.started"] == 0 || kinds["message.sent"] < 2 || kinds["conversation.transition"] == 0 || kinds["agent.stopped"] == 0 {
		t.Errorf("%v of\n%s", kinds, text)
	}
	if strings.Contains(string(text), "print") {
		t.Errorf("the trail has the code to debug:\n%s", text)
	}
}
