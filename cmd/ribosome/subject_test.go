package main

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

func TestSubjectOf(t *testing.T) {
	token := func(claims string) string {
		return "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	}
	for text, want := range map[string]performatives.AgentID{
		anasToken:                        "",
		"":                               "",
		"a.b":                            "",
		"a.b.c":                          "",
		token(`{"sub":"Ana"}`):           "Ana",
		token(`{"sub":"Ana"}`) + ".more": "",
		token(`{"sub":7}`):               "",
		token(`{"iss":"us"}`):            "",
		token(`["Ana"]`):                 "",
		token(`{"sub":" Ana"}`):          "",
		token(`{"sub":"A\nna"}`):         "",
		token(`{"sub":"System"}`):        "",
		token(`{"sub":"` + strings.Repeat("a", performatives.MaxIDLength+1) + `"}`): "",
	} {
		if got := subjectOf(text); got != want {
			t.Errorf("%.40s: got %q, want %q", text, got, want)
		}
	}
}

// Without --as, the name is the subject of the token, over each transport and from each source of a
// token.
func TestSubjectIsTheName(t *testing.T) {
	t.Chdir(t.TempDir())
	secret := strings.Repeat("0123456789abcdef", 4)
	writeFile(t, "secret", secret+"\n")
	writeFile(t, "client", "client-s3cret\n")
	token := signed(t, "HS256", "us", []byte(secret))
	writeFile(t, "token", token+"\n")
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, token)
	}))
	t.Cleanup(issuer.Close)
	n := hosts(t, "--jwt-key", "secret", "--swarm", "eddyjules")
	for _, scheme := range slices.Sorted(maps.Keys(n.at)) {
		url := n.at[scheme]
		for name, flags := range map[string][]string{
			"flag":   {"--token", token},
			"file":   {"--token-file", "token"},
			"issuer": {"--oauth-url", issuer.URL, "--oauth-client", "cli", "--oauth-secret-file", "client"},
		} {
			r := runs(t, append([]string{"call", "Jules", "debug_code", "-d", task, "-q", "-v", "--addr", url}, flags...)...)
			if want := "speaking to " + url + " as Ana, the subject of the token\n"; r.code != exitDone || r.stderr != want {
				t.Errorf("%s, %s: got %+v, want %s", scheme, name, r, want)
			}
			noSecrets(t, r)
		}
		l := begins(t, "listen", "--addr", url, "--token", token)
		l.shows(&l.stderr, "connected to "+url+" as Ana\n")
		l.end()
	}
	r := runs(t, "agents", "-v", "--as", "Ana/cli", "--addr", n.at["tcp"], "--token", token)
	if want := "speaking to " + n.at["tcp"] + " as Ana/cli, the name of --as\n"; r.code != exitDone || r.stderr != want {
		t.Errorf("got %+v, want %s", r, want)
	}
}

func TestRandomName(t *testing.T) {
	n := hosts(t, "--no-auth")
	r := runs(t, "agents", "-v", "--addr", n.at["tcp"], "--token", anasToken)
	if r.code != exitDone || !strings.HasPrefix(r.stderr, "speaking to "+n.at["tcp"]+" as cli-") || !strings.HasSuffix(r.stderr, ", a random name\n") {
		t.Errorf("got %+v", r)
	}
}
