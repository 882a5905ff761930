package clients_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TestWorker has one worker of each language do all that leaves it connected.
func TestWorker(t *testing.T) {
	racetest.Skip(t)
	forEach(t, hostOptions{}, func(t *testing.T, f *fixture) {
		f.join(t)
		for _, c := range []struct {
			name string
			test func(*testing.T, *fixture)
		}{
			{"cancel races", cancelRaces}, {"tasks", delegatesTasks}, {"too large", refusesTooLarge}, {"relay", relays}, {"cancel", cancels},
		} {
			t.Run(c.name, func(t *testing.T) { c.test(t, f) })
		}
	})
}

// delegatesTasks delegates tasks to a worker: with text of all kinds, and large.
func delegatesTasks(t *testing.T, f *fixture) {
	for name, text := range map[string]string{
		"none": "", "non-ASCII": "é 日本 🧬 \u2028 \x00 \u200d ﷽", "JSON": `"\u0000{}`, "large": strings.Repeat("ß", 1<<20),
	} {
		var reports []string
		result, err := f.node.Delegate(t.Context(), "worker", task("echo", map[string]string{"ключ": text}), delegation.WithProgress(func(u performatives.StatusUpdate) {
			reports = append(reports, fmt.Sprint(*u.Progress, u.Description))
		}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := performatives.Decode[map[string]string](result.Details)
		if err != nil || result.Status != performatives.StatusSuccess || result.Summary != "✓" || got["ключ"] != text || len(got) != 1 {
			t.Errorf("%s: got %s %s with %d bytes, %v", name, result.Status, result.Summary, len(got["ключ"]), err)
		}
		if diff := cmp.Diff([]string{"50½"}, reports); diff != "" {
			t.Errorf("%s: reports (-want +got):\n%s", name, diff)
		}
	}
	if _, err := f.node.Delegate(t.Context(), "Worker", task("coffee", nil)); !errors.Is(err, performatives.CodeIncapable) {
		t.Errorf("an unknown task: %v", err)
	}
}

// refusesTooLarge asks for a result that the node would not take. The worker stays connected.
func refusesTooLarge(t *testing.T, f *fixture) {
	d, err := delegation.Start(t.Context(), f.node, "Worker", task("wait", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Cancel()
	if _, err := f.node.Delegate(t.Context(), "Worker", task("long", map[string]int{"bytes": 16 << 20})); !errors.Is(err, performatives.CodeFailed) {
		t.Errorf("too long: %v", err)
	}
	result, err := f.node.Delegate(t.Context(), "Worker", task("long", map[string]int{"bytes": 16<<20 - 1000}))
	if err != nil || len(result.Summary) != 16<<20-1000 {
		t.Errorf("long: %d bytes, %v", len(result.Summary), err)
	}
	select {
	case <-d.Done():
		t.Error("the connection was lost")
	default:
	}
}

// relays has the worker delegate a task: progress in both directions.
func relays(t *testing.T, f *fixture) {
	var reports []string
	relayed := map[string]any{"to": "Helper", "type": "report", "parameters": map[string]int{"n": 7}}
	result, err := f.node.Delegate(t.Context(), "Worker", task("relay", relayed), delegation.WithProgress(func(u performatives.StatusUpdate) {
		reports = append(reports, fmt.Sprint(*u.Progress, u.Description))
	}))
	if err != nil || result.Summary != "helped" {
		t.Errorf("got %+v, %v", result, err)
	}
	if diff := cmp.Diff([]string{"25a quarter"}, reports); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
	relayed["to"] = "Nobody"
	if _, err := f.node.Delegate(t.Context(), "Worker", task("relay", relayed)); !errors.Is(err, performatives.CodeUnknownAgent) {
		t.Errorf("to nobody: %v", err)
	}
}

// cancels withdraws a task of the worker, one that it has passed on, and has the worker withdraw
// one.
func cancels(t *testing.T, f *fixture) {
	for _, kind := range []performatives.TaskRequest{
		task("wait", nil), task("relay", map[string]any{"to": "Helper", "type": "last", "parameters": map[string]any{}}),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := f.node.Delegate(ctx, "Worker", kind, delegation.WithProgress(func(performatives.StatusUpdate) { cancel() }))
		cancel()
		if end, ok := errors.AsType[*codons.EndError](err); !ok || end.State != "cancelled" {
			t.Errorf("%s: want a receipt, got %v", kind.TaskType, err)
		}
	}
	result, err := f.node.Delegate(t.Context(), "Worker", task("withdraw", map[string]string{"to": "Helper", "type": "last"}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := performatives.Decode[map[string]bool](result.Details)
	if diff := cmp.Diff(map[string]bool{"receipt": true, "confirmed": true}, got); err != nil || diff != "" {
		t.Errorf("%s, %v (-want +got):\n%s", result.Summary, err, diff)
	}
}

// cancelRaces withdraws tasks about when they end. Each ends with its result or with the
// receipt.
func cancelRaces(t *testing.T, f *fixture) {
	var all sync.WaitGroup
	var ends [2]atomic.Int64
	for i := range 200 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := f.node.Delegate(ctx, "Worker", task("brief", map[string]int{"ms": i % 5}), delegation.WithProgress(func(performatives.StatusUpdate) { cancel() }))
			if end, cancelled := errors.AsType[*codons.EndError](err); err != nil && (!cancelled || end.State != "cancelled") {
				t.Errorf("it ends with %v", err)
			} else if err != nil {
				ends[1].Add(1)
			} else {
				ends[0].Add(1)
			}
		})
	}
	all.Wait()
	t.Logf("%d results, %d receipts", ends[0].Load(), ends[1].Load())
	for len(f.lost.C) > 0 {
		lost := (<-f.lost.C).Event
		if m, ok := lost.(events.DeadLetter); !ok || m.Code != "duplicate" { // a CANCEL after the end repeats the answer
			t.Errorf("an answer too many: %+v", lost)
		}
	}
}

// TestNodeKilled kills a node in the middle of a task. The worker joins the node that comes after
// it, to which it says nothing about the task of the first one.
func TestNodeKilled(t *testing.T) {
	racetest.Skip(t)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			needs(t, l.program)
			ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
			defer cancel()
			first, says, in := startNode(t)
			addrs := hostOptions{tcp: says.line(ctx, t, "tcp "), ws: says.line(ctx, t, "ws ")}
			url := "ws://" + addrs.ws + "/mcp"
			if l.name == "python" {
				url = "tcp://" + addrs.tcp
			}
			f := &fixture{language: l, dir: t.TempDir()}
			f.install(t)
			f.start(t, "Worker", url)
			says.line(ctx, t, "begun ")
			if err := first.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = first.Wait()
			_ = in.Close()

			h, err := startHost(addrs)
			if err != nil {
				t.Fatal(err)
			}
			f = newFixture(t, l, h)
			f.waitJoined(t)
			result, err := h.node.Delegate(ctx, "Worker", task("echo", nil))
			if err != nil || result.Summary != "✓" {
				t.Errorf("got %+v, %v", result, err)
			}
			if len(h.lost.C) > 0 {
				t.Errorf("the second node hears of the first one's task: %+v", (<-h.lost.C).Event)
			}
		})
	}
}

// startNode starts a node as a process.
func startNode(t *testing.T) (*exec.Cmd, *output, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	says := newOutput()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(os.Environ(), nodeVariable+"=1"), r, says, says
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = w.Close()
	})
	return cmd, says, w
}

// TestReplaced starts two workers of one name. The first is told so and ends, and the second stays.
func TestReplaced(t *testing.T) {
	racetest.Skip(t)
	forEach(t, hostOptions{}, func(t *testing.T, f *fixture) {
		first, says := f.start(t, "Worker", f.url(f.host))
		f.waitJoined(t)
		f.start(t, "Worker", f.url(f.host))
		if err := first.Wait(); err == nil || !strings.Contains(says.String(), "refused: forbidden: another connection speaks for the agent") {
			t.Errorf("the first ends with %v, and says %s", err, says)
		}
		f.waitJoined(t)
		for late := time.Now().Add(patience.Time); len(f.server.Sessions()) != 1; { // the session of the first may end a little later
			if time.Now().After(late) {
				t.Fatalf("%d sessions", len(f.server.Sessions()))
			}
		}
		for range 3 {
			if result, err := f.node.Delegate(t.Context(), "Worker", task("echo", nil)); err != nil || result.Summary != "✓" {
				t.Errorf("got %+v, %v", result, err)
			}
		}
	})
}

// TestTLSAndToken joins over TLS with the worker's token, and fails with wrong ones and without a
// certificate to trust.
func TestTLSAndToken(t *testing.T) {
	racetest.Skip(t)
	cert, ca := certificate(t)
	t.Setenv("CLIENTS_TEST_CA", ca)
	for _, l := range languages[:2] { // a browser has certificates of its own
		t.Run(l.name, func(t *testing.T) {
			needs(t, l.program)
			h, err := startHost(hostOptions{auth: tokens(t), tls: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}})
			if err != nil {
				t.Fatal(err)
			}
			f := newFixture(t, l, h)
			f.join(t, "RIBOSOME_TOKEN="+workerToken)
			if _, err := f.node.Delegate(t.Context(), "Worker", task("echo", nil)); err != nil {
				t.Error(err)
			}
			for name, wrong := range map[string]string{"another's": otherToken, "an unknown": strings.Repeat("0", 32), "no": ""} {
				cmd, says := f.start(t, "Worker", f.url(f.host), "RIBOSOME_TOKEN="+wrong)
				if err := cmd.Wait(); err == nil || !strings.Contains(says.String(), "refused: ") || wrong != "" && strings.Contains(says.String(), wrong) {
					t.Errorf("with %s token it ends with %v, and says %s", name, err, says)
				}
			}
			t.Setenv("CLIENTS_TEST_CA", "")
			_, says := f.start(t, "Other", f.url(f.host), "RIBOSOME_TOKEN="+otherToken)
			ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
			defer cancel()
			for !strings.Contains(says.String(), "not connected") || !strings.Contains(strings.ToLower(says.String()), "certificate") {
				select {
				case <-says.changed:
				case <-ctx.Done():
					t.Fatalf("without the certificate to trust, it says %s", says)
				}
			}
		})
	}
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
