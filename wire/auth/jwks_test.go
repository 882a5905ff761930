package auth

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// issuer is an HTTP transport that publishes keys. It uses no network, so that it works in
// virtual time.
type issuer struct {
	mu      sync.Mutex
	text    []byte
	status  int
	fail    error
	hold    chan struct{} // if set, answers block until it is closed
	fetches int
}

func (i *issuer) publish(text []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.text, i.status, i.fail = text, http.StatusOK, nil
}

func (i *issuer) down(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fail = err
}

func (i *issuer) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	i.fetches++
	hold := i.hold
	i.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fail != nil {
		return nil, i.fail
	}
	return &http.Response{StatusCode: i.status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(i.text)), Request: r}, nil
}

func (i *issuer) auth(t *testing.T, o JWKSOptions) wire.Authenticator {
	t.Helper()
	o.URL, o.Client = "https://id.example.org/keys?secret=hunter2", &http.Client{Transport: i}
	return must(JWT(JWTOptions{JWKS: o}))
}

func TestJWKSRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var i issuer
		i.publish(jwks(jwkOf("old", rsaKey().Public())))
		auth := i.auth(t, JWKSOptions{})
		forever := with("exp", time.Now().Add(1000*time.Hour).Unix())
		old := wire.Credentials{Token: sign(t, "RS256", "old", rsaKey(), claims(forever))}
		next := wire.Credentials{Token: sign(t, "EdDSA", "next", edKey(), claims(forever))}
		for range 3 {
			if _, err := auth.Authenticate(t.Context(), old); err != nil {
				t.Fatal(err)
			}
		}
		_, err := auth.Authenticate(t.Context(), next)
		checkRejected(t, err, ErrNoKey.Error())
		if n := i.count(); n != 1 {
			t.Errorf("%d fetches, want one: minKeyRefresh has not passed", n)
		}
		i.publish(jwks(jwkOf("next", edKey().Public())))
		time.Sleep(10 * time.Second)
		if _, err := auth.Authenticate(t.Context(), next); err != nil || i.count() != 2 {
			t.Errorf("a new key: %v after %d fetches", err, i.count())
		}
		_, err = auth.Authenticate(t.Context(), old)
		checkRejected(t, err, ErrNoKey.Error())
		time.Sleep(15 * time.Minute)
		if _, err := auth.Authenticate(t.Context(), next); err != nil || i.count() != 3 {
			t.Errorf("after keyRefresh: %v after %d fetches", err, i.count())
		}
	})
}

func TestJWKSOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var i issuer
		var failures []error
		i.publish(jwks(jwkOf("a", p256().Public())))
		auth := i.auth(t, JWKSOptions{Failed: func(err error) { failures = append(failures, err) }})
		cred := wire.Credentials{Token: sign(t, "ES256", "a", p256(), claims(with("exp", time.Now().Add(1000*time.Hour).Unix())))}
		try := func() error {
			_, err := auth.Authenticate(t.Context(), cred)
			return err
		}
		if err := try(); err != nil {
			t.Fatal(err)
		}
		i.down(errors.New("no route to host"))
		time.Sleep(15 * time.Minute)
		for range 5 {
			if err := try(); err != nil {
				t.Fatalf("the old keys are not used: %v", err)
			}
		}
		if i.count() != 2 || len(failures) != 1 || !strings.Contains(failures[0].Error(), "no route to host") || strings.Contains(failures[0].Error(), "hunter2") {
			t.Errorf("%d fetches, reported %v, want one failed attempt with its reason", i.count(), failures)
		}
		time.Sleep(10 * time.Second)
		if err := try(); err != nil || i.count() != 3 {
			t.Errorf("%v after %d fetches, want another attempt", err, i.count())
		}
		time.Sleep(24 * time.Hour)
		if err := try(); !errors.Is(err, performatives.CodeInternal) || wire.AsRefusal(err).Text != "credentials cannot be checked at the moment" {
			t.Errorf("the keys are a day old: %v, want an internal error", err)
		}
		i.publish(jwks(jwkOf("a", p256().Public())))
		time.Sleep(10 * time.Second)
		if err := try(); err != nil {
			t.Errorf("the issuer is available again: %v", err)
		}
	})
}

// A flood of unknown key ids on many connections causes no more fetches than minKeyRefresh
// allows, and does not delay tokens with known keys.
func TestJWKSFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var i issuer
		i.publish(jwks(jwkOf("a", p256().Public())))
		auth := i.auth(t, JWKSOptions{})
		good := wire.Credentials{Token: sign(t, "ES256", "a", p256(), claims(with("exp", time.Now().Add(time.Hour).Unix())))}
		if _, err := auth.Authenticate(t.Context(), good); err != nil {
			t.Fatal(err)
		}
		const seconds = 60
		for range seconds {
			time.Sleep(time.Second)
			hold := make(chan struct{})
			i.mu.Lock()
			i.hold = hold
			i.mu.Unlock()
			var flood sync.WaitGroup
			for n := range 50 {
				bad := wire.Credentials{Token: sign(t, "ES256", fmt.Sprintf("%s-%d", rand.Text(), n), p256(), claims())}
				flood.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond) // the connection ends early
					defer cancel()
					if _, err := auth.Authenticate(ctx, bad); err == nil {
						t.Error("accepted")
					}
				})
			}
			synctest.Wait()
			if _, err := auth.Authenticate(t.Context(), good); err != nil {
				t.Errorf("during the flood: %v", err)
			}
			close(hold)
			flood.Wait()
		}
		if n := i.count(); n > 1+seconds/10 {
			t.Errorf("%d fetches in %d s, want at most one in 10 s and the first", n, seconds)
		}
	})
}

// Concurrent callers with the same new key cause one fetch.
func TestJWKSSingleFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := issuer{hold: make(chan struct{})}
		i.publish(jwks(jwkOf("a", p256().Public())))
		auth := i.auth(t, JWKSOptions{})
		cred := wire.Credentials{Token: sign(t, "ES256", "a", p256(), claims())}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := auth.Authenticate(t.Context(), cred); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(i.hold)
		all.Wait()
		if n := i.count(); n != 1 {
			t.Errorf("%d fetches, want 1", n)
		}
	})
}

// A fetch continues after its caller's context has ended, and serves other callers.
func TestJWKSFetchOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := issuer{hold: make(chan struct{})}
		i.publish(jwks(jwkOf("a", p256().Public())))
		auth := i.auth(t, JWKSOptions{})
		cred := wire.Credentials{Token: sign(t, "ES256", "a", p256(), claims())}
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			defer close(left)
			_, _ = auth.Authenticate(ctx, cred)
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(i.hold)
		<-left
		if _, err := auth.Authenticate(t.Context(), cred); err != nil || i.count() != 1 {
			t.Errorf("%v after %d fetches, want the keys of the first", err, i.count())
		}
	})
}

func TestJWKSTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := issuer{hold: make(chan struct{})}
		auth := i.auth(t, JWKSOptions{})
		start := time.Now()
		_, err := auth.Authenticate(t.Context(), wire.Credentials{Token: sign(t, "ES256", "a", p256(), claims())})
		if !errors.Is(err, performatives.CodeInternal) || time.Since(start) != 5*time.Second {
			t.Errorf("%v after %v, want an internal error after 5 s", err, time.Since(start))
		}
	})
}

// Answers of an HTTP server over a socket.
func TestJWKSAnswers(t *testing.T) {
	good := jwks(jwkOf("a", p256().Public()))
	var answer http.HandlerFunc
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
	defer server.Close()
	text := func(b []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept") != "application/jwk-set+json, application/json" {
				w.WriteHeader(http.StatusNotAcceptable)
			}
			_, _ = w.Write(b)
		}
	}
	to := func(url string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, url, http.StatusFound) }
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string // empty: the key is found
	}{
		"good":            {text(good), ""},
		"not JSON":        {text([]byte("<html>hunter2")), "not a JSON Web Key Set"},
		"an error":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "the answer is 502"},
		"endless":         {func(w http.ResponseWriter, _ *http.Request) { writeUntilRefused(w) }, "longer than"},
		"redirect to ftp": {to("ftp://a/"), "want an https URL"},
		"to http":         {to("http://192.0.2.1/"), "want https"},
		"a loop":          {to(server.URL), "too many redirections"},
		"3 redirections":  {redirects(3, good), ""},
		"4 redirections":  {redirects(4, good), "too many redirections"},
		"no keys":         {text([]byte(`{"keys":[]}`)), "it is empty"},
		"many keys":       {text([]byte(`{"keys":[` + strings.Repeat("{},", maxKeys-1) + `{}]}`)), "no key in it can be used: key 0: "},
		"too many keys":   {text([]byte(`{"keys":[` + strings.Repeat("{},", maxKeys) + `{}]}`)), "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			answer = tt.answer
			auth := must(JWT(JWTOptions{JWKS: JWKSOptions{URL: server.URL}}))
			_, err := auth.Authenticate(t.Context(), wire.Credentials{Token: sign(t, "ES256", "a", p256(), claims())})
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (!errors.Is(err, performatives.CodeInternal) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2")):
				t.Errorf("%v, want %q in it, and no part of the answer", err, tt.want)
			}
		})
	}
}

// redirects answers after n redirections.
func redirects(n int, b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if n--; n >= 0 {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		_, _ = w.Write(b)
	}
}

func writeUntilRefused(w io.Writer) {
	for {
		if _, err := w.Write(make([]byte, 64<<10)); err != nil {
			return
		}
	}
}

func TestParseKeys(t *testing.T) {
	weak := must(rsa.GenerateKey(rand.Reader, 1024))
	change := func(k map[string]any, pairs ...any) map[string]any {
		for i := 0; i < len(pairs); i += 2 {
			k[pairs[i].(string)] = pairs[i+1]
		}
		return k
	}
	b64 := base64.RawURLEncoding.EncodeToString
	for name, tt := range map[string]struct {
		key  map[string]any
		want string // empty: the key is usable
	}{
		"RSA":                   {jwkOf("a", rsaKey().Public()), ""},
		"P-256":                 {jwkOf("a", p256().Public()), ""},
		"P-384":                 {jwkOf("a", p384().Public()), ""},
		"P-521":                 {jwkOf("a", p521().Public()), ""},
		"Ed25519":               {jwkOf("a", edKey().Public()), ""},
		"for verifying":         {change(jwkOf("a", edKey().Public()), "key_ops", []string{"verify"}), ""},
		"its alg":               {change(jwkOf("a", rsaKey().Public()), "alg", "PS256"), ""},
		"shared secret":         {jwkOf("a", []byte(secret64)), "not allowed"},
		"weak RSA":              {jwkOf("a", weak.Public()), "too weak"},
		"exponent 1":            {change(jwkOf("a", rsaKey().Public()), "e", "AQ"), "not valid"},
		"even exponent":         {change(jwkOf("a", rsaKey().Public()), "e", "Ag"), "too weak"},
		"great exponent":        {change(jwkOf("a", rsaKey().Public()), "e", "AQAAAAE"), "too weak"},
		"great modulus":         {change(jwkOf("a", rsaKey().Public()), "n", b64(bytes.Repeat([]byte{255}, 1<<16))), "not valid"},
		"not on the curve":      {change(jwkOf("a", p256().Public()), "x", b64(make([]byte, 32))), "not valid"},
		"short point":           {change(jwkOf("a", p256().Public()), "x", "AA"), "not valid"},
		"a curve for another":   {change(jwkOf("a", p256().Public()), "crv", "P-384"), "not valid"},
		"secp256k1":             {change(jwkOf("a", p256().Public()), "crv", "secp256k1"), "crv"},
		"X25519":                {change(jwkOf("a", edKey().Public()), "crv", "X25519"), "crv"},
		"not base64url":         {change(jwkOf("a", edKey().Public()), "x", "hunter2!"), "not valid"},
		"short Ed25519":         {change(jwkOf("a", edKey().Public()), "x", "AA"), "not valid"},
		"for encryption":        {change(jwkOf("a", edKey().Public()), "use", "enc"), "not for signatures"},
		"for signing":           {change(jwkOf("a", edKey().Public()), "key_ops", []string{"sign"}), "not for signatures"},
		"private":               {change(jwkOf("a", edKey().Public()), "d", "hunter2"), "private key"},
		"an alg of another key": {change(jwkOf("a", rsaKey().Public()), "alg", "HS256"), "does not match its alg"},
		"unknown":               {map[string]any{"kty": "AKP"}, "kty"},
		"of the wrong type":     {map[string]any{"kty": 7}, "not a JSON Web Key"},
	} {
		t.Run(name, func(t *testing.T) {
			keys, err := parseKeys(jwks(tt.key))
			switch {
			case tt.want == "" && (err != nil || len(keys) != 1):
				t.Errorf("%d keys, %v", len(keys), err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2")):
				t.Errorf("%v, want %q in it", err, tt.want)
			}
			keys, err = parseKeys(jwks(tt.key, jwkOf("good", edKey().Public())))
			if want := map[bool]int{true: 2, false: 1}[tt.want == ""]; err != nil || len(keys) != want || keys[want-1].kid != "good" {
				t.Errorf("together with a usable key: %d keys, %v, want %d", len(keys), err, want)
			}
		})
	}
}

// lookUp selects the key by id and algorithm.
func TestKeySetLookUp(t *testing.T) {
	rsaOnly := jwkOf("r", rsaKey().Public())
	pinned := jwkOf("pinned", otherRSA().Public())
	pinned["alg"] = "PS256"
	keys := must(parseKeys(jwks(rsaOnly, pinned, jwkOf("e", edKey().Public()), jwkOf("same", p256().Public()), jwkOf("same", p384().Public()))))
	for _, tt := range []struct {
		kid, alg string
		want     any
	}{
		{"r", "RS256", rsaKey().Public()},
		{"r", "HS256", nil},
		{"r", "EdDSA", nil},
		{"e", "EdDSA", edKey().Public()},
		{"pinned", "PS256", otherRSA().Public()},
		{"pinned", "RS256", nil},
		{"same", "ES256", p256().Public()},
		{"same", "ES384", p384().Public()},
		{"same", "ES512", nil},
		{"missing", "RS256", nil},
		{"", "EdDSA", edKey().Public()},
		{"", "PS256", nil}, // ambiguous
		{"", "RS256", rsaKey().Public()},
	} {
		got := lookUp(keys, tt.kid, tt.alg)
		if (got == nil) != (tt.want == nil) || got != nil && !tt.want.(interface{ Equal(x crypto.PublicKey) bool }).Equal(got) {
			t.Errorf("%q with %s: found %v", tt.kid, tt.alg, got)
		}
	}
}
