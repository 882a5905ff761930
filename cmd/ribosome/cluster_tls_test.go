package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// secureMember starts a node whose certificate is name.pem, which trusts the authorities of a file,
// with a key for the gossip.
func secureMember(t *testing.T, name, authorities string, args ...string) *nodeProcess {
	t.Helper()
	n := startMember(t, name, append([]string{
		"--tls-cert", name + ".pem", "--tls-key", name + ".key", "--client-ca", authorities, "--gossip-key", "gossip.key", "--http", "127.0.0.1:0",
	}, args...)...)
	n.flags = []string{"--ca", "all.pem", "--cert", "Crm.pem", "--key", "Crm.key", "--as", "Crm"}
	return n
}

// get returns the status and the body of an answer of the operator's interface.
func (n *nodeProcess) get(path string) (status int, body string) {
	n.t.Helper()
	status, body, err := n.fetch(path)
	if err != nil {
		n.t.Fatal(err)
	}
	return status, body
}

// fetch is get for any goroutine.
func (n *nodeProcess) fetch(path string) (status int, body string, err error) {
	pair, err := tls.LoadX509KeyPair("Crm.pem", "Crm.key")
	if err != nil {
		return 0, "", err
	}
	authorities, err := os.ReadFile("all.pem")
	if err != nil {
		return 0, "", err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authorities)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	r, err := http.NewRequestWithContext(n.t.Context(), http.MethodGet, n.http+path, nil)
	if err != nil {
		return 0, "", err
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, strings.TrimSpace(string(text)), err
}

// ready waits until the node answers /readyz in that way.
func (n *nodeProcess) ready(status int, word string) {
	n.t.Helper()
	ticker := time.NewTicker(lookTime)
	defer ticker.Stop()
	got, body := 0, ""
	for until := time.Now().Add(patience.Time); time.Now().Before(until); <-ticker.C {
		if got, body = n.get("/readyz"); got == status && strings.Contains(body, `"status":"`+word+`"`) {
			return
		}
	}
	n.t.Fatalf("%s is ready: %d %s, want %d %s", n.name, got, body, status, word)
}

// readFiles returns the contents of some files, one after the other.
func readFiles(t *testing.T, names ...string) (all []byte) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}

// calls has Jules work for a client of the node.
func (n *nodeProcess) calls(task string) {
	n.t.Helper()
	args := append([]string{"call", "Jules", "debug_code", "-q", "-d", "@" + task, "--addr", n.tcp}, n.flags...)
	if out, err := program(n.t, args...).CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "success: ") {
		n.t.Fatalf("a call at %s: %v: %s", n.name, err, out)
	}
}

// twoAuthorities writes a.pem and b.pem, which are authorities, all.pem, which has both, and what a
// signs: certificates of the nodes n1 to n3 and of the client Crm. It returns what signs by b.
func twoAuthorities(t *testing.T) (second func(name string)) {
	t.Helper()
	a, keyOfA := certificate(t, "a", nil, nil)
	b, keyOfB := certificate(t, "b", nil, nil)
	writeFile(t, "all.pem", string(readFiles(t, "a.pem", "b.pem")))
	writeFile(t, "gossip.key", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n")
	for _, name := range []string{"n1", "n2", "n3", "Crm"} {
		certificate(t, name, a, keyOfA)
	}
	return func(name string) { certificate(t, name, b, keyOfB) }
}

// Three nodes with certificates as docs/cluster.md has them: a call passes between two, one
// replaces its certificate while it runs, and both the links that it opens and those that it
// accepts have the new one: the other nodes begin again with the second authority only.
func TestSecureClusterProcesses(t *testing.T) {
	racetest.Skip(t)
	task, err := filepath.Abs("testdata/task.json")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	second := twoAuthorities(t)
	n1 := secureMember(t, "n1", "all.pem")
	n2 := secureMember(t, "n2", "all.pem", "--join", n1.gossip)
	n3 := secureMember(t, "n3", "all.pem", "--join", n1.gossip, "--swarm", "eddyjules")
	for _, n := range []*nodeProcess{n1, n2, n3} {
		n.lists("members", "n1 alive 0", "n2 alive 0", "n3 alive 3")
		n.ready(http.StatusOK, "ready")
	}
	n1.calls(task)

	second("n2")
	for _, n := range []*nodeProcess{n1, n3} { // n2 knows them no more, and opens and accepts new links
		if err := n.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	n2.lists("members", "n2 alive 0")
	second("n1")
	second("n3")
	second("Crm")
	n1 = secureMember(t, "n1", "b.pem", "--join", n2.gossip)
	n3 = secureMember(t, "n3", "b.pem", "--join", n2.gossip, "--swarm", "eddyjules")
	for _, n := range []*nodeProcess{n1, n2, n3} {
		n.lists("members", "n1 alive 0", "n2 alive 0", "n3 alive 3")
		n.ready(http.StatusOK, "ready")
	}
	n1.calls(task)
	n2.calls(task)

	// A pair of files that do not belong together, as between the two copies of a renewal that
	// stops: the pair before stays in use.
	writeFile(t, "n2.key", string(readFiles(t, "n1.key")))
	n2.calls(task)
	ctx, cancel := context.WithCancel(t.Context())
	var looking sync.WaitGroup
	looking.Go(func() { // the files are looked at by a handshake, at most once in a second
		for look := time.NewTicker(lookTime); ; {
			select {
			case <-look.C:
				if status, _, err := n2.fetch("/healthz"); status != http.StatusOK {
					t.Errorf("the answer of /healthz is %d: %v", status, err)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	n2.logs("the certificate was not loaded again", "n2.key")
	cancel()
	looking.Wait()
}

// A node whose certificate the others do not trust takes part in the gossip, and no messages pass
// to it: it is not ready, and each node says why. The others are.
func TestMemberWithoutLinks(t *testing.T) {
	racetest.Skip(t)
	t.Chdir(t.TempDir())
	second := twoAuthorities(t)
	n1 := secureMember(t, "n1", "a.pem")
	n1.ready(http.StatusOK, "ready")
	second("n4")
	n4 := secureMember(t, "n4", "all.pem", "--join", n1.gossip)
	n1.lists("members", "n1 alive 0", "n4 unlinked 0")
	n4.lists("members", "n1 unlinked 0", "n4 alive 0")
	n4.ready(http.StatusServiceUnavailable, "unlinked")
	n1.ready(http.StatusOK, "ready") // it was alone before
	n2 := secureMember(t, "n2", "a.pem", "--join", n1.gossip)
	n2.lists("members", "n1 alive 0", "n2 alive 0", "n4 unlinked 0")
	n2.ready(http.StatusOK, "ready")
	n4.ready(http.StatusServiceUnavailable, "unlinked")
	for n, reason := range map[*nodeProcess]string{n1: "certificate signed by unknown authority", n4: "which opens the link, has not done so yet"} {
		var list struct {
			Members []struct{ Node, Unlinked string }
		}
		status, body := n.get("/api/members")
		if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK {
			t.Fatal(err, body)
		}
		said := 0
		for _, m := range list.Members {
			if (m.Node == "n4" || n == n4) && m.Node != n.name {
				said++
				if !strings.Contains(m.Unlinked, reason) {
					t.Errorf("%s says of %s %q, want %q", n.name, m.Node, m.Unlinked, reason)
				}
			} else if m.Unlinked != "" {
				t.Errorf("%s says of %s %q", n.name, m.Node, m.Unlinked)
			}
		}
		if said == 0 {
			t.Errorf("%s says nothing of n4: %s", n.name, body)
		}
	}
}
