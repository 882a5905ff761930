package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	prometheus "github.com/prometheus/common/model"

	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/runtime"
)

// served returns the address of the operator's interface of a node.
func served(n *running) string {
	n.t.Helper()
	_, rest, _ := strings.Cut(n.shows(&n.stdout, "serving http"), "serving ")
	line, _, _ := strings.Cut(rest, "\n")
	url, _, _ := strings.Cut(line, " ") // who may read is behind it
	return url
}

// browser is a client of the operator's interface.
func browser(t *testing.T, config *tls.Config) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience.Time}
}

// ask sends a request with a token, if there is one, and returns the status and the body of the
// answer.
func ask(t *testing.T, c *http.Client, method, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// An operator sees a call, live and later, its metrics, and what the operator has done himself in
// the audit trail. A stream of events ends with the node.
func TestHTTP(t *testing.T) {
	t.Chdir(t.TempDir())
	n := hosts(t, "--no-auth", "--swarm", "eddyjules", "--http", "127.0.0.1:0", "--audit", "trail.jsonl")
	c, url := browser(t, nil), served(n.running)
	for path, want := range map[string]string{"/healthz": `{"status":"ok"}`, "/readyz": `{"status":"ready"}`} {
		if code, body := ask(t, c, "GET", url+path, ""); code != http.StatusOK || strings.TrimSpace(body) != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	events, err := c.Get(url + "/api/events?agent=Jules&act=TASK_REQUEST")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = events.Body.Close() }()
	live := bufio.NewReader(events.Body)
	if line, err := live.ReadString('\n'); err != nil || !strings.HasPrefix(line, ": ") {
		t.Fatalf("the stream begins with %q, %v", line, err)
	}
	if r := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", n.at["tcp"]); r.code != exitDone {
		t.Fatalf("got %+v", r)
	}
	for line := ""; line != "event: message.sent\n"; {
		if line, err = live.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	_, body := ask(t, c, "GET", url+"/api/conversations?agent=Jules&act=TASK_REQUEST", "")
	var all struct {
		Conversations []struct {
			ID string `json:"conversation_id"`
		}
	}
	if err := json.Unmarshal([]byte(body), &all); err != nil || len(all.Conversations) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	id := all.Conversations[0].ID
	if code, body := ask(t, c, "POST", url+"/api/conversations/"+id+"/cancel", ""); code >= 500 {
		t.Errorf("%d %s", code, body)
	}
	counted := func() bool {
		return measured(t, c, url, "ribosome_conversations_begun_total") >= 1 && measured(t, c, url, "ribosome_agents") >= 2 && measured(t, c, url, "ribosome_sessions") == 0
	}
	for late := time.Now().Add(patience.Time); !counted(); { // events are counted, and the node ends the session of the call, a little later
		if time.Now().After(late) {
			_, body := ask(t, c, "GET", url+"/metrics", "")
			t.Fatalf("the metrics are\n%s", body)
		}
	}
	long, _ := http.NewRequestWithContext(t.Context(), "GET", url+"/healthz", http.NoBody)
	long.Header.Set("X-Long", strings.Repeat("x", 2*httpHeaderBytes))
	if answer, err := c.Do(long); err == nil { // or the node hangs up before all of it is sent
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a long header: %s", answer.Status)
		}
	}
	r := n.end()
	if r.code != exitDone || strings.Contains(r.stderr, "had not stopped") || strings.Contains(r.stderr, "did not stop in order") {
		t.Errorf("got %+v", r)
	}
	if _, err := io.ReadAll(live); err != nil {
		t.Errorf("the stream ends with %v", err)
	}
	trail, err := os.ReadFile("trail.jsonl")
	if err != nil || strings.Count(string(trail), `"kind":"operator.acted"`) != 1 || !strings.Contains(string(trail), `"what":"cancel","of":"`+id+`"`) {
		t.Errorf("%v: the trail is\n%s", err, trail)
	}
}

// A node with --http alone, on loopback, needs no flag that says who may connect, and an empty one
// is none: clients of this machine may read, and may not act. It prints that, whatever it logs.
// Pages of other sites may not even read. As nobody can connect, the node itself gives the swarm a
// task, and does not wait for its end when it stops.
func TestHTTPAlone(t *testing.T) {
	t.Chdir(t.TempDir())
	n := begins(t, "node", "--swarm", "eddyjules", "--http", "127.0.0.1:0", "--pace", "1h", "--tokens", "", "--log-level", "error")
	c, url := browser(t, nil), served(n)
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/console/", "/api/node", "/api/agents", "/api/conversations", "/api/approvals"} {
		if code, body := ask(t, c, "GET", url+path, ""); code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	for _, path := range []string{"/api/conversations/x/cancel", "/api/approvals/1", "/api/node/drain?node=node"} {
		if code, body := ask(t, c, "POST", url+path, ""); code != http.StatusForbidden || !strings.Contains(body, "give the node --tokens") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	for name, change := range map[string]func(*http.Request){
		"host": func(r *http.Request) { r.Host = "rebound.example" }, "origin": func(r *http.Request) { r.Header.Set("Origin", "http://other.example") },
	} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/api/node", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		answer, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden || !strings.Contains(string(body), `"code":"`+name+`"`) {
			t.Errorf("%s: %d %s", name, answer.StatusCode, body)
		}
	}
	for late := time.Now().Add(patience.Time); ; {
		if _, body := ask(t, c, "GET", url+"/api/conversations?live=true&agent=Jules", ""); strings.Contains(body, `"from":"Eddy"`) {
			break // the example task is under way
		} else if time.Now().After(late) {
			t.Fatalf("the swarm is idle: %s", body)
		}
	}
	if r := runs(t, "cancel", "x", "--addr", url); r.code != exitFailed || !strings.Contains(r.stderr, "nobody has the right to act here") {
		t.Errorf("got %+v", r)
	}
	if r := n.end(); r.code != exitDone || r.stdout != "serving "+url+" (read-only, everyone on this machine; the swarm gets example tasks)\n" {
		t.Errorf("got %+v", r)
	}
}

// With --no-auth everyone on this machine may read and act, also when rules say what peers may.
func TestHTTPNoAuth(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "rules", `[{"agent":"ann","allow":["*"],"operator":["read"]}]`)
	n := begins(t, "node", "--no-auth", "--http", "127.0.0.1:0", "--rules", "rules")
	c, url := browser(t, nil), served(n)
	if code, body := ask(t, c, "GET", url+"/api/node", ""); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	if code, body := ask(t, c, "POST", url+"/api/conversations/x/cancel", ""); code != http.StatusNotFound || !strings.Contains(body, "unknown_conversation") {
		t.Errorf("%d %s", code, body)
	}
	if r := n.end(); r.code != exitDone || r.stdout != "serving "+url+"\n" {
		t.Errorf("got %+v", r)
	}
}

// A name of this machine that is not one of loopback is found when the listener is open.
func TestOpenedAddress(t *testing.T) {
	away, here := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
	for want, c := range map[string]*nodeCmd{
		"--no-auth is for loopback addresses":                          {authFlags: authFlags{NoAuth: true}},
		"without a flag that says who may connect, it is for loopback": {listenFlags: listenFlags{HTTP: "localhost:0"}},
	} {
		if err := c.checkOpened("--http", away); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if err := c.checkOpened("--http", here); err != nil {
			t.Errorf("got %v", err)
		}
	}
	known := &nodeCmd{listenFlags: listenFlags{HTTP: "localhost:0"}, authFlags: authFlags{Tokens: "tokens"}}
	if err := known.checkOpened("--http", away); err != nil {
		t.Errorf("got %v", err)
	}
}

// The operator bounds what the node keeps. The defaults are those of the library.
func TestRecordFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	n := hosts(t, "--no-auth", "--swarm", "eddyjules", "--http", "127.0.0.1:0", "--record-conversations", "2", "--record-bytes", "1MiB")
	c, url := browser(t, nil), served(n.running)
	for range 2 { // each has three conversations: the user's and two of Eddy's
		if r := runs(t, "call", "Eddy", "debug_code", "-d", task, "-q", "--addr", n.at["tcp"]); r.code != exitDone {
			t.Fatalf("got %+v", r)
		}
	}
	if _, body := ask(t, c, "GET", url+"/api/conversations?live=false", ""); strings.Count(body, `"message_count"`) > 2 {
		t.Errorf("it keeps %s", body)
	}
	if _, body := ask(t, c, "GET", url+"/api/node", ""); !strings.Contains(body, `"recorder":{"conversations":2,`) {
		t.Errorf("it counts %s", body)
	}
	if r := n.end(); r.code != exitDone {
		t.Errorf("got %+v", r)
	}
	for want, args := range map[string][]string{
		"--record-conversations: want more than 0": {"--http", "127.0.0.1:0", "--record-conversations", "0"},
		"want a number of bytes":                   {"--http", "127.0.0.1:0", "--record-bytes", "0"},
		"are about what --http serves":             {"--tcp", "127.0.0.1:0", "--record-conversations", "5"},
		"add it, such as --http":                   {"--tcp", "127.0.0.1:0", "--record-bytes", "5KiB"},
	} {
		if r := runs(t, append([]string{"node", "--no-auth"}, args...)...); r.code != exitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

// The connections of the interface are bounded: an operator who is one too many is told so, and a
// probe still gets its answer.
func TestHTTPConnections(t *testing.T) {
	t.Chdir(t.TempDir())
	n := begins(t, "node", "--no-auth", "--http", "127.0.0.1:0", "--max-http-connections", "1")
	url := served(n)
	events, err := browser(t, nil).Get(url + "/api/events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = events.Body.Close() }()
	if r := runs(t, "top", "--addr", url); r.code != exitFailed || !strings.Contains(r.stderr, "serves at most 1 connections at a time; close one") {
		t.Errorf("got %+v", r)
	}
	if code, body := ask(t, browser(t, nil), "GET", url+"/healthz", ""); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	if r := n.end(); r.code != exitDone || strings.Contains(r.stderr, "had not stopped") {
		t.Errorf("got %+v", r)
	}
	if r := runs(t, "node", "--no-auth", "--http", "127.0.0.1:0", "--max-http-connections", "0"); r.code != exitUsage || !strings.Contains(r.stderr, "--max-http-connections: want more than 0") {
		t.Errorf("got %+v", r)
	}
}

// measured returns the sum of the samples of a metric, as Prometheus's own parser reads them.
func measured(t *testing.T, c *http.Client, url, name string) (sum float64) {
	t.Helper()
	code, text := ask(t, c, "GET", url+"/metrics", "")
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	parser := expfmt.NewTextParser(prometheus.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for _, m := range families[name].GetMetric() {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return sum
}

// With tokens, everything but the health needs one, and a rule that grants the right. No token is
// logged or answered.
func TestHTTPTokens(t *testing.T) {
	const crmToken = "crm-0123456789abcdefghijk" //nolint:gosec // nobody else's
	t.Chdir(t.TempDir())
	writeFile(t, "tokens", "Ana "+anasToken+"\nCrm "+crmToken+"\n")
	writeFile(t, "rules.json", `[{"agent":"Ana","operator":["read"]},{"agent":"Crm","allow":["*"]}]`)
	n := hosts(t, "--tokens", "tokens", "--rules", "rules.json", "--http", "127.0.0.1:0")
	c, url := browser(t, nil), served(n.running)
	if code, body := ask(t, c, "GET", url+"/healthz", ""); code != http.StatusOK {
		t.Errorf("health: %d %s", code, body)
	}
	if code, body := ask(t, c, "GET", url+"/console/", ""); code != http.StatusOK || !strings.Contains(body, "main.js") {
		t.Errorf("console: %d %s", code, body)
	}
	for token, want := range map[string]struct{ read, act int }{
		"": {401, 401}, otherToken: {401, 401}, anasToken: {200, 403}, crmToken: {403, 403},
	} {
		for _, path := range []string{"/api/conversations", "/metrics"} {
			code, body := ask(t, c, "GET", url+path, token)
			if code != want.read {
				t.Errorf("%s with %q: %d %s", path, token, code, body)
			}
			noSecrets(t, ran{stdout: body})
		}
		if code, body := ask(t, c, "POST", url+"/api/conversations/x/cancel", token); code != want.act {
			t.Errorf("cancel with %q: %d %s", token, code, body)
		}
	}
	noSecrets(t, n.end())
}

// Without rules, everyone who has authenticated may read and act; and TLS applies, with client
// certificates.
func TestHTTPS(t *testing.T) {
	t.Chdir(t.TempDir())
	pki(t)
	n := begins(t, "node", "--tls-cert", "server.pem", "--tls-key", "server.key", "--client-ca", "ca.pem", "--http", "127.0.0.1:0")
	url := served(n)
	ca, err := os.ReadFile("ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	own, err := tls.LoadX509KeyPair("Crm.pem", "Crm.key")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(url, "https://127.0.0.1:") {
		t.Fatalf("it serves %s", url)
	}
	for want, certificates := range map[int][]tls.Certificate{http.StatusUnauthorized: nil, http.StatusOK: {own}} {
		c := browser(t, &tls.Config{RootCAs: roots, Certificates: certificates, MinVersion: tls.VersionTLS12})
		if code, body := ask(t, c, "GET", url+"/api/node", ""); code != want {
			t.Errorf("%d %s, want %d", code, body, want)
		}
		if code, _ := ask(t, c, "POST", url+"/api/conversations/x/cancel", ""); want == http.StatusOK && code != http.StatusNotFound {
			t.Errorf("cancel: %d", code)
		}
	}
	if r := n.end(); r.code != exitDone || strings.Contains(r.stderr, "had not stopped") {
		t.Errorf("got %+v", r)
	}
}

// A node shows the agents of the other nodes of its cluster, with the live data that only their
// nodes have.
func TestHTTPOfTwoNodes(t *testing.T) {
	member := func(name string, args ...string) *running {
		all := []string{"node", "--no-auth", "--name", name, "--grpc", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--profile", "wan", "--http", "127.0.0.1:0"}
		return begins(t, append(all, args...)...)
	}
	first := member("a", "--swarm", "eddyjules")
	_, gossip, _ := strings.Cut(first.shows(&first.stdout, "gossiping on "), "gossiping on ")
	gossip, _, _ = strings.Cut(gossip, "\n")
	second := member("b", "--join", gossip)
	c, url := browser(t, nil), served(second)
	var body string
	for late := time.Now().Add(patience.Time); !strings.Contains(body, `"agent":"Jules","node":"a","queued":{`); {
		if _, body = ask(t, c, "GET", url+"/api/agents", ""); time.Now().After(late) {
			t.Fatalf("b answers %s", body)
		}
	}
	for late := time.Now().Add(patience.Time); ; { // the agents may have come by gossip, before the link
		_, metrics := ask(t, c, "GET", url+"/metrics", "")
		if strings.Contains(metrics, `ribosome_cluster_links{ribosome_state="up"} 1`) && strings.Contains(metrics, `ribosome_cluster_links{ribosome_state="down"} 0`) {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("the metrics are %s", metrics)
		}
	}
	if _, body := ask(t, c, "GET", url+"/api/members", ""); strings.Count(body, `"labels":{"http":"http://127.0.0.1:`) != 2 {
		t.Errorf("the members are %s", body)
	}
	if r := second.end(); r.code != exitDone {
		t.Errorf("got %+v", r)
	}
	if r := first.end(); r.code != exitDone {
		t.Errorf("got %+v", r)
	}
}

// A node is not ready when it has been told to stop, and when it hands over its agents.
func TestDraining(t *testing.T) {
	node, err := runtime.New(runtime.Options{Name: "n", Cluster: &runtime.ClusterOptions{Gossip: "127.0.0.1:0", Profile: membership.Local}})
	if err != nil {
		t.Fatal(err)
	}
	within, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	defer func() { _ = node.Stop(within) }()
	peers, err := runtime.NewPeers(node, runtime.PeerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := &endpoint{node: node, peers: peers}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if p.draining(t.Context()) || !p.draining(stopped) {
		t.Error("it drains before the signal, or not after it")
	}
	if err := node.HandOver(within); err != nil {
		t.Error(err)
	}
	if !p.draining(t.Context()) {
		t.Error("it hands over its agents, and is ready")
	}
}
