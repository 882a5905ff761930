package main

import (
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// The tokens of the tests.
const (
	anasToken  = "Ana-0123456789abcdefghijk" //nolint:gosec // nobody else's
	otherToken = "other-0123456789abcdefghi" //nolint:gosec // nobody's
)

// Static tokens, over each transport, and what becomes of a wrong one and of none.
func TestTokens(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "tokens", "Ana "+anasToken+"\n")
	writeFile(t, "token", anasToken+"\n")
	writeFile(t, "wrong.yaml", "token: "+otherToken+"\n")
	n := hosts(t, "--tokens", "tokens", "--swarm", "eddyjules", "--log-messages")
	for scheme, url := range n.at {
		t.Run(scheme, func(t *testing.T) {
			call := []string{"call", "Jules", "debug_code", "-d", task, "-q", "--addr", url, "--as", "Ana"}
			t.Setenv("RIBOSOME_TOKEN", anasToken)
			if r := runs(t, call...); r.code != exitDone {
				t.Errorf("by the environment, got %+v", r)
			}
			if r := runs(t, append(call, "--as", "Ana/cli")...); r.code != exitDone {
				t.Errorf("as an agent below, got %+v", r)
			}
			if r := runs(t, append(call, "--as", "Bob")...); r.code != exitFailed ||
				r.stderr != "ribosome: the node at "+url+" does not permit it: the peer has not authenticated as the sender (forbidden); check --as and the rules there\n" {
				t.Errorf("as another, got %+v", r)
			}
			if r := runs(t, "agents", "--addr", url); r.code != exitFailed ||
				r.stderr != "ribosome: the node at "+url+" does not permit it: the peer has not authenticated as the sender (forbidden); give with --as the name that the token or the certificate is for\n" {
				t.Errorf("without a name, got %+v", r)
			}
			t.Setenv("RIBOSOME_TOKEN", "")
			if r := runs(t, append(call, "--token-file", "token")...); r.code != exitDone {
				t.Errorf("by a file, got %+v", r)
			}
			wrong := runs(t, append(call, "--token", otherToken)...)
			if wrong.code != exitFailed || !strings.HasPrefix(wrong.stderr, "ribosome: the node at "+url+" does not accept the token: ") ||
				!strings.HasSuffix(wrong.stderr, " (unauthorized); get one that is valid, and check --addr\n") {
				t.Errorf("with a wrong token, got %+v", wrong)
			}
			none := runs(t, call...)
			if none.code != exitFailed || !strings.HasPrefix(none.stderr, "ribosome: the node at "+url+" wants to know who calls: ") ||
				!strings.HasSuffix(none.stderr, " (unauthorized); give a token with --token-file or RIBOSOME_TOKEN\n") {
				t.Errorf("without a token, got %+v", none)
			}
			filed := runs(t, append(call, "--config", "wrong.yaml")...)
			if filed.code != exitFailed || filed.stderr != wrong.stderr {
				t.Errorf("with a wrong token in the configuration, got %+v", filed)
			}
			l := runs(t, "listen", "--as", "Ana", "--addr", url, "--token", otherToken)
			if l.code != exitFailed || !strings.Contains(l.stderr, " does not accept the token: ") || strings.Count(l.stderr, "\n") != 1 {
				t.Errorf("listening with a wrong token, got %+v", l)
			}
			noSecrets(t, wrong, none, filed, l)
		})
	}
	noSecrets(t, n.end())
}

// noSecrets looks for tokens in all that was printed and logged.
func noSecrets(t *testing.T, all ...ran) {
	t.Helper()
	for _, r := range all {
		for _, secret := range []string{anasToken, otherToken, "0123456789abc", "eyJ"} {
			if strings.Contains(r.stdout+r.stderr, secret) {
				t.Errorf("%q is in %+v", secret, r)
			}
		}
	}
}

// JSON Web Tokens, by the public key of a certificate and by a shared secret.
func TestJWT(t *testing.T) {
	t.Chdir(t.TempDir())
	pki(t)
	secret := strings.Repeat("0123456789abcdef", 4)
	writeFile(t, "secret", secret+"\n")
	for alg, tt := range map[string]struct {
		key string
		by  any
	}{
		"ES256": {"server.pem", privateKey(t, "server.key")},
		"HS256": {"secret", []byte(secret)},
	} {
		t.Run(alg, func(t *testing.T) {
			n := hosts(t, "--jwt-key", tt.key, "--jwt-alg", alg, "--jwt-issuer", "us", "--jwt-audience", "node", "--swarm", "eddyjules")
			for issuer, code := range map[string]int{"us": exitDone, "them": exitFailed} {
				writeFile(t, "token", signed(t, alg, issuer, tt.by))
				for scheme, url := range n.at {
					r := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", url, "--as", "Ana", "--token-file", "token")
					if r.code != code {
						t.Errorf("%s, issued by %s: got %+v", scheme, issuer, r)
					}
					noSecrets(t, r)
				}
			}
			noSecrets(t, n.end())
		})
	}
}

// That the keys cannot be fetched is the fault of the node, and nobody else's.
func TestKeysNotFetched(t *testing.T) {
	t.Chdir(t.TempDir())
	pki(t)
	token := signed(t, "ES256", "us", privateKey(t, "server.key"))
	n := hosts(t, "--jwks-url", "http://127.0.0.1:1/keys", "--swarm", "eddyjules") // where nobody listens
	for scheme, url := range n.at {
		want := "ribosome: the node at " + url + " cannot tell who calls: credentials cannot be checked at the moment (internal_error); try again later, or ask who runs it\n"
		call := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", url, "--as", "Ana", "--token", token)
		listen := runs(t, "listen", "--as", "Ana", "--addr", url, "--token", token)
		if call.code != exitFailed || call.stderr != want || listen.code != exitFailed || listen.stderr != want {
			t.Errorf("%s: got %+v and %+v, want %s", scheme, call, listen, want)
		}
		noSecrets(t, call, listen)
	}
}

// signed is a JSON Web Token for Ana (RFC 7515).
func signed(t *testing.T, alg, issuer string, key any) string {
	t.Helper()
	part := base64.RawURLEncoding.EncodeToString
	text := part([]byte(`{"alg":"`+alg+`"}`)) + "." +
		part(fmt.Appendf(nil, `{"sub":"Ana","iss":%q,"aud":"node","exp":%d}`, issuer, time.Now().Add(time.Hour).Unix()))
	if secret, ok := key.([]byte); ok {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(text))
		return text + "." + part(mac.Sum(nil))
	}
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key.(*ecdsa.PrivateKey), sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + part(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

func privateKey(t *testing.T, name string) *ecdsa.PrivateKey {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return key.(*ecdsa.PrivateKey)
}

// TLS, and client certificates that say who calls.
func TestTLS(t *testing.T) {
	t.Chdir(t.TempDir())
	pki(t)
	n := hosts(t, "--tls-cert", "server.pem", "--tls-key", "server.key", "--client-ca", "ca.pem", "--require-client-cert", "--swarm", "eddyjules")
	for scheme, url := range n.at {
		t.Run(scheme, func(t *testing.T) {
			own := []string{"--cert", "Crm.pem", "--key", "Crm.key"}
			for name, tt := range map[string]struct {
				url  string
				args []string
				code int
				line string // in it
			}{
				"right":             {url, append(own, "--ca", "ca.pem", "--as", "Crm"), exitDone, ""},
				"another's name":    {url, append(own, "--ca", "ca.pem", "--as", "Ana"), exitFailed, " does not permit it: the peer has not authenticated as the sender (forbidden); check --as"},
				"no authority":      {url, own, exitFailed, ": nobody that is trusted has signed its certificate; name the authority with --ca"},
				"another authority": {url, append(own, "--ca", "other.pem"), exitFailed, ": nobody that is trusted has signed its certificate; name the authority with --ca"},
				"another host":      {strings.Replace(url, "127.0.0.1", "127.0.0.2", 1), append(own, "--ca", "ca.pem"), exitFailed, "cannot reach"},
				"no certificate":    {url, []string{"--ca", "ca.pem", "--as", "Crm"}, exitFailed, "client certificate"},
				"no TLS":            {strings.Replace(url, "s://", "://", 1), nil, exitFailed, "s://"},
			} {
				r := runs(t, append([]string{"call", "Jules", "debug_code", "-d", task, "-q", "--deadline", "20s", "--addr", tt.url}, tt.args...)...)
				if r.code != tt.code || !strings.Contains(r.stderr, tt.line) || strings.Count(r.stderr, "\n") != tt.code {
					t.Errorf("%s: got %+v, want %d and %q", name, r, tt.code, tt.line)
				}
			}
		})
	}
}

// The pattern says where a SPIFFE id has the agent id. A certificate without URIs names no agent
// then.
func TestClientAgent(t *testing.T) {
	t.Chdir(t.TempDir())
	pki(t)
	n := hosts(t, "--tls-cert", "server.pem", "--tls-key", "server.key", "--client-ca", "ca.pem", "--client-agent", "spiffe://example.org/ns/sales/sa/{agent}", "--swarm", "eddyjules")
	for scheme, url := range n.at {
		call := []string{"call", "Jules", "debug_code", "-d", task, "-q", "--addr", url, "--ca", "ca.pem", "--as", "Crm"}
		if r := runs(t, append(call, "--cert", "workload.pem", "--key", "workload.key")...); r.code != exitDone {
			t.Errorf("%s: got %+v", scheme, r)
		}
		if r := runs(t, append(call, "--cert", "Crm.pem", "--key", "Crm.key")...); r.code != exitFailed || !strings.Contains(r.stderr, "unauthorized") {
			t.Errorf("%s, without URIs: got %+v", scheme, r)
		}
	}
	n.end()
	if !strings.Contains(n.stderr.String(), "it names no agent: it has no URI that matches") {
		t.Errorf("the log is %s", n.stderr.String())
	}
	r := runs(t, "node", "--tcp", "127.0.0.1:0", "--tls-cert", "server.pem", "--tls-key", "server.key", "--client-ca", "ca.pem", "--client-agent", "spiffe://example.org/sa-{agent}")
	if r.code != exitUsage || r.stderr != "ribosome: --client-agent spiffe://example.org/sa-{agent}: want {agent} and * as whole segments, and none of %, ? and #\n" {
		t.Errorf("got %+v", r)
	}
}

// A WebSocket without TLS, where one with TLS is.
func TestPlainToTLS(t *testing.T) {
	t.Chdir(t.TempDir())
	pki(t)
	n := hosts(t, "--tls-cert", "server.pem", "--tls-key", "server.key", "--client-ca", "ca.pem")
	url := strings.Replace(n.at["wss"], "wss://", "ws://", 1)
	r := runs(t, "agents", "--addr", url) // the node may hang up before its answer is read
	if r.code != exitFailed || !strings.Contains(r.stderr, "use wss://") || !strings.Contains(r.stderr, "check the scheme of --addr") {
		t.Errorf("got %+v", r)
	}
}

// Who shows neither a token nor a certificate, where both count.
func TestNoCredentials(t *testing.T) {
	t.Chdir(t.TempDir())
	pki(t)
	n := hosts(t, "--tls-cert", "server.pem", "--tls-key", "server.key", "--client-ca", "ca.pem")
	for scheme, url := range n.at {
		r := runs(t, "agents", "--addr", url, "--ca", "ca.pem")
		if r.code != exitFailed || !strings.HasPrefix(r.stderr, "ribosome: the node at "+url+" wants to know who calls: ") ||
			!strings.HasSuffix(r.stderr, " (unauthorized); give a token with --token-file or RIBOSOME_TOKEN, or a certificate with --cert and --key\n") {
			t.Errorf("%s: got %+v", scheme, r)
		}
	}
}

// Rules, and the rate.
func TestRulesAndRate(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "tokens", "Ana "+anasToken+"\n")
	writeFile(t, "rules.json", `[{"agent":"Ana","allow":["Jules","system"]}]`)
	n := hosts(t, "--tokens", "tokens", "--rules", "rules.json", "--rate", "2/1h", "--swarm", "eddyjules")
	call := func(agent string) ran {
		return runs(t, "call", agent, "debug_code", "-d", task, "-q", "--addr", n.at["tcp"], "--as", "Ana", "--token", anasToken)
	}
	if r := call("Jules"); r.code != exitDone {
		t.Errorf("what is permitted: %+v", r)
	}
	if r := call("Eddy"); r.code != exitFailed || !strings.Contains(r.stderr, " does not permit it: this is not permitted (forbidden); check --as and the rules there\n") {
		t.Errorf("what is not: %+v", r)
	}
	if r := call("Jules"); r.code != exitFailed || !strings.Contains(r.stderr, "rate limit exceeded (rate_limited); ") {
		t.Errorf("what is too much: %+v", r)
	}
}
