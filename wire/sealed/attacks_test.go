package sealed

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// clock is a settable clock.
type clock struct{ now time.Time }

func (c *clock) time() time.Time { return c.now }

// world has two agents that trust each other and one that nobody trusts.
type world struct {
	t                    testing.TB
	clock                *clock
	eddy, jules, mallory *Sealer
	ids                  int
}

func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	w := &world{t: t, clock: &clock{time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}}
	eddy, jules, mallory := newTestKeys(t), newTestKeys(t), newTestKeys(t)
	pins := map[p.AgentID][]string{"Eddy": {eddy.ID()}, "Jules": {jules.ID()}, "Mallory": {mallory.ID()}}
	w.eddy = w.sealer("Eddy", eddy, pins, change...)
	w.jules = w.sealer("Jules", jules, pins, change...)
	w.mallory = w.sealer("Mallory", mallory, pins, change...)
	return w
}

func newTestKeys(t testing.TB) Keys {
	t.Helper()
	k, err := GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (w *world) sealer(id p.AgentID, k Keys, pins map[p.AgentID][]string, change ...func(*Options)) *Sealer {
	w.t.Helper()
	o := Options{Agent: id, Keys: k, Trust: Trust{Pins: pins}, Now: w.clock.time}
	for _, f := range change {
		f(&o)
	}
	s, err := New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// request returns a task of Eddy for Jules.
func (w *world) request() *p.Message {
	w.t.Helper()
	w.ids++
	id := p.MessageID("m" + strings.Repeat("x", w.ids))
	m, err := p.New(p.Envelope{
		ID: id, Timestamp: w.clock.now, Sender: "Eddy", Receiver: "Jules", ConversationID: "c-1", Protocol: "delegation", ReplyWith: string(id),
		ReplyBy: w.clock.now.Add(time.Minute), Priority: p.High, Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		Budget: p.ContentOf(map[string]any{"tokens": 7}), Metadata: p.Members{"tenant": json.RawMessage(`"canary"`)},
		Payload: p.TaskRequest{TaskType: "debug", Description: "the canary sings"},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *world) seal(by *Sealer, m *p.Message, to *Sealer) *p.Message {
	w.t.Helper()
	sealed, err := by.Seal(m, to.Entry(p.Capabilities{}))
	if err != nil {
		w.t.Fatal(err)
	}
	return sealed
}

// with returns a changed message.
func (w *world) with(m *p.Message, change func(*p.Envelope)) *p.Message {
	w.t.Helper()
	out, err := m.With(change)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// carrying returns m with another sealed payload.
func (w *world) carrying(m *p.Message, compact string) *p.Message {
	w.t.Helper()
	text, err := json.Marshal(p.SealedPayload{JOSE: compact})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.with(m, func(e *p.Envelope) { e.Payload = p.Raw(text) })
}

func compactOf(t testing.TB, m *p.Message) string {
	t.Helper()
	s, err := p.PayloadAs[p.SealedPayload](m)
	if err != nil {
		t.Fatal(err)
	}
	return s.JOSE
}

func (w *world) opens(by *Sealer, m *p.Message, from *Sealer) (*p.Message, error) {
	out, _, err := by.Open(m, from.Entry(p.Capabilities{}))
	return out, err
}

// refuses checks the code of the refusal.
func (w *world) refuses(by *Sealer, m *p.Message, from *Sealer, code p.Code, text string) {
	w.t.Helper()
	out, err := w.opens(by, m, from)
	r := p.RefusalOf(err)
	if r == nil || r.Code != code || !strings.Contains(r.Text, text) || r.About != m.ID() {
		w.t.Errorf("got %v, %v; want %s: …%s…", out, err, code, text)
	}
}

// swapHeader returns a compact object with a changed protected header.
func swapHeader(t testing.TB, compact string, change func(h map[string]any)) string {
	t.Helper()
	first, rest, _ := strings.Cut(compact, ".")
	text, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil {
		t.Fatal(err)
	}
	var h map[string]any
	if err := json.Unmarshal(text, &h); err != nil {
		t.Fatal(err)
	}
	change(h)
	if text, err = json.Marshal(h); err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(text) + "." + rest
}

// jws returns the signed text in a sealed payload, as its receiver can read it.
func (w *world) jws(to *Sealer, m *p.Message) string {
	w.t.Helper()
	text, err := to.decrypt(m)
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// claimsOf returns the claims of a JWS.
func claimsOf(t testing.TB, compact string) (c claims) {
	t.Helper()
	s, err := parseSigned(compact, typeSigned)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(s.text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// sealedBy returns m with those claims, signed by keys and encrypted for to.
func (w *world) sealedBy(m *p.Message, keys Keys, c claims, to *Sealer) *p.Message {
	w.t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		w.t.Fatal(err)
	}
	compact, err := sign(keys, typeSigned, text)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.encrypted(m, compact, to)
}

func (w *world) encrypted(m *p.Message, signed string, to *Sealer) *p.Message {
	w.t.Helper()
	compact, err := encrypt(to.keys.encryption.Public(), signed)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.carrying(m, compact)
}

// textOf returns every field of a message as JSON.
func textOf(t testing.TB, m *p.Message) string {
	t.Helper()
	j, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(mustMarshal(t, j))
}

// A message is opened as it was sealed, and nothing of its content is in the clear on the way.
func TestSealAndOpen(t *testing.T) {
	w := newWorld(t)
	m := w.request()
	sealed := w.seal(w.eddy, m, w.jules)
	if text := textOf(t, sealed); strings.Contains(text, "canary") || strings.Contains(text, "tokens") || !sealed.Sealed() {
		t.Errorf("on the way: %s", text)
	}
	opened, authentic, err := w.jules.Open(sealed, w.eddy.Entry(p.Capabilities{}))
	if err != nil || !authentic {
		t.Fatalf("got %v, %t, %v", opened, authentic, err)
	}
	if want, got := textOf(t, m), textOf(t, opened); got != want {
		t.Errorf("want %s\ngot %s", want, got)
	}
}

// Each attack on a sealed message on its way is refused, with a code that says why.
func TestAttacksOnTheWay(t *testing.T) {
	for name, attack := range map[string]struct {
		code p.Code
		text string
		do   func(w *world, m *p.Message) *p.Message
	}{
		"another sender": {p.CodeUnknownKey, "not among the trusted keys", func(w *world, m *p.Message) *p.Message {
			return w.with(m, func(e *p.Envelope) { e.Sender = "Mallory" })
		}},
		"another id":           {p.CodeInvalidSeal, "message_id: ", changed(func(e *p.Envelope) { e.ID = "other" })},
		"another act":          {p.CodeInvalidSeal, "performative: ", changed(func(e *p.Envelope) { e.Performative = p.ActRequest })},
		"another conversation": {p.CodeInvalidSeal, "conversation_id: ", changed(func(e *p.Envelope) { e.ConversationID = "c-2" })},
		"another message type": {p.CodeInvalidSeal, "message_type: ", changed(func(e *p.Envelope) { e.MessageType = p.SealedType("PAY") })},
		"in reply to another":  {p.CodeInvalidSeal, "in_reply_to: ", changed(func(e *p.Envelope) { e.InReplyTo = "m-9" })},
		"no JWE":               {p.CodeInvalidSeal, "payload.jose: ", changed(func(e *p.Envelope) { e.Payload = p.Raw(`{"jose":7}`) })},
		"nothing":              {p.CodeInvalidSeal, "payload.jose: ", changed(func(e *p.Envelope) { e.Payload = p.Raw(`{}`) })},
		"a flipped bit of the ciphertext": {p.CodeInvalidSeal, "cannot be decrypted", func(w *world, m *p.Message) *p.Message {
			parts := strings.Split(compactOf(w.t, m), ".")
			parts[3] = flip(parts[3])
			return w.carrying(m, strings.Join(parts, "."))
		}},
		"a flipped bit of the key": {p.CodeInvalidSeal, "cannot be decrypted", func(w *world, m *p.Message) *p.Message {
			parts := strings.Split(compactOf(w.t, m), ".")
			parts[1] = flip(parts[1])
			return w.carrying(m, strings.Join(parts, "."))
		}},
		"a flipped bit of the tag": {p.CodeInvalidSeal, "cannot be decrypted", func(w *world, m *p.Message) *p.Message {
			parts := strings.Split(compactOf(w.t, m), ".")
			parts[4] = flip(parts[4])
			return w.carrying(m, strings.Join(parts, "."))
		}},
		"a short tag": {p.CodeInvalidSeal, "", func(w *world, m *p.Message) *p.Message {
			parts := strings.Split(compactOf(w.t, m), ".")
			parts[4] = parts[4][:8]
			return w.carrying(m, strings.Join(parts, "."))
		}},
		"another header typ":  {p.CodeInvalidSeal, "type", header1(func(h map[string]any) { h["typ"] = typeSigned })},
		"without typ":         {p.CodeInvalidSeal, "all its members", header1(func(h map[string]any) { delete(h, "typ") })},
		"a changed header":    {p.CodeUnknownKey, "does not have", header1(func(h map[string]any) { h["kid"] = "other" })},
		"compression":         {p.CodeInvalidSeal, "zip", header1(func(h map[string]any) { h["zip"] = "DEF" })},
		"critical members":    {p.CodeInvalidSeal, "crit", header1(func(h map[string]any) { h["crit"] = []string{"exp"} })},
		"a key in the header": {p.CodeInvalidSeal, "jwk", header1(func(h map[string]any) { h["jwk"] = map[string]any{"kty": "oct", "k": "AAAA"} })},
		"a password with p2c": {p.CodeInvalidSeal, "p2c", header1(func(h map[string]any) { h["alg"], h["p2c"], h["p2s"] = "PBES2-HS512+A256KW", 1<<40, "AAAA" })},
		"a password, whole":   {p.CodeInvalidSeal, "want a JWE of", header1(func(h map[string]any) { h["alg"] = "PBES2-HS512+A256KW" })},
		"direct encryption":   {p.CodeInvalidSeal, "want a JWE of", header1(func(h map[string]any) { h["alg"] = "dir" })},
		"RSA":                 {p.CodeInvalidSeal, "want a JWE of", header1(func(h map[string]any) { h["alg"] = "RSA1_5" })},
		"a weaker encryption": {p.CodeInvalidSeal, "want a JWE of", header1(func(h map[string]any) { h["enc"] = "A128CBC-HS256" })},
		"an ephemeral key off the curve": {p.CodeInvalidSeal, "", header1(func(h map[string]any) {
			h["epk"].(map[string]any)["x"] = base64.RawURLEncoding.EncodeToString(make([]byte, 32))
		})},
		"a long header": {p.CodeInvalidSeal, "compact form", header1(func(h map[string]any) { h["kid"] = strings.Repeat("k", maxHeader) })},
		"a long payload": {p.CodeInvalidSeal, "at most", func(w *world, m *p.Message) *p.Message {
			return w.carrying(m, compactOf(w.t, m)+strings.Repeat("A", DefaultMaxBytes))
		}},
		"nothing sealed": {p.CodeSealRequired, "not sealed", func(w *world, m *p.Message) *p.Message { return w.request() }},
		"expired": {p.CodeSealExpired, "has expired", func(w *world, m *p.Message) *p.Message {
			w.clock.now = w.clock.now.Add(DefaultLifetime + DefaultSkew + time.Second)
			return m
		}},
		"from the future": {p.CodeSealExpired, "in the future", func(w *world, m *p.Message) *p.Message {
			w.clock.now = w.clock.now.Add(-DefaultSkew - time.Second)
			return m
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := attack.do(w, w.seal(w.eddy, w.request(), w.jules))
			from := w.eddy
			if m.Sender() == "Mallory" {
				from = w.mallory
			}
			w.refuses(w.jules, m, from, attack.code, attack.text)
		})
	}
}

func changed(change func(*p.Envelope)) func(*world, *p.Message) *p.Message {
	return func(w *world, m *p.Message) *p.Message { w.t.Helper(); return w.with(m, change) }
}

// header1 changes the header of the JWE.
func header1(change func(map[string]any)) func(*world, *p.Message) *p.Message {
	return func(w *world, m *p.Message) *p.Message {
		w.t.Helper()
		return w.carrying(m, swapHeader(w.t, compactOf(w.t, m), change))
	}
}

// flip changes the first character of a part in base64.
func flip(part string) string {
	if part[0] == 'A' {
		return "B" + part[1:]
	}
	return "A" + part[1:]
}

// flipSignature changes the signature of a JWS.
func flipSignature(compact string) string {
	i := strings.LastIndexByte(compact, '.') + 1
	return compact[:i] + flip(compact[i:])
}

// An agent that gets a payload cannot use what it was told for other agents, nor sign as somebody
// else.
func TestAttacksOfAReceiver(t *testing.T) {
	t.Run("forwarding", func(t *testing.T) { // Mallory encrypts anew what Eddy has signed for her
		w := newWorld(t)
		m := w.with(w.request(), func(e *p.Envelope) { e.Receiver = "Mallory" })
		signed := w.jws(w.mallory, w.seal(w.eddy, m, w.mallory))
		forged := w.encrypted(w.seal(w.eddy, w.request(), w.jules), signed, w.jules)
		w.refuses(w.jules, forged, w.eddy, p.CodeWrongReceiver, `sealed for the agent "Mallory"`)
	})
	t.Run("misdelivery", func(t *testing.T) {
		w := newWorld(t)
		m := w.with(w.seal(w.eddy, w.request(), w.jules), func(e *p.Envelope) { e.Receiver = "Mallory" })
		w.refuses(w.mallory, m, w.eddy, p.CodeUnknownKey, "does not have")
	})
	t.Run("reflection", func(t *testing.T) { // Eddy's own message comes back as one of Jules
		w := newWorld(t)
		m := w.with(w.seal(w.eddy, w.request(), w.jules), func(e *p.Envelope) { e.Sender, e.Receiver = "Jules", "Eddy" })
		w.refuses(w.eddy, m, w.jules, p.CodeUnknownKey, "does not have")
		signed := w.jws(w.jules, w.seal(w.eddy, w.request(), w.jules))
		w.refuses(w.eddy, w.encrypted(m, signed, w.eddy), w.jules, p.CodeUnknownKey, "not among the trusted keys")
	})
	t.Run("her own signature", func(t *testing.T) {
		w := newWorld(t)
		m := w.seal(w.eddy, w.request(), w.jules)
		c := claimsOf(t, w.jws(w.jules, m))
		w.refuses(w.jules, w.sealedBy(m, w.mallory.keys, c, w.jules), w.eddy, p.CodeUnknownKey, "not among the trusted keys")
		c.Keys = w.mallory.Statement()
		w.refuses(w.jules, w.sealedBy(m, w.mallory.keys, c, w.jules), w.eddy, p.CodeUnknownKey, "not among the trusted keys")
	})
	t.Run("her own signature under the id of another key", func(t *testing.T) {
		w := newWorld(t)
		m := w.seal(w.eddy, w.request(), w.jules)
		forged := w.mallory.keys
		forged.signing.KeyID = w.eddy.keys.ID()
		w.refuses(w.jules, w.sealedBy(m, forged, claimsOf(t, w.jws(w.jules, m)), w.jules), w.eddy, p.CodeInvalidSeal, "the signature is wrong")
	})
	t.Run("as herself in the name of another", func(t *testing.T) {
		w := newWorld(t)
		m := w.seal(w.eddy, w.request(), w.jules)
		c := claimsOf(t, w.jws(w.jules, m))
		c.Keys = w.mallory.Statement()
		forged := w.with(w.sealedBy(m, w.mallory.keys, c, w.jules), func(e *p.Envelope) { e.Sender = "Mallory" })
		w.refuses(w.jules, forged, w.mallory, p.CodeInvalidSeal, "sender: ")
	})
	for name, change := range map[string]func(w *world, h map[string]any) string{
		"no signature":          func(_ *world, h map[string]any) string { h["alg"] = "none"; return "" },
		"a symmetric signature": func(_ *world, h map[string]any) string { h["alg"] = "HS256"; return "AAAA" },
		"the algorithm of another key": func(_ *world, h map[string]any) string {
			h["alg"] = "ES256"
			return base64.RawURLEncoding.EncodeToString(make([]byte, 64))
		},
		"a key in the header":   func(w *world, h map[string]any) string { h["jwk"] = w.mallory.keys.signing.Public(); return "AAAA" },
		"a key by address":      func(_ *world, h map[string]any) string { h["jku"] = "https://mallory.example"; return "AAAA" },
		"the type of a keyring": func(_ *world, h map[string]any) string { h["typ"] = typeStatement; return "AAAA" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.seal(w.eddy, w.request(), w.jules)
			var signature string
			signed := swapHeader(t, w.jws(w.jules, m), func(h map[string]any) { signature = change(w, h) })
			parts := strings.Split(signed, ".")
			parts[2] = signature
			w.refuses(w.jules, w.encrypted(m, strings.Join(parts, "."), w.jules), w.eddy, p.CodeInvalidSeal, "signature")
		})
	}
	t.Run("an HMAC by the public key", func(t *testing.T) {
		w := newWorld(t)
		m := w.seal(w.eddy, w.request(), w.jules)
		public, err := json.Marshal(w.eddy.keys.signing.Public())
		if err != nil {
			t.Fatal(err)
		}
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: public}, (&jose.SignerOptions{}).WithType(typeSigned).WithHeader("kid", w.eddy.keys.ID()))
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(claimsOf(t, w.jws(w.jules, m)))
		if err != nil {
			t.Fatal(err)
		}
		jws, err := signer.Sign(text)
		if err != nil {
			t.Fatal(err)
		}
		compact, err := jws.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		w.refuses(w.jules, w.encrypted(m, compact, w.jules), w.eddy, p.CodeInvalidSeal, "algorithm")
	})
}

// What came once is not taken again, and a retry of the sender is no replay.
func TestReplay(t *testing.T) {
	w := newWorld(t)
	m := w.request()
	sealed := w.seal(w.eddy, m, w.jules)
	for i, message := range []*p.Message{sealed, w.seal(w.eddy, m, w.jules)} {
		if _, err := w.opens(w.jules, message, w.eddy); err != nil {
			t.Fatalf("copy %d: %v", i, err)
		}
	}
	w.refuses(w.jules, sealed, w.eddy, p.CodeReplayed, "")
	w.clock.now = w.clock.now.Add(DefaultLifetime + DefaultSkew)
	w.refuses(w.jules, sealed, w.eddy, p.CodeReplayed, "") // until it expires
	w.clock.now = w.clock.now.Add(time.Second)
	w.refuses(w.jules, sealed, w.eddy, p.CodeSealExpired, "")
}

// What came is known for as long as it could be taken, in whichever second that ends.
func TestReplayAtTheLastMoment(t *testing.T) {
	w := newWorld(t)
	for range 150 {
		began := w.clock.now
		sealed := w.seal(w.eddy, w.request(), w.jules)
		if _, err := w.opens(w.jules, sealed, w.eddy); err != nil {
			t.Fatal(err)
		}
		w.clock.now = began.Add(DefaultLifetime + DefaultSkew)
		w.refuses(w.jules, sealed, w.eddy, p.CodeReplayed, "")
		w.clock.now = began.Add(time.Second)
	}
}

// What came is forgotten by the sealer's own clock only.
func TestReplayByTheSealersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.clock.now = time.Now()
		w.jules = w.sealer("Jules", w.jules.keys, map[p.AgentID][]string{"Eddy": {w.eddy.keys.ID()}})
		sealed := w.seal(w.eddy, w.request(), w.jules)
		if _, err := w.opens(w.jules, sealed, w.eddy); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		w.refuses(w.jules, sealed, w.eddy, p.CodeReplayed, "")
	})
}

// Whoever forgets what has come, because its process has started anew, takes nothing from before.
func TestReplayAfterARestart(t *testing.T) {
	w := newWorld(t)
	sealed := w.seal(w.eddy, w.request(), w.jules)
	w.clock.now = w.clock.now.Add(DefaultSkew + time.Second)
	again := w.sealer("Jules", w.jules.keys, map[p.AgentID][]string{"Eddy": {w.eddy.keys.ID()}})
	w.refuses(again, sealed, w.eddy, p.CodeSealExpired, "before the agent began")
}

// The memory for what has come is bounded, and full is no reason to take something twice.
func TestReplayMemoryIsBounded(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.MaxSeen = 2 })
	first := w.seal(w.eddy, w.request(), w.jules)
	for _, m := range []*p.Message{first, w.seal(w.eddy, w.request(), w.jules)} {
		if _, err := w.opens(w.jules, m, w.eddy); err != nil {
			t.Fatal(err)
		}
	}
	w.refuses(w.jules, w.seal(w.eddy, w.request(), w.jules), w.eddy, p.CodeBusy, "no room")
	w.refuses(w.jules, first, w.eddy, p.CodeReplayed, "")
	w.clock.now = w.clock.now.Add(2 * (DefaultLifetime + DefaultSkew))
	for range 2 { // there is room for as many as before
		if _, err := w.opens(w.jules, w.seal(w.eddy, w.request(), w.jules), w.eddy); err != nil {
			t.Errorf("after they have expired: %v", err)
		}
	}
}

// Everything that is not compared is taken from what was signed: a header that was swapped on the
// way has no effect.
func TestSwappedHeadersHaveNoEffect(t *testing.T) {
	w := newWorld(t)
	m := w.request()
	sealed := w.with(w.seal(w.eddy, m, w.jules), func(e *p.Envelope) {
		e.Protocol, e.Ontology, e.Language, e.ReplyWith, e.ReplyBy = "auction", "other", "text/x", "r-9", w.clock.now.Add(time.Hour)
		e.Timestamp, e.Priority = w.clock.now.Add(time.Second), p.Low
		e.Budget = p.ContentOf(map[string]any{"tokens": 1 << 40})
		e.Metadata = p.Members{p.MetadataUndeliverable: json.RawMessage("true"), "tenant": json.RawMessage(`"mallory"`)}
	})
	opened, err := w.opens(w.jules, sealed, w.eddy)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := textOf(t, m), textOf(t, opened); got != want {
		t.Errorf("want %s\ngot %s", want, got)
	}
}

// Without a seal, only a cancellation and the code of a refusal get through, for whoever stands
// between can stop a message anyway.
func TestUnsealedMessages(t *testing.T) {
	w := newWorld(t)
	request := w.request()
	for _, payload := range []any{
		p.TaskReject{ReasonCode: p.CodeBusy, ReasonText: "canary"},
		p.Refuse{ReasonCode: p.CodeBusy, ReasonText: "canary"},
		p.RejectProposal{ReasonCode: p.CodeBusy, ReasonText: "canary"},
		p.NotUnderstood{ReasonCode: p.CodeBusy, ReasonText: "canary"},
		p.Failure{ErrorCode: p.CodeBusy, ErrorText: "canary"},
		p.Failure{ErrorCode: "canary", ErrorText: "canary"},
		p.Cancel{Reason: "canary"},
	} {
		m, err := request.Reply(p.Stamp{ID: "r", Time: w.clock.now}, payload)
		if err != nil {
			t.Fatal(err)
		}
		m = w.with(m, func(e *p.Envelope) {
			e.Metadata = p.Members{p.MetadataUndeliverable: json.RawMessage("true"), "x": json.RawMessage(`"canary"`)}
			e.Budget = p.ContentOf("canary")
		})
		opened, authentic, err := w.eddy.Open(m, w.jules.Entry(p.Capabilities{}))
		if err != nil || authentic {
			t.Errorf("%T: %t, %v", payload, authentic, err)
			continue
		}
		text := textOf(t, opened)
		r := opened.AsRefusal()
		switch {
		case strings.Contains(text, "canary"):
			t.Errorf("%T: %s", payload, text)
		case opened.Performative() != m.Performative(), opened.InReplyTo() != m.InReplyTo():
			t.Errorf("%T became %s", payload, text)
		case r != nil && (r.Code != p.CodeBusy && r.Code != p.CodeUnspecified || !strings.Contains(r.Text, "not signed by the agent") || !opened.Undeliverable()):
			t.Errorf("%T: %+v", payload, r)
		}
	}
	for _, payload := range []any{p.InformResult{Status: p.StatusSuccess}, p.TaskAccept{}, p.StatusUpdate{}} {
		m, err := request.Reply(p.Stamp{ID: "r", Time: w.clock.now}, payload)
		if err != nil {
			t.Fatal(err)
		}
		w.refuses(w.eddy, m, w.jules, p.CodeSealRequired, "")
	}
}

// The opened payload is checked: a request with a wrong one is refused with its field, and an
// answer is left to its conversation.
func TestOpenedPayloadIsValidated(t *testing.T) {
	w := newWorld(t)
	m := w.seal(w.eddy, w.request(), w.jules)
	c := claimsOf(t, w.jws(w.jules, m))
	c.Message.Payload = json.RawMessage(`{"task_type":7}`)
	_, err := w.opens(w.jules, w.sealedBy(m, w.eddy.keys, c, w.jules), w.eddy)
	if r := p.RefusalOf(err); r == nil || r.Code != p.CodeInvalidPayload || !strings.HasPrefix(r.Field, "payload.task_type") {
		t.Errorf("got %v", err)
	}
	answer, err := w.request().Reply(p.Stamp{ID: "r", Time: w.clock.now}, p.InformResult{Status: p.StatusSuccess})
	if err != nil {
		t.Fatal(err)
	}
	m = w.seal(w.jules, answer, w.eddy)
	c = claimsOf(t, w.jws(w.eddy, m))
	c.ID, c.Message.Payload = "again", json.RawMessage(`{"status":7}`)
	opened, err := w.opens(w.eddy, w.sealedBy(m, w.jules.keys, c, w.eddy), w.jules)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.PayloadAs[p.InformResult](opened); !errors.Is(err, p.CodeInvalidPayload) {
		t.Errorf("got %v", err)
	}
	for _, payload := range []string{`7`, `[]`, ``} {
		c.ID, c.Message.Payload = "more"+payload, json.RawMessage(payload)
		if opened, err := w.opens(w.eddy, w.sealedBy(m, w.jules.keys, c, w.eddy), w.jules); err == nil {
			t.Errorf("payload %q: got %v", payload, opened.Payload())
		}
	}
}

// The claims of a signature are checked even if their author is trusted.
func TestClaims(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(w *world, c *claims)
		code   p.Code
	}{
		"no jti":                {func(_ *world, c *claims) { c.ID = "" }, p.CodeInvalidSeal},
		"a long jti":            {func(_ *world, c *claims) { c.ID = strings.Repeat("x", p.MaxIDLength+1) }, p.CodeInvalidSeal},
		"valid for too long":    {func(w *world, c *claims) { c.IssuedAt -= 400; c.Expires += 1 << 40 }, p.CodeSealExpired},
		"expired by its sender": {func(w *world, c *claims) { c.Expires = c.IssuedAt - 61 }, p.CodeSealExpired},
		"no time":               {func(_ *world, c *claims) { c.IssuedAt, c.Expires = 0, 0 }, p.CodeSealExpired},
		"no receiver":           {func(_ *world, c *claims) { c.Message.Receiver = "" }, p.CodeWrongReceiver},
		"no conversation":       {func(_ *world, c *claims) { c.Message.ConversationID = "" }, p.CodeInvalidSeal},
		"a bad timestamp":       {func(_ *world, c *claims) { c.Message.Timestamp = time.Time{} }, p.CodeInvalidPayload},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.seal(w.eddy, w.request(), w.jules)
			c := claimsOf(t, w.jws(w.jules, m))
			tt.change(w, &c)
			w.refuses(w.jules, w.sealedBy(m, w.eddy.keys, c, w.jules), w.eddy, tt.code, "")
		})
	}
}

// A hostile node puts other keys into the entry of an agent.
func TestKeySubstitution(t *testing.T) {
	w := newWorld(t)
	forged, err := state("Jules", w.clock.now.UnixMilli()+1, w.mallory.keys, w.mallory.keys)
	if err != nil {
		t.Fatal(err)
	}
	mixed, err := state("Jules", w.clock.now.UnixMilli()+1, w.mallory.keys, w.jules.keys, w.mallory.keys)
	if err != nil {
		t.Fatal(err)
	}
	underHisID := w.mallory.keys
	underHisID.signing.KeyID = w.jules.keys.ID()
	wrong, err := state("Jules", w.clock.now.UnixMilli()+1, underHisID, w.jules.keys, w.mallory.keys)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ text, want string }{
		"her own keys":                      {forged, "is not trusted"},
		"his keys and hers":                 {mixed, "is not trusted"},
		"her signature under the id of his": {wrong, "the signature is wrong"},
		"the entry of another agent":        {w.mallory.Statement(), "is about the agent"},
		"a changed entry":                   {flipSignature(w.jules.Statement()), "the signature is wrong"},
		"a long one":                        {strings.Repeat("x", maxStatement+1), "at most"},
		"nothing":                           {"", "no trusted key"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *Options) {
				o.Trust.Pins = map[p.AgentID][]string{"Jules": {w.jules.keys.ID()}}
				o.Trust.FirstUse = true // which holds for agents without a pin
			})
			quoted, err := json.Marshal(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.eddy.Seal(w.request(), p.Capabilities{Extra: p.Members{CapabilityKeys: quoted}})
			if r := p.RefusalOf(err); r == nil || r.Code != p.CodeUnknownKey || !strings.Contains(r.Text, tt.want) {
				t.Errorf("got %v, want …%s…", err, tt.want)
			}
		})
	}
	t.Run("after the true ones are known", func(t *testing.T) {
		w.seal(w.eddy, w.request(), w.jules)
		quoted, _ := json.Marshal(forged)
		sealed, err := w.eddy.Seal(w.request(), p.Capabilities{Extra: p.Members{CapabilityKeys: quoted}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.opens(w.jules, sealed, w.eddy); err != nil {
			t.Errorf("sealed for other keys: %v", err)
		}
	})
}

// Trust on first use holds on to the first keys, and follows the agent's own rotation.
func TestFirstUse(t *testing.T) {
	first := func(o *Options) { o.Trust = Trust{FirstUse: true} }
	w := newWorld(t, first)
	w.seal(w.eddy, w.request(), w.jules)
	impostor := w.sealer("Jules", newTestKeys(t), nil, first)
	w.clock.now = w.clock.now.Add(time.Second)
	if err := w.eddy.Learn("Jules", impostor.Entry(p.Capabilities{})); err == nil {
		t.Error("other keys of the same agent are trusted")
	}
	old := w.jules.Entry(p.Capabilities{})
	if err := w.jules.Rotate(newTestKeys(t), ""); err != nil {
		t.Fatal(err)
	}
	between := w.seal(w.eddy, w.request(), w.jules) // which has told Eddy of the new keys
	if err := w.eddy.Learn("Jules", old); err == nil || !strings.Contains(err.Error(), "older") {
		t.Errorf("the older statement: %v", err)
	}
	if _, err := w.opens(w.jules, between, w.eddy); err != nil {
		t.Error(err)
	}
}

// Keys are replaced while messages are under way.
func TestRotation(t *testing.T) {
	w := newWorld(t)
	before := w.seal(w.eddy, w.request(), w.jules)
	late := w.seal(w.eddy, w.request(), w.jules)
	former := w.jules.keys
	if err := w.jules.Rotate(newTestKeys(t), ""); err != nil {
		t.Fatal(err)
	}
	if err := w.jules.Rotate(newTestKeys(t), ""); err == nil {
		t.Error("a second rotation before the first is complete")
	}
	if _, err := w.opens(w.jules, before, w.eddy); err != nil {
		t.Errorf("sealed for the former key: %v", err)
	}
	m := w.seal(w.eddy, w.request(), w.jules)
	if h, err := readHeader(compactOf(t, m), typeSealed, sealedHeader); err != nil || h.Key != w.jules.keys.encryption.KeyID || h.Key == former.encryption.KeyID {
		t.Errorf("sealed for %v, %v", h, err)
	}
	answer, err := w.request().Reply(p.Stamp{ID: "r", Time: w.clock.now}, p.InformResult{Status: p.StatusSuccess})
	if err != nil {
		t.Fatal(err)
	}
	sealedAnswer := w.seal(w.jules, answer, w.eddy)
	if _, err := w.opens(w.eddy, sealedAnswer, w.jules); err != nil {
		t.Errorf("signed by the new key: %v", err)
	}
	if err := w.jules.Retire(); err != nil {
		t.Fatal(err)
	}
	if err := w.eddy.Learn("Jules", w.jules.Entry(p.Capabilities{})); err != nil {
		t.Errorf("the statement of the new keys alone: %v", err)
	}
	w.refuses(w.jules, late, w.eddy, p.CodeUnknownKey, "does not have")
	c := claimsOf(t, w.jws(w.eddy, sealedAnswer))
	c.ID = "again"
	w.refuses(w.eddy, w.sealedBy(sealedAnswer, former, c, w.eddy), w.jules, p.CodeUnknownKey, "not among the trusted keys")
}

// An authority vouches for keys, for a time, and for one agent.
func TestAuthority(t *testing.T) {
	authority, other := newTestKeys(t), newTestKeys(t)
	public, err := authority.Public()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(o *Options) { o.Trust = Trust{Authorities: [][]byte{public}} })
	if _, err := w.eddy.Seal(w.request(), w.jules.Entry(p.Capabilities{})); !errors.Is(err, p.CodeUnknownKey) {
		t.Errorf("a statement of the agent itself: %v", err)
	}
	certify := func(by Keys, s *Sealer) p.Capabilities {
		text, err := Certify(by, s.Statement(), w.clock.now.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		quoted, _ := json.Marshal(text)
		return p.Capabilities{Extra: p.Members{CapabilityKeys: quoted}}
	}
	if err := w.eddy.Learn("Jules", certify(other, w.jules)); err == nil {
		t.Error("the statement of another authority is trusted")
	}
	if err := w.eddy.Learn("Jules", certify(authority, w.mallory)); err == nil {
		t.Error("a statement about another agent is trusted")
	}
	entry := certify(authority, w.jules)
	if err := w.eddy.Learn("Jules", entry); err != nil {
		t.Fatal(err)
	}
	if err := w.eddy.Learn("Jules", w.jules.Entry(p.Capabilities{})); err == nil {
		_, err = w.eddy.Seal(w.request(), p.Capabilities{})
		t.Errorf("an agent prolongs what the authority has said: %v", err)
	}
	if _, err := w.eddy.Seal(w.request(), entry); err != nil {
		t.Error(err)
	}
	w.clock.now = w.clock.now.Add(time.Hour)
	if _, err := w.eddy.Seal(w.request(), entry); !errors.Is(err, p.CodeUnknownKey) {
		t.Errorf("after its end: %v", err)
	}
	forged, err := state("Jules", 1, w.mallory.keys, w.jules.keys)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Certify(authority, forged, time.Time{}); err == nil {
		t.Error("an authority vouches for a statement that is not by the owner of the keys")
	}
}

// Keys and statements that cannot be right are refused before they are used.
func TestWrongKeys(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good := newTestKeys(t)
	secret, err := good.Secret()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ParseKeys(secret); err != nil || again.ID() != good.ID() {
		t.Errorf("read back: %v, %v", again, err)
	}
	for name, keys := range map[string][]jose.JSONWebKey{
		"none":         {},
		"one":          {good.signing},
		"two of a use": {good.signing, good.signing},
		"public":       {good.signing.Public(), good.encryption.Public()},
		"swapped":      {{Key: good.signing.Key, Use: useEncrypt}, {Key: good.encryption.Key, Use: useSign}},
		"RSA":          {{Key: rsaKey, Use: useSign}, good.encryption},
		"symmetric":    {{Key: make([]byte, 32), Use: useSign}, good.encryption},
	} {
		text, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseKeys(text); err == nil {
			t.Errorf("%s: got %v", name, got)
		}
	}
	if text := good.String() + string(mustMarshal(t, good)); strings.Contains(text, `"d"`) {
		t.Errorf("a private key in a log: %s", text)
	}
	leaked := statement{Agent: "Jules", Version: 1, Keys: []jose.JSONWebKey{good.signing, good.encryption}}
	text, err := leaked.sign(good)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := parseStatement(text); err == nil || !strings.Contains(err.Error(), "private key") {
		t.Errorf("got %v", err)
	}
	many := statement{Agent: "Jules", Version: 1}
	for range maxKeys/2 + 1 {
		many.Keys = append(many.Keys, good.public()...)
	}
	if text, err = many.sign(good); err != nil {
		t.Fatal(err)
	}
	if _, _, err := parseStatement(text); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("got %v", err)
	}
	if k := good.signing.Public(); thumbprint(k) != func() string { b, _ := k.Thumbprint(crypto.SHA256); return base64.RawURLEncoding.EncodeToString(b) }() {
		t.Error("the id of a key is not its thumbprint")
	}
}

func mustMarshal(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What cannot be sealed is not sent; discovery and plain peers are not sealed.
func TestNotSealed(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.PlainPeers = []p.AgentID{"PLAIN"}; o.MaxBytes = 8 << 10 })
	for name, tt := range map[string]struct {
		m    *p.Message
		code p.Code
	}{
		"a broadcast":         {w.with(w.request(), func(e *p.Envelope) { e.Receiver = "" }), p.CodeSealRequired},
		"of another agent":    {w.with(w.request(), func(e *p.Envelope) { e.Sender = "Mallory" }), p.CodeForbidden},
		"to an unknown agent": {w.with(w.request(), func(e *p.Envelope) { e.Receiver = "nobody" }), p.CodeUnknownKey},
		"too long": {w.with(w.request(), func(e *p.Envelope) {
			e.Payload = p.TaskRequest{TaskType: "x", Description: strings.Repeat("y", 8<<10)}
		}), p.CodeInvalidPayload},
		"a type that is too long": {w.with(w.request(), func(e *p.Envelope) { e.MessageType = strings.Repeat("T", p.MaxMessageTypeLength) }), p.CodeInvalidPayload},
	} {
		capabilities := w.jules.Entry(p.Capabilities{})
		if tt.m.Receiver() == "nobody" {
			capabilities = p.Capabilities{}
		}
		if got, err := w.eddy.Seal(tt.m, capabilities); !errors.Is(err, tt.code) || got != nil || p.RefusalOf(err).About != tt.m.ID() {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	plain := w.with(w.request(), func(e *p.Envelope) { e.Receiver = "plain" })
	if got, err := w.eddy.Seal(plain, p.Capabilities{}); err != nil || got != plain {
		t.Errorf("to a plain peer: %v, %v", got, err)
	}
	back := w.with(w.request(), func(e *p.Envelope) { e.Sender, e.Receiver = "plain", "Eddy" })
	if got, authentic, err := w.eddy.Open(back, p.Capabilities{}); err != nil || got != back || authentic {
		t.Errorf("of a plain peer: %v, %v", got, err)
	}
	query, err := p.New(p.Envelope{ID: "q", Timestamp: w.clock.now, Sender: "Eddy", Receiver: "Jules", Payload: p.QueryCapabilities{Type: p.QuerySummary}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.eddy.Seal(query, p.Capabilities{}); err != nil || got != query {
		t.Errorf("discovery: %v, %v", got, err)
	}
	if got, authentic, err := w.jules.Open(query, p.Capabilities{}); err != nil || got != query || authentic {
		t.Errorf("discovery: %v, %v", got, err)
	}
}

// The options are checked, each by name.
func TestOptions(t *testing.T) {
	k := newTestKeys(t)
	good := Options{Agent: "a", Keys: k, Trust: Trust{FirstUse: true}}
	for want, change := range map[string]func(*Options){
		"Agent": func(o *Options) { o.Agent = "" }, "Keys": func(o *Options) { o.Keys = Keys{} }, "Trust": func(o *Options) { o.Trust = Trust{} },
		"Lifetime": func(o *Options) { o.Lifetime = -1 }, "Skew": func(o *Options) { o.Skew = -1 }, "MaxBytes": func(o *Options) { o.MaxBytes = -1 },
		"MaxSeen": func(o *Options) { o.MaxSeen = -1 }, "MaxAgents": func(o *Options) { o.MaxAgents = -1 },
		"Pins[\"b\"]":    func(o *Options) { o.Trust.Pins = map[p.AgentID][]string{"b": nil} },
		"Authorities[0]": func(o *Options) { o.Trust.Authorities = [][]byte{[]byte("x")} },
		"Statement":      func(o *Options) { o.Statement = "x" },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	secret, _ := k.Secret()
	good.Trust.Authorities = [][]byte{secret}
	if _, err := New(good); err == nil {
		t.Error("the private key of an authority is taken")
	}
	good.Trust.Authorities = nil
	s, err := New(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"another agent": {Agent: "b", Keys: k}, "other keys": {Agent: "a", Keys: newTestKeys(t)},
	} {
		o.Trust, o.Statement = Trust{FirstUse: true}, s.Statement()
		if _, err := New(o); err == nil {
			t.Errorf("the statement of %s is taken", name)
		}
	}
	if got := slices.Sorted(maps.Keys(s.Entry(p.Capabilities{Extra: p.Members{"x": json.RawMessage("1")}}).Extra)); len(got) != 2 {
		t.Errorf("entry: %v", got)
	}
	if err := s.Rotate(Keys{}, ""); err == nil {
		t.Error("no keys")
	}
}
