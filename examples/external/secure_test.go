package main

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/ws"
)

// token is the token of Wordsmith.
const token = "0123456789abcdef0123456789abcdef"

// startTokenNode starts a node that requires tokens.
func startTokenNode(t *testing.T) (*runtime.Node, *wire.Server) {
	t.Helper()
	n, err := runtime.New(runtime.Options{Name: nodeName})
	if err != nil {
		t.Fatal(err)
	}
	peers, err := runtime.NewPeers(n, runtime.PeerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	known, err := auth.Tokens([]auth.Token{{Name: "Wordsmith", Value: token}, {Name: "Factorizer", Value: "fedcba9876543210fedcba9876543210"}})
	if err != nil {
		t.Fatal(err)
	}
	server, err := wire.NewServer(wire.Options{Handler: peers, Dialects: []wire.Dialect{acl.Dialect{}}, Auth: known})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n, server
}

// startWithToken starts a command with a token, and returns its stderr.
func startWithToken(t *testing.T, token string, cmd *exec.Cmd) *screen {
	t.Helper()
	var stderr screen
	cmd.Stderr = &stderr
	cmd.Env = append(cmd.Environ(), "RIBOSOME_TOKEN="+token)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &stderr
}

// certificate returns a certificate for 127.0.0.1, and a file that contains it as a CA.
func certificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(file, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return s.TLS.Certificates[0], file
}

// TestTLSAndToken joins over TLS with the agent's token, and fails with another agent's.
func TestTLSAndToken(t *testing.T) {
	racetest.Skip(t)
	needs(t, "python3")
	n, server := startTokenNode(t)
	cert, ca := certificate(t)
	l, err := tcp.Listen(server, tcp.Options{Addr: "127.0.0.1:0", TLS: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Stop(context.Background()) })
	dir := installed(t)
	args := []string{"-B", filepath.Join(dir, "python", "agent.py"), "tcps://" + l.Addr().String(), "--ca", ca, "--id"}
	testTokens(t, n, func(id string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "python3", append(args, id)...)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+dir)
		return cmd
	}, "Wordsmith")
}

// installed returns a folder with the programs and their packages.
func installed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := install(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestTokenOverWebSocket does the same over WebSocket.
func TestTokenOverWebSocket(t *testing.T) {
	racetest.Skip(t)
	needs(t, "node")
	n, server := startTokenNode(t)
	l, err := ws.Listen(server, ws.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Stop(context.Background()) })
	agent := filepath.Join(installed(t), "js", "agent.mjs")
	testTokens(t, n, func(id string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "node", agent, l.URL())
		cmd.Env = append(os.Environ(), "AGENT_ID="+id)
		return cmd
	}, "Wordsmith")
}

func testTokens(t *testing.T, n *runtime.Node, command func(id string) *exec.Cmd, id string) {
	t.Helper()
	joined := n.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindAgentAnnounced}})
	defer joined.Close()
	startWithToken(t, token, command(id))
	if who := (<-joined.C).Event.(events.AgentAnnounced); string(who.Agent) != id {
		t.Errorf("%s has joined", who.Agent)
	}
	for name, wrong := range map[string]struct{ id, token string }{
		"another's": {"Factorizer", token}, "none": {id, ""}, "a wrong one": {id, "00000000000000000000000000000000"},
	} {
		cmd := command(wrong.id)
		stderr := startWithToken(t, wrong.token, cmd)
		if err := cmd.Wait(); err == nil || !strings.Contains(stderr.String(), "does not want this agent") || strings.Contains(stderr.String(), token) {
			t.Errorf("with %s token it ends with %v, and says %q", name, err, stderr)
		}
	}
}
