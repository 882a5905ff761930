package auth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestFileToken(t *testing.T) {
	path := writeFile(t, []byte("first\n"))
	synctest.Test(t, func(t *testing.T) {
		source := must(FileToken(path))
		expect := func(want, why string) {
			t.Helper()
			got, err := source.Token(t.Context())
			if got != want || (why == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), why) {
				t.Errorf("%q, %v, want %q and %q", got, err, want, why)
			}
		}
		replace := func(text string) {
			t.Helper()
			if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}
		expect("first", "")
		replace("other\n") // as long as the first token
		expect("first", "")
		time.Sleep(recheck)
		expect("other", "")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(recheck)
		expect("other", path)
		expect("other", "")
		replace("\n")
		time.Sleep(recheck)
		expect("other", "is empty")
		replace("two tokens")
		time.Sleep(recheck)
		expect("other", "one token and nothing else")
		time.Sleep(recheck)
		expect("other", "one token and nothing else") // the old token remains
		replace("third")
		time.Sleep(recheck)
		expect("third", "")
	})
	if _, err := FileToken(t.TempDir() + "/missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestFunc(t *testing.T) {
	if got := Func(t.Context(), must(FileToken(writeFile(t, []byte("abc")))), nil)(); got != "abc" {
		t.Errorf("%q, want abc", got)
	}
	var heard []error
	failing := &issuer{fail: errors.New("no route to host")}
	source := must(ClientCredentials(ClientCredentialsOptions{URL: "https://a/token", ClientID: "crm", Secret: "hunter2", Client: &http.Client{Transport: failing}}))
	if got := Func(t.Context(), source, func(err error) { heard = append(heard, err) })(); got != "" || len(heard) != 1 {
		t.Errorf("%q, reported %v, want no token and one error", got, heard)
	}
}

func clientSource(t *testing.T, i *issuer) TokenSource {
	t.Helper()
	return must(ClientCredentials(ClientCredentialsOptions{
		URL: "https://id.example.org/token", ClientID: "crm", Secret: "hunter2", Client: &http.Client{Transport: i},
	}))
}

func TestClientCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var i issuer
		source := clientSource(t, &i)
		expect := func(want, why string, fetches int) {
			t.Helper()
			got, err := source.Token(t.Context())
			if got != want || (why == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), why) {
				t.Errorf("%q, %v, want %q and %q", got, err, want, why)
			}
			if n := i.count(); n != fetches {
				t.Errorf("%d requests, want %d", n, fetches)
			}
		}
		grant := func(token string) {
			i.publish([]byte(`{"access_token":"` + token + `","token_type":"Bearer","expires_in":600}`))
		}
		grant("one")
		expect("one", "", 1)
		time.Sleep(9*time.Minute - time.Second)
		grant("two")
		expect("one", "", 1) // expires in a minute and a second
		time.Sleep(time.Second)
		expect("two", "", 2) // renewed before it expires
		i.down(errors.New("no route to host"))
		time.Sleep(9 * time.Minute)
		expect("two", "no route to host", 3) // one request: the authentication style is known after the first token
		expect("two", "", 3)                 // reported already, and renewRetry has not passed
		time.Sleep(5 * time.Second)
		expect("two", "no route to host", 4)
		time.Sleep(55 * time.Second)
		expect("", "no route to host", 5) // expired
		expect("", "no route to host", 5)
		grant("three")
		time.Sleep(5 * time.Second)
		expect("three", "", 6)
	})
}

// While one caller renews the token, others get the old one without blocking.
func TestClientCredentialsRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var i issuer
		i.publish([]byte(`{"access_token":"one","expires_in":600}`))
		source := clientSource(t, &i)
		if _, err := source.Token(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Minute)
		i.publish([]byte(`{"access_token":"two","expires_in":600}`))
		i.hold = make(chan struct{})
		renewed := make(chan string)
		go func() {
			token, _ := source.Token(t.Context())
			renewed <- token
		}()
		synctest.Wait()
		for range 5 {
			if got, err := source.Token(t.Context()); got != "one" || err != nil {
				t.Errorf("%q, %v, want the old token immediately", got, err)
			}
		}
		close(i.hold)
		if got := <-renewed; got != "two" || i.count() != 2 {
			t.Errorf("%q after %d requests, want two after 2", got, i.count())
		}
	})
}

// A caller whose context ends does not block others, and its attempt does not count as
// failed.
func TestClientCredentialsEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := issuer{hold: make(chan struct{})}
		i.publish([]byte(`{"access_token":"one"}`))
		source := clientSource(t, &i)
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := source.Token(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, want the deadline's error", err)
			}
			cancel()
		}
		close(i.hold)
		if got, err := source.Token(t.Context()); got != "one" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		time.Sleep(1000 * time.Hour)
		if got, err := source.Token(t.Context()); got != "one" || err != nil {
			t.Errorf("a token without expiry: %q, %v", got, err)
		}
	})
}

func TestClientCredentialsAnswers(t *testing.T) {
	var status int
	var text string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		if r.ParseForm() != nil || r.Form.Get("grant_type") != "client_credentials" || r.Form.Get("audience") != "ribosome" || r.Form.Get("scope") != "a b" ||
			(id != "crm" || secret != "hunter2") && r.Form.Get("client_secret") != "hunter2" {
			t.Errorf("the request is %v", r.Form)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}))
	defer server.Close()
	for name, tt := range map[string]struct {
		status int
		text   string
		want   string // empty: a token
	}{
		"good":           {200, `{"access_token":"abc"}`, ""},
		"wrong secret":   {401, `{"error":"invalid_client","error_description":"hunter2"}`, "answers invalid_client"},
		"its own error":  {400, `{"error":"hunter2"}`, "answers 400"},
		"no JSON":        {200, `hunter2`, "holds no token"},
		"without one":    {200, `{"token_type":"hunter2"}`, "holds no token"},
		"something else": {503, `hunter2`, "answers 503"},
	} {
		t.Run(name, func(t *testing.T) {
			status, text = tt.status, tt.text
			source := must(ClientCredentials(ClientCredentialsOptions{
				URL: server.URL, ClientID: "crm", SecretFile: writeFile(t, []byte("hunter2\n")), Audience: "ribosome", Scopes: []string{"a", "b"},
			}))
			got, err := source.Token(t.Context())
			switch {
			case tt.want == "" && (got != "abc" || err != nil):
				t.Errorf("%q, %v", got, err)
			case tt.want != "" && (err == nil || got != "" || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2")):
				t.Errorf("%q, %v, want %q in it, and nothing of the answer", got, err, tt.want)
			}
		})
	}
}

func TestClientCredentialsOptions(t *testing.T) {
	for want, o := range map[string]ClientCredentialsOptions{
		"want https":         {URL: "http://a/", ClientID: "a", Secret: "b"},
		"ClientID is empty":  {URL: "https://a/", Secret: "b"},
		"want one of Secret": {URL: "https://a/", ClientID: "a"},
		"is empty":           {URL: "https://a/", ClientID: "a", SecretFile: writeFile(t, []byte("\n"))},
	} {
		if _, err := ClientCredentials(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}
