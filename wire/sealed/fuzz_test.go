package sealed

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// The parts of a sealed payload that the fuzz target writes. What is around each of them is right,
// so that the target gets to all readers.
const (
	fuzzPayload   = iota // the payload of the message
	fuzzJWE              // its member jose
	fuzzJWS              // what is encrypted in it
	fuzzClaims           // what the sender has signed: a trusted agent that is hostile
	fuzzStatement        // the statement of the sender's keys
	fuzzParts
)

// fixedKeys returns the same keys in each run, so that the inputs of testdata stay what they are.
func fixedKeys(t testing.TB, seed string) Keys {
	t.Helper()
	decrypt, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), []byte(strings.Repeat(seed, 32)))
	if err != nil {
		t.Fatal(err)
	}
	k, err := newKeys(jose.JSONWebKey{Key: ed25519.NewKeyFromSeed([]byte(strings.Repeat(seed, 32))), Use: useSign}, jose.JSONWebKey{Key: decrypt, Use: useEncrypt})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// fuzzWorld has Eddy and Jules with fixed keys. They trust each other's only.
func fuzzWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, clock: &clock{time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}}
	eddy, jules := fixedKeys(t, "e"), fixedKeys(t, "j")
	pins := map[p.AgentID][]string{"Eddy": {eddy.ID()}, "Jules": {jules.ID()}}
	w.eddy, w.jules = w.sealer("Eddy", eddy, pins), w.sealer("Jules", jules, pins)
	return w
}

// FuzzOpen opens messages of which a part is arbitrary. Nothing panics, each refusal says why, and
// what is opened is what its sender has signed, of the message that it came in, and once only.
func FuzzOpen(f *testing.F) {
	w := fuzzWorld(f)
	request := w.request()
	whole := w.seal(w.eddy, request, w.jules)
	signed := w.jws(w.jules, whole)
	claims := mustMarshal(f, claimsOf(f, signed))
	for part, text := range []string{string(mustMarshal(f, p.SealedPayload{JOSE: compactOf(f, whole)})), compactOf(f, whole), signed, string(claims), w.eddy.Statement()} {
		f.Add(byte(part), text)
		f.Add(byte(part), text[:len(text)*2/3])
		f.Add(byte(part), strings.Replace(text, ".", "..", 1))
	}
	f.Add(byte(fuzzJWE), swapHeader(f, compactOf(f, whole), func(h map[string]any) { h["zip"] = "DEF" }))
	f.Add(byte(fuzzJWS), swapHeader(f, signed, func(h map[string]any) { h["alg"] = "none" }))
	f.Add(byte(fuzzStatement), swapHeader(f, w.eddy.Statement(), func(h map[string]any) { h["typ"] = typeSigned }))
	for from, to := range map[string]string{`"payload":{`: `"payload":[{`, `"iat":1`: `"iat":-1`, `"exp":1`: `"exp":9`, `"Jules"`: `"Mallory"`, `"priority":1`: `"priority":9`, `"TASK_REQUEST"`: `7`} {
		f.Add(byte(fuzzClaims), strings.Replace(string(claims), from, to, 1))
	}
	if _, err := w.opens(w.jules, whole, w.eddy); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, part byte, text string) {
		w := fuzzWorld(t)
		m, before := whole, p.Capabilities{}
		switch part % fuzzParts {
		case fuzzPayload:
			if !json.Valid([]byte(text)) || !strings.HasPrefix(text, "{") {
				return // the dialect has refused it
			}
			m = w.with(m, func(e *p.Envelope) { e.Payload = p.Raw(text) })
		case fuzzJWE:
			m = w.carrying(m, text)
		case fuzzJWS:
			m = w.encrypted(m, text, w.jules)
		case fuzzClaims:
			compact, err := sign(w.eddy.keys, typeSigned, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			m = w.encrypted(m, compact, w.jules)
		case fuzzStatement:
			before.Extra = p.Members{CapabilityKeys: mustMarshal(t, text)}
			if err := w.jules.Learn("Eddy", before); err == nil && w.jules.registry.known[p.AgentID("Eddy").Fold()].Keys[0].KeyID != w.eddy.keys.ID() {
				t.Fatalf("other keys are trusted by %s", text)
			}
		}
		opened, authentic, err := w.jules.Open(m, before)
		if err != nil {
			if r := p.RefusalOf(err); r == nil || !r.Code.Known() || r.About != m.ID() || r.From != "Jules" || opened != nil || authentic {
				t.Fatalf("got %v, %t, %#v", opened, authentic, err)
			}
			return
		}
		if !authentic || !opened.Sender().Is("Eddy") || !opened.Receiver().Is("Jules") || opened.ID() != m.ID() || opened.Performative() != m.Performative() || opened.Sealed() {
			t.Fatalf("opened: %t, %+v", authentic, opened.Envelope())
		}
		if part%fuzzParts != fuzzClaims && textOf(t, opened) != textOf(t, request) {
			t.Fatalf("Eddy has not signed %s", textOf(t, opened))
		}
		if _, _, err := w.jules.Open(m, before); p.RefusalOf(err) == nil || p.RefusalOf(err).Code != p.CodeReplayed {
			t.Fatalf("a second time: %v", err)
		}
	})
}
