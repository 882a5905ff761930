package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A client gets its token from an issuer, over each transport.
func TestOAuth(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "tokens", "Ana "+anasToken+"\n")
	writeFile(t, "secret", "client-s3cret\n")
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		w.Header().Set("Content-Type", "application/json")
		if id != "cli" || secret != "client-s3cret" || r.FormValue("scope") != "debug ask" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprint(w, `{"error":"invalid_client"}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, anasToken)
	}))
	t.Cleanup(issuer.Close)
	n := hosts(t, "--tokens", "tokens", "--swarm", "eddyjules")
	for scheme, url := range n.at {
		t.Run(scheme, func(t *testing.T) {
			call := []string{
				"call", "Jules", "debug_code", "-d", task, "-q", "--addr", url, "--as", "Ana",
				"--oauth-url", issuer.URL, "--oauth-secret-file", "secret", "--oauth-scope", "debug", "--oauth-scope", "ask",
			}
			if r := runs(t, append(call, "--oauth-client", "cli")...); r.code != exitDone {
				t.Errorf("got %+v", r)
			}
			r := runs(t, append(call, "--oauth-client", "other")...)
			if r.code != exitFailed || r.stderr != "ribosome: no token: the issuer answers invalid_client; check the flags that begin with --oauth\n" {
				t.Errorf("as another client, got %+v", r)
			}
			if all := r.stdout + r.stderr; strings.Contains(all, "s3cret") || strings.Contains(all, anasToken) {
				t.Errorf("a secret is shown: %s", all)
			}
		})
	}
}

func TestOAuthUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "secret", "client-s3cret\n")
	call := []string{"call", "Jules", "x", "--addr", "tcp://127.0.0.1:1"}
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"half":       {[]string{"--oauth-url", "https://issuer"}, "--oauth-url, --oauth-client and --oauth-secret-file belong together; give all three"},
		"in clear":   {[]string{"--oauth-url", "http://issuer", "--oauth-client", "a", "--oauth-secret-file", "secret"}, "--oauth-url: "},
		"two tokens": {[]string{"--token", anasToken, "--oauth-url", "https://issuer", "--oauth-client", "a", "--oauth-secret-file", "secret"}, "there is a token, and --oauth-url gets another; leave one"},
	} {
		r := runs(t, append(call, tt.args...)...)
		if r.code != exitUsage || !strings.HasPrefix(r.stderr, "ribosome: "+tt.want) || strings.Contains(r.stderr, "s3cret") {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

// A node asks the issuer about opaque tokens, over each transport.
func TestIntrospection(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "secret", "node-s3cret\n")
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		switch {
		case id != "node" || secret != "node-s3cret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.PostFormValue("token") == anasToken:
			_, _ = fmt.Fprintf(w, `{"active":true,"sub":"Ana","aud":"swarm","exp":%d}`, time.Now().Add(time.Hour).Unix())
		default:
			_, _ = fmt.Fprint(w, `{"active":false}`)
		}
	}))
	t.Cleanup(issuer.Close)
	own := []string{"--introspect-url", issuer.URL, "--introspect-secret-file", "secret", "--introspect-audience", "swarm", "--swarm", "eddyjules"}
	n := hosts(t, append(own, "--introspect-client", "node")...)
	for scheme, url := range n.at {
		call := []string{"call", "Jules", "debug_code", "-d", task, "-q", "--addr", url, "--as", "Ana"}
		if r := runs(t, append(call, "--token", anasToken)...); r.code != exitDone {
			t.Errorf("%s: got %+v", scheme, r)
		}
		if r := runs(t, append(call, "--token", "another-"+anasToken)...); r.code != exitFailed || !strings.Contains(r.stderr, "unauthorized") {
			t.Errorf("%s, another token: got %+v", scheme, r)
		}
	}
	n.end()
	if log := n.stderr.String(); !strings.Contains(log, "auth: introspection: the token is not active") || strings.Contains(log, anasToken) || strings.Contains(log, "s3cret") {
		t.Errorf("the log is %s", log)
	}
	other := hosts(t, append(own, "--introspect-client", "other")...)
	for scheme, url := range other.at {
		r := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", url, "--as", "Ana", "--token", anasToken)
		if r.code != exitFailed || !strings.Contains(r.stderr, "cannot be checked at the moment") {
			t.Errorf("%s, as another client: got %+v", scheme, r)
		}
	}
	other.end()
	if log := other.stderr.String(); !strings.Contains(log, "the issuer could not be asked: the answer is 401") {
		t.Errorf("the log is %s", log)
	}
}
