package sealed

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// says checks the text of an error; empty stands for none.
func says(t testing.TB, name string, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
}

// signs returns the statement about some keys, signed by others.
func signs(t testing.TB, s statement, by Keys, keys ...Keys) string {
	t.Helper()
	for _, k := range keys {
		s.Keys = append(s.Keys, k.public()...)
	}
	text, err := s.sign(by)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Keys of P-256 sign, too. The errors of ParseKeys name the fault of others.
func TestParseKeys(t *testing.T) {
	good := newTestKeys(t)
	curve := func(c elliptic.Curve) *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(c, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	of := func(c elliptic.Curve, use string) jose.JSONWebKey { return jose.JSONWebKey{Key: curve(c), Use: use} }
	const wrong = "sealed: want a key of Ed25519 or P-256 to sign, or of P-256 to encrypt, got "
	for name, tt := range map[string]struct {
		keys []jose.JSONWebKey
		want string
	}{
		"P-256":          {[]jose.JSONWebKey{of(elliptic.P256(), useSign), good.encryption}, ""},
		"P-384 to sign":  {[]jose.JSONWebKey{of(elliptic.P384(), useSign), good.encryption}, wrong + `*ecdsa.PublicKey with the use "sig"`},
		"P-384":          {[]jose.JSONWebKey{good.signing, of(elliptic.P384(), useEncrypt)}, wrong + `*ecdsa.PublicKey with the use "enc"`},
		"Ed25519":        {[]jose.JSONWebKey{of(elliptic.P256(), useSign), {Key: good.signing.Key, Use: useEncrypt}}, wrong + `ed25519.PublicKey with the use "enc"`},
		"another use":    {[]jose.JSONWebKey{good.signing, of(elliptic.P256(), "x")}, "sealed: want private keys with the use sig and the use enc"},
		"two of one use": {[]jose.JSONWebKey{good.signing, good.signing, good.encryption}, `sealed: want one key with the use "sig", got more`},
		"one":            {[]jose.JSONWebKey{good.signing}, "sealed: want two keys, one with the use sig and one with the use enc"},
	} {
		text, err := json.Marshal(jose.JSONWebKeySet{Keys: tt.keys})
		if err != nil {
			t.Fatal(err)
		}
		k, err := ParseKeys(text)
		if says(t, name, err, tt.want); err != nil {
			continue
		}
		signed := signs(t, statement{Agent: "a", Version: 1}, k, k)
		s, about, err := parseStatement(signed)
		if err == nil {
			err = s.verify(about.current(useSign))
		}
		says(t, name, err, "")
		says(t, name+", another key", s.verify(about.current(useEncrypt)), "the algorithm of the signature is not that of the key")
		says(t, name+", another algorithm", s.verify(good.signing.Public()), "the algorithm of the signature is not that of the key")
	}
	_, err := ParseKeys([]byte("x"))
	says(t, "no JSON", err, "sealed: the keys are no JSON Web Key Set")
	if half := (Keys{signing: good.signing}); half.valid() {
		t.Error("a half of the keys is valid")
	}
}

// A statement that cannot be right is refused before its signature is verified.
func TestParseStatement(t *testing.T) {
	k, other := newTestKeys(t), newTestKeys(t)
	whole := signs(t, statement{Agent: "a", Version: 7}, k, k)
	_, body, _ := strings.Cut(whole, ".")
	header := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) + "." + body }
	text := func(text string) string {
		s, err := sign(k, typeStatement, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	padded := func(n int) string {
		s := text(`{"agent":"a","x":"` + strings.Repeat("y", n) + `"}`)
		return s
	}
	const noKeys = "want an agent, a key to sign and a key to encrypt"
	for name, tt := range map[string]struct{ text, want string }{
		"whole":              {whole, ""},
		"eight keys":         {signs(t, statement{Agent: "a"}, k, k, other, newTestKeys(t), newTestKeys(t)), ""},
		"ten keys":           {signs(t, statement{Agent: "a"}, k, k, k, k, k, k), "want at most 8 keys"},
		"no agent":           {signs(t, statement{Version: 7}, k, k), noKeys},
		"no keys":            {signs(t, statement{Agent: "a"}, k), noKeys},
		"no key to sign":     {signs(t, statement{Agent: "a", Keys: []jose.JSONWebKey{k.encryption.Public()}}, k), noKeys},
		"no key to encrypt":  {signs(t, statement{Agent: "a", Keys: []jose.JSONWebKey{k.signing.Public()}}, k), noKeys},
		"other members":      {text(`{"agent":7}`), "want the members of a statement"},
		"as long as may be":  {padded(9_000), noKeys},
		"too long":           {padded(16_000), "want a statement of at most 16384 bytes"},
		"no object":          {"x", "want a JOSE object in the compact form"},
		"a long header":      {strings.Repeat("e", maxHeader+1) + ".x.y", "want a JOSE object in the compact form"},
		"the longest header": {strings.Repeat("e", maxHeader) + ".x.y", "want an object as the header"},
		"no base64":          {"!.x.y", "want a header in base64url"},
		"no JSON":            {header("x"), "want an object as the header"},
		"no object inside":   {header("7"), "want an object as the header"},
		"a wrong member":     {header(`{"alg":7,"kid":"k","typ":"t"}`), "want an object as the header"},
		"another member":     {header(`{"alg":"EdDSA","kid":"k","typ":"t","zip":"DEF"}`), `the header has the member "zip", which is not allowed`},
		"a member less":      {header(`{"alg":"EdDSA","typ":"ribosome-keys+jws"}`), "want a header of the type ribosome-keys+jws with all its members"},
		"no key id":          {header(`{"alg":"EdDSA","kid":"","typ":"ribosome-keys+jws"}`), "want a header of the type ribosome-keys+jws with all its members"},
		"another type":       {header(`{"alg":"EdDSA","kid":"k","typ":"x"}`), "want a header of the type ribosome-keys+jws with all its members"},
		"another algorithm":  {header(`{"alg":"HS256","kid":"k","typ":"ribosome-keys+jws"}`), "want a JWS of the algorithm EdDSA or ES256"},
	} {
		_, _, err := parseStatement(tt.text)
		says(t, name, err, tt.want)
	}
	forged := statement{Agent: "a", Version: 7, Keys: k.public()}
	forged.Keys[0].KeyID, forged.Keys[1].KeyID = "forged", "forged"
	s, about, err := parseStatement(signs(t, forged, k))
	says(t, "forged ids", err, "")
	if about.Agent != "a" || about.Version != 7 || about.current(useSign).KeyID != k.ID() || about.current(useEncrypt).KeyID != k.encryption.KeyID || s.kid != k.ID() {
		t.Errorf("%+v", about)
	}
	if k, ok := about.key(k.ID(), useEncrypt); ok || k.Key != nil {
		t.Errorf("a key of another use: %v", k)
	}
	for name, tt := range map[string]struct{ text, want string }{
		"its own":      {whole, ""},
		"none":         {"x", "sealed: certify: want a JOSE object in the compact form"},
		"of others":    {signs(t, statement{Agent: "a"}, other, k), "sealed: certify: the statement is not signed by one of its own keys"},
		"a wrong seal": {whole[:len(whole)-20] + "AAAAAAAAAAAAAAAAAAAA", "sealed: certify: the signature is wrong"},
	} {
		for _, end := range []time.Time{{}, time.Unix(99, 0)} {
			text, err := Certify(other, tt.text, end)
			if says(t, name, err, tt.want); err != nil {
				continue
			}
			_, about, err := parseStatement(text)
			if says(t, name, err, ""); about.expired(time.Unix(99, 0)) == end.IsZero() || about.expired(time.Unix(98, 0)) {
				t.Errorf("%s ends at %d", name, about.Expires)
			}
		}
	}
}

// An agent has the statement that its options or a rotation name, if that is about its keys.
func TestOwnStatement(t *testing.T) {
	k, other, w := newTestKeys(t), newTestKeys(t), newWorld(t)
	started := w.clock.now.UnixMilli()
	for name, tt := range map[string]struct{ text, want string }{
		"its own":             {signs(t, statement{Agent: "A", Version: 3}, k, k), ""},
		"of another agent":    {signs(t, statement{Agent: "b"}, k, k), `sealed: Options.Statement is about the agent "b"`},
		"of other keys":       {signs(t, statement{Agent: "a"}, k, other), "sealed: Options.Statement is about other keys than Options.Keys"},
		"of another to seal":  {signs(t, statement{Agent: "a", Keys: []jose.JSONWebKey{k.signing.Public(), other.encryption.Public()}}, k), "sealed: Options.Statement is about other keys than Options.Keys"},
		"of another to sign":  {signs(t, statement{Agent: "a", Keys: []jose.JSONWebKey{other.signing.Public(), k.encryption.Public()}}, k), "sealed: Options.Statement is about other keys than Options.Keys"},
		"that cannot be read": {"x", "sealed: Options.Statement: want a JOSE object in the compact form"},
	} {
		s, err := New(Options{Agent: "a", Keys: k, Trust: Trust{FirstUse: true}, Statement: tt.text, Now: w.clock.time})
		if says(t, name, err, tt.want); err != nil {
			continue
		}
		if s.Agent() != "a" || s.Statement() != tt.text || s.version != 3 {
			t.Errorf("%s: version %d of %s", name, s.version, s.Agent())
		}
	}
	s, err := New(Options{Agent: "a", Keys: k, Trust: Trust{FirstUse: true}, Now: w.clock.time})
	if says(t, "none", err, ""); s.version != started {
		t.Errorf("version %d, want %d", s.version, started)
	}
	for _, tt := range []struct{ text, want string }{
		{signs(t, statement{Agent: "a", Version: started}, other, other), "sealed: the statement is not newer than the present one"},
		{signs(t, statement{Agent: "a", Version: started - 1}, other, other), "sealed: the statement is not newer than the present one"},
		{signs(t, statement{Agent: "b", Version: started + 1}, other, other), `sealed: Options.Statement is about the agent "b"`},
		{signs(t, statement{Agent: "a", Version: started + 5}, other, other), ""},
		{"", "sealed: rotate: the former keys have not been retired"},
	} {
		version, before := s.version, s.Statement()
		err := s.Rotate(other, tt.text)
		if says(t, "rotate", err, tt.want); err != nil && (s.version != version || s.Statement() != before) || err == nil && s.Statement() != tt.text {
			t.Errorf("version %d after %d, %v", s.version, version, err)
		}
	}
	if s.version != started+5 || s.keys.ID() != other.ID() || s.former == nil || s.former.ID() != k.ID() {
		t.Errorf("version %d, keys %s after %v", s.version, s.keys.ID(), s.former)
	}
	says(t, "no keys", s.Rotate(Keys{}, ""), "sealed: rotate: the keys are empty")
	was := s.Statement()
	if err := s.Retire(); err != nil || s.Statement() != was || s.former != nil {
		t.Errorf("the statement of an authority has changed: %v", err)
	}
	says(t, "rotate", s.Rotate(k, ""), "")
	if err := s.Retire(); err != nil || s.version != started+7 || len(s.ownKeys()) != 1 {
		t.Errorf("version %d, %v", s.version, err)
	}
	given := p.Capabilities{Extra: p.Members{"x": json.RawMessage("1")}}
	if own := s.Entry(given); len(given.Extra) != 1 || string(own.Extra["x"]) != "1" || statementIn(own) != s.Statement() {
		t.Errorf("entry %v of %v", own, given)
	}
}

// Learn takes in a trusted statement no older than the known one, while there is room.
func TestLearn(t *testing.T) {
	w, by, other := newWorld(t), newTestKeys(t), newTestKeys(t)
	s, err := New(Options{Agent: "me", Keys: newTestKeys(t), Trust: Trust{FirstUse: true}, MaxAgents: 2, Now: w.clock.time})
	if err != nil {
		t.Fatal(err)
	}
	says(t, "none", s.Learn("a", p.Capabilities{}), fmt.Sprintf(`sealed: the capabilities of "a" have no %s`, CapabilityKeys))
	says(t, "no text", s.Learn("a", p.Capabilities{Extra: p.Members{CapabilityKeys: json.RawMessage("7")}}), fmt.Sprintf(`sealed: the capabilities of "a" have no %s`, CapabilityKeys))
	now := w.clock.now.Unix()
	for _, tt := range []struct {
		agent p.AgentID
		text  string
		want  string // after "the keys of …"
	}{
		{"a", "x", "want a JOSE object in the compact form"},
		{"a", signs(t, statement{Agent: "b"}, by, by), `the statement is about the agent "b"`},
		{"a", signs(t, statement{Agent: "a", Expires: now}, by, by), "the statement has expired"},
		{"a", signs(t, statement{Agent: "a"}, by, other), fmt.Sprintf("the key %.16s…, which has signed the statement of the agent's keys, is not trusted", by.ID())},
		{"a", signs(t, statement{Agent: "A", Version: 2, Expires: now + 1}, by, by), ""},
		{"a", signs(t, statement{Agent: "a", Version: 1}, by, by), "the statement is older than one that is known"},
		{"a", signs(t, statement{Agent: "a", Version: 3}, other, other), fmt.Sprintf("the key %.16s…, which has signed the statement of the agent's keys, is not trusted", other.ID())},
		{"b", signs(t, statement{Agent: "b"}, by, by), ""},
		{"c", signs(t, statement{Agent: "c"}, by, by), "the keys of 2 agents are known, and there is no room for more"},
		{"a", signs(t, statement{Agent: "a", Version: 2}, by, by, other), ""},
		{"a", signs(t, statement{Agent: "a", Version: 3}, other, other), ""},
		{"a", signs(t, statement{Agent: "a", Version: 4}, by, by), fmt.Sprintf("the key %.16s…, which has signed the statement of the agent's keys, is not trusted", by.ID())},
	} {
		want := tt.want
		if want != "" {
			want = fmt.Sprintf("sealed: the keys of %q: %s", tt.agent, want)
		}
		for range 2 { // again changes nothing
			says(t, string(tt.agent), s.Learn(tt.agent, p.Capabilities{Extra: p.Members{CapabilityKeys: mustMarshal(t, tt.text)}}), want)
		}
	}
	authority := by.signing.Public()
	authority.KeyID = "forged"
	if k, err := parseAuthority(mustMarshal(t, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{by.encryption.Public(), authority}})); err != nil || k.KeyID != by.ID() || k.Use != useSign {
		t.Errorf("%v, %v", k, err)
	}
	private, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p384 := jose.JSONWebKey{Key: private.Public(), Use: useSign}
	for name, tt := range map[string]struct {
		keys any
		want string
	}{
		"no set":          {7, "want a JSON Web Key Set"},
		"to encrypt only": {jose.JSONWebKeySet{Keys: []jose.JSONWebKey{by.encryption.Public()}}, "want a public key with the use sig"},
		"another curve":   {jose.JSONWebKeySet{Keys: []jose.JSONWebKey{p384}}, `sealed: want a key of Ed25519 or P-256 to sign, or of P-256 to encrypt, got *ecdsa.PublicKey with the use "sig"`},
		"private":         {jose.JSONWebKeySet{Keys: []jose.JSONWebKey{by.signing}}, "want a public key with the use sig"},
	} {
		_, err := parseAuthority(mustMarshal(t, tt.keys))
		says(t, name, err, tt.want)
	}
}
