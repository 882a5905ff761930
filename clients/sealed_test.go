package clients_test

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire/sealed"
	"github.com/ribosome-agents/ribosome/wire/sealed/sealedtest"
)

// secret returns keys as the client package reads them.
func secret(t *testing.T, keys sealed.Keys) string {
	t.Helper()
	text, err := keys.Secret()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// asker is a sealed agent that delegates its parameters to another agent.
type asker struct{ helper }

func (asker) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	p, err := performatives.Decode[struct {
		To         performatives.AgentID `json:"to"`
		Type       string                `json:"type"`
		Parameters json.RawMessage       `json:"parameters"`
	}](t.Parameters)
	if err != nil {
		return performatives.InformResult{}, err
	}
	forward := delegation.WithProgress(func(u performatives.StatusUpdate) { _ = t.Progress(1, u.Description) })
	return delegation.Delegate(ctx, t.Agent, p.To, performatives.TaskRequest{TaskType: p.Type, Description: "d", Parameters: performatives.RawContent(p.Parameters)}, forward)
}

// TestSealedWorker has a worker and agents in Go ask each other by sealed payloads.
func TestSealedWorker(t *testing.T) {
	racetest.Skip(t)
	for _, l := range languages[1:] {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			needs(t, l.program)
			h, err := startHost(hostOptions{})
			if err != nil {
				t.Fatal(err)
			}
			f := newFixture(t, l, h)
			keys := map[performatives.AgentID]sealed.Keys{"Asker": sealedtest.Keys(t), "Deputy": sealedtest.Keys(t), "Worker": sealedtest.Keys(t)}
			pins, ids := make(map[performatives.AgentID][]string), make(map[performatives.AgentID]string)
			for id, k := range keys {
				pins[id], ids[id] = []string{k.ID()}, k.ID()
			}
			for id, agent := range map[performatives.AgentID]actors.Agent{"Asker": asker{}, "Deputy": helper{}} {
				s, err := sealed.New(sealed.Options{Agent: id, Keys: keys[id], Trust: sealed.Trust{Pins: pins}, PlainPeers: []performatives.AgentID{"Host"}})
				if err != nil {
					t.Fatal(err)
				}
				if err := h.node.Spawn(t.Context(), id, func() actors.Agent { return agent }, runtime.Sealed(s)); err != nil {
					t.Fatal(err)
				}
			}
			pinned, err := json.Marshal(ids)
			if err != nil {
				t.Fatal(err)
			}
			f.join(t, "RIBOSOME_KEYS="+secret(t, keys["Worker"]), "RIBOSOME_PINS="+string(pinned))
			ask := func(ctx context.Context, kind string, parameters any, o ...codons.Option) (performatives.InformResult, error) {
				return f.node.Delegate(ctx, "Asker", task("forward", map[string]any{"to": "Worker", "type": kind, "parameters": parameters}), o...)
			}
			result, err := ask(t.Context(), "echo", map[string]string{"ключ": "é 日本"})
			if got, _ := performatives.Decode[map[string]string](result.Details); err != nil || result.Summary != "✓" || got["ключ"] != "é 日本" {
				t.Errorf("the worker answers %+v, %v", result, err)
			}
			if result, err = ask(t.Context(), "relay", map[string]any{"to": "Deputy", "type": "x", "parameters": map[string]int{"n": 1}}); err != nil || result.Summary != "helped" {
				t.Errorf("the worker asks: %+v, %v", result, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			_, err = ask(ctx, "wait", nil, delegation.WithProgress(func(performatives.StatusUpdate) { cancel() }))
			cancel()
			if end, ok := errors.AsType[*codons.EndError](err); !ok || end.State != "cancelled" {
				t.Errorf("want a receipt, got %v", err)
			}
			if _, err := f.node.Delegate(t.Context(), "Worker", task("echo", nil)); !errors.Is(err, performatives.CodeSealRequired) {
				t.Errorf("in the clear: %v", err)
			}
			if _, err := ask(t.Context(), "relay", map[string]any{"to": "Helper", "type": "x"}); !errors.Is(err, performatives.CodeUnknownKey) {
				t.Errorf("the worker asks an agent without keys: %v", err)
			}
			if _, err := ask(t.Context(), "relay", map[string]any{"to": "Nobody", "type": "x"}); !errors.Is(err, performatives.CodeUnknownAgent) {
				t.Errorf("the worker asks nobody: %v", err)
			}
		})
	}
}

// sealerProgram is the sealer of the TypeScript package as a process.
type sealerProgram struct {
	in   io.Writer
	out  *bufio.Reader
	keys string // the statement of its keys
}

func startSealer(t *testing.T, id performatives.AgentID, own string, pins map[performatives.AgentID]string) *sealerProgram {
	t.Helper()
	needs(t, "node")
	dir := t.TempDir()
	f := &fixture{dir: dir}
	f.install(t)
	text, err := json.Marshal(pins)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "testdata", "sealer.mjs"), string(id), own, string(text))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	p := &sealerProgram{in: in, out: bufio.NewReader(out)}
	p.keys, _ = p.answer(t)["keys"].(string)
	return p
}

func (p *sealerProgram) answer(t *testing.T) (m map[string]any) {
	t.Helper()
	line, err := p.out.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &m) != nil {
		t.Fatalf("it says %s, %v", line, err)
	}
	return m
}

func (p *sealerProgram) ask(t *testing.T, command map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.in.Write(append(text, '\n')); err != nil {
		t.Fatal(err)
	}
	return p.answer(t)
}

// request is a task as acl has it on the wire.
func request(id, from, to string, members map[string]any) map[string]any {
	m := map[string]any{
		"mcp_version": "0.1.0", "message_id": id, "performative": "TASK_REQUEST", "sender": map[string]any{"agent_id": from}, "receiver": map[string]any{"agent_id": to},
		"timestamp": time.Now().UTC().Format(time.RFC3339Nano), "language": "application/json", "payload": map[string]any{"task_type": "t", "task_parameters": map[string]any{"secret": "é"}},
	}
	for name, value := range members {
		m[name] = value
	}
	return m
}

// received returns the message of a node that has read m.
func received(t *testing.T, m map[string]any) *performatives.Message {
	t.Helper()
	payload, err := json.Marshal(m["payload"])
	if err != nil {
		t.Fatal(err)
	}
	id := func(of any) performatives.AgentID {
		return performatives.AgentID(fmt.Sprint(of.(map[string]any)["agent_id"])) //nolint:forcetypeassert // a request has both
	}
	kind, _ := m["message_type"].(string)
	out, err := performatives.New(performatives.Envelope{
		ID: performatives.MessageID(fmt.Sprint(m["message_id"])), Performative: performatives.ActTaskRequest, Sender: id(m["sender"]), Receiver: id(m["receiver"]),
		Timestamp: time.Now(), MessageType: kind, Payload: performatives.Raw(payload),
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// changed returns the JWE of a message with another first character in each of its five parts.
func changed(jose string) (all []string) {
	parts := strings.Split(jose, ".")
	for i, part := range parts {
		other := "A"
		if part[0] == 'A' {
			other = "B"
		}
		with := append([]string(nil), parts...)
		with[i] = other + part[1:]
		all = append(all, strings.Join(with, "."))
	}
	return all
}

// TestSealedByTypeScript has package sealed open what the TypeScript package has sealed, and refuse
// it when it was changed, has come before, is for another receiver or is by another key.
func TestSealedByTypeScript(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	mine, theirs := sealedtest.Keys(t), sealedtest.Keys(t)
	opener := func(agent performatives.AgentID, keys sealed.Keys, pin string) *sealed.Sealer {
		s, err := sealed.New(sealed.Options{Agent: agent, Keys: keys, Trust: sealed.Trust{Pins: map[performatives.AgentID][]string{"Ann": {pin}}}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	bob := opener("Bob", mine, theirs.ID())
	p := startSealer(t, "Ann", secret(t, theirs), map[performatives.AgentID]string{"Bob": mine.ID()})
	message := p.ask(t, map[string]any{"seal": request("m1", "Ann", "Bob", map[string]any{"own": 7, "budget": map[string]any{"tokens": 5}}), "keys": bob.Statement()})
	if text := fmt.Sprint(message); message["message_type"] != "jose" || strings.Contains(text, "secret") || message["own"] != nil || message["budget"] != nil {
		t.Fatalf("sealed: %v", message)
	}
	m := received(t, message)
	none := performatives.Capabilities{}
	refuses := func(why string, s *sealed.Sealer, m *performatives.Message, code performatives.Code) {
		t.Helper()
		if _, _, err := s.Open(m, none); !errors.Is(err, code) {
			t.Errorf("%s: %v, want %v", why, err, code)
		}
	}
	jose, _ := message["payload"].(map[string]any)["jose"].(string) //nolint:forcetypeassert // see above
	for i, text := range changed(jose) {
		message["payload"] = map[string]any{"jose": text}
		refuses(fmt.Sprint("part ", i, " changed"), bob, received(t, message), performatives.CodeInvalidSeal)
	}
	refuses("another key", opener("Bob", mine, mine.ID()), m, performatives.CodeUnknownKey)
	refuses("for other keys", opener("Bob", sealedtest.Keys(t), theirs.ID()), m, performatives.CodeUnknownKey)
	refuses("another receiver", opener("Eve", mine, theirs.ID()), m, performatives.CodeWrongReceiver)
	opened, authentic, err := bob.Open(m, none)
	if err != nil || !authentic {
		t.Fatal(err)
	}
	got, err := performatives.PayloadAs[performatives.TaskRequest](opened)
	own, _ := opened.Metadata("own")
	budget, _ := opened.Budget().MarshalJSON()
	if err != nil || got.TaskType != "t" || string(own) != "7" || string(budget) != `{"tokens":5}` {
		t.Errorf("opened %+v with %s and the budget %s, %v", got, own, budget, err)
	}
	refuses("again", bob, m, performatives.CodeReplayed)
}

// forged returns a sealed payload with the key id and the statement of an agent whose private key
// the forger does not have.
func forged(t *testing.T, victim *sealed.Sealer, kid string, to sealed.Keys, message map[string]any) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	var set jose.JSONWebKeySet
	if text, err := to.Public(); err != nil || json.Unmarshal(text, &set) != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	claims, err := json.Marshal(map[string]any{"jti": "j", "iat": now, "exp": now + 60, "keys": victim.Statement(), "message": message})
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, (&jose.SignerOptions{}).WithType("ribosome-payload+jws"))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	recipient := jose.Recipient{Algorithm: jose.ECDH_ES_A256KW, Key: set.Keys[1].Key, KeyID: set.Keys[1].KeyID}
	encrypter, err := jose.NewEncrypter(jose.A256GCM, recipient, (&jose.EncrypterOptions{}).WithType("ribosome-payload+jwe"))
	if err != nil {
		t.Fatal(err)
	}
	encrypted, err := encrypter.Encrypt([]byte(compact))
	if err != nil {
		t.Fatal(err)
	}
	text, err := encrypted.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestOpenedByTypeScript is TestSealedByTypeScript the other way.
func TestOpenedByTypeScript(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	mine, theirs := sealedtest.Keys(t), sealedtest.Keys(t)
	sealer := func(keys sealed.Keys) *sealed.Sealer {
		s, err := sealed.New(sealed.Options{Agent: "Bob", Keys: keys, Trust: sealed.Trust{FirstUse: true}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	bob := sealer(mine)
	p := startSealer(t, "Ann", secret(t, theirs), map[performatives.AgentID]string{"Bob": mine.ID()})
	q := startSealer(t, "Eve", secret(t, theirs), map[performatives.AgentID]string{"Bob": mine.ID()})
	entry := performatives.Capabilities{Extra: performatives.Members{sealed.CapabilityKeys: []byte(`"` + p.keys + `"`)}}
	seal := func(s *sealed.Sealer, id string) map[string]any {
		m := request(id, "Bob", "Ann", nil)
		out, err := s.Seal(received(t, m), entry)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := performatives.PayloadAs[performatives.SealedPayload](out)
		if err != nil {
			t.Fatal(err)
		}
		m["message_type"], m["payload"] = out.MessageType(), map[string]any{"jose": payload.JOSE}
		return m
	}
	refuses := func(why string, p *sealerProgram, m map[string]any, code performatives.Code) {
		t.Helper()
		if got := p.ask(t, map[string]any{"open": m}); got["code"] != string(code) {
			t.Errorf("%s: %v, want %v", why, got, code)
		}
	}
	m := seal(bob, "m1")
	jose, _ := m["payload"].(map[string]any)["jose"].(string) //nolint:forcetypeassert // see above
	for i, text := range changed(jose) {
		refuses(fmt.Sprint("part ", i, " changed"), p, request("m1", "Bob", "Ann", map[string]any{"message_type": "jose", "payload": map[string]any{"jose": text}}), performatives.CodeInvalidSeal)
	}
	refuses("moved", p, request("m2", "Bob", "Ann", map[string]any{"message_type": "jose", "payload": m["payload"]}), performatives.CodeInvalidSeal)
	refuses("another receiver", q, m, performatives.CodeWrongReceiver)
	refuses("another key", p, seal(sealer(sealedtest.Keys(t)), "m3"), performatives.CodeUnknownKey)
	refuses("in the clear", p, request("m4", "Bob", "Ann", nil), performatives.CodeSealRequired)
	inner := map[string]any{"id": "m6", "performative": "TASK_REQUEST", "sender": "Bob", "receiver": "Ann", "payload": map[string]any{"task_type": "t"}}
	text := forged(t, bob, mine.ID(), theirs, inner)
	refuses("forged", p, request("m6", "Bob", "Ann", map[string]any{"message_type": "jose", "payload": map[string]any{"jose": text}}), performatives.CodeInvalidSeal)
	opened := p.ask(t, map[string]any{"open": m})
	payload, _ := opened["payload"].(map[string]any)
	if fmt.Sprint(payload["task_parameters"]) != "map[secret:é]" || opened["message_type"] != nil {
		t.Errorf("opened %v", opened)
	}
	refuses("again", p, m, performatives.CodeReplayed)
	if got := p.ask(t, map[string]any{"open": seal(bob, "m5")}); got["code"] != nil {
		t.Errorf("the next: %v", got)
	}
}
