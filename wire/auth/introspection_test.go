package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// endpoint is an introspection endpoint. It knows the answers about some tokens; any other is not
// active.
type endpoint struct {
	mu      sync.Mutex
	answers map[string]string
	asked   []string // the tokens, in order
	status  int      // 0 means 200
	hold    chan struct{}
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if r.Method != http.MethodPost || id != "node%3A1" || secret != "s%26cret" || r.PostFormValue("token_type_hint") != "access_token" || r.Header.Get("Accept") != "application/json" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	token := r.PostFormValue("token")
	e.mu.Lock()
	e.asked = append(e.asked, token)
	answer, known, status, hold := e.answers[token], e.answers[token] != "", e.status, e.hold
	e.mu.Unlock()
	if hold != nil {
		<-hold
	}
	switch {
	case status != 0:
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	case !known:
		_, _ = fmt.Fprint(w, `{"active":false}`)
	default:
		_, _ = fmt.Fprint(w, answer)
	}
}

func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.asked)
}

// RoundTrip asks the endpoint without a network, for virtual time.
func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// introspects returns an authenticator that asks e.
func introspects(t *testing.T, e *endpoint, with ...func(*IntrospectionOptions)) wire.Authenticator {
	t.Helper()
	o := IntrospectionOptions{URL: "https://id.example.org/introspect", ClientID: "node:1", Secret: "s&cret", Client: &http.Client{Transport: e}}
	for _, f := range with {
		f(&o)
	}
	a, err := Introspection(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func presents(t *testing.T, a wire.Authenticator, token string) (wire.Identity, error) {
	t.Helper()
	return a.Authenticate(t.Context(), wire.Credentials{Token: token})
}

// TestIntrospection asks a real server about tokens of several kinds.
func TestIntrospection(t *testing.T) {
	exp := time.Now().Add(time.Hour).Truncate(time.Second)
	e := &endpoint{answers: map[string]string{
		"full":      fmt.Sprintf(`{"active":true,"sub":"crm","client_id":"app","scope":"debug ask","agents":["crm2"],"iss":"https://id","aud":["nodes","x"],"exp":%d}`, exp.Unix()),
		"client":    fmt.Sprintf(`{"active":true,"client_id":"app","iss":"https://id","aud":"nodes","exp":%d}`, exp.Unix()),
		"endless":   `{"active":true,"sub":"crm","iss":"https://id","aud":"nodes"}`,
		"past":      `{"active":true,"sub":"crm","iss":"https://id","aud":"nodes","exp":1000}`,
		"nameless":  `{"active":true,"iss":"https://id","aud":"nodes"}`,
		"odd name":  `{"active":true,"sub":"a\u0000b","iss":"https://id","aud":"nodes"}`,
		"issuer":    `{"active":true,"sub":"crm","iss":"https://other","aud":"nodes"}`,
		"audience":  `{"active":true,"sub":"crm","iss":"https://id","aud":"others"}`,
		"odd exp":   `{"active":true,"sub":"crm","iss":"https://id","aud":"nodes","exp":"soon"}`,
		"no object": `[]`,
		"null":      `null`,
		"no answer": `{"sub":"crm"}`,
		"text":      `{"active":"true"}`,
	}}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	a := introspects(t, e, func(o *IntrospectionOptions) {
		o.URL, o.Client, o.Issuer, o.Audience = server.URL, nil, "https://id", "nodes"
	})
	id, err := presents(t, a, "full")
	if err != nil || id.Name != "crm" || id.Method != "introspection" || !slices.Equal(id.Agents, []performatives.AgentID{"crm2"}) ||
		!slices.Equal(id.Scopes, []string{"debug", "ask"}) || !id.Expires.Equal(exp) {
		t.Errorf("got %+v, %v", id, err)
	}
	if id, err = presents(t, a, "client"); err != nil || id.Name != "app" {
		t.Errorf("without sub: got %+v, %v", id, err)
	}
	if id, err = presents(t, a, "endless"); err != nil || time.Until(id.Expires) < 50*time.Minute || time.Until(id.Expires) > time.Hour {
		t.Errorf("without exp: got %+v, %v", id, err)
	}
	for token, want := range map[string]string{
		strings.Repeat("x", maxJWT): "the token is not active",
		"unknown":                   "the token is not active", "past": "the token has expired", "nameless": "the sub is not a valid agent id",
		"odd name": "the sub is not a valid agent id", "issuer": "another issuer", "audience": "another audience", "odd exp": "the exp is not a time",
	} {
		_, err := presents(t, a, token)
		if !errors.Is(err, performatives.CodeUnauthorized) || !strings.Contains(err.Error(), "auth: introspection: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", token, err)
		}
	}
	for token, want := range map[string]string{
		"null": "not a JSON object", "no object": "not a JSON object", "no answer": "does not say whether", "text": "does not say whether",
	} {
		if _, err := presents(t, a, token); !errors.Is(err, performatives.CodeInternal) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", token, err)
		}
	}
	if _, err := presents(t, a, strings.Repeat("x", maxJWT+1)); !errors.Is(err, performatives.CodeUnauthorized) {
		t.Errorf("a long token: %v", err)
	}
	if _, err := presents(t, a, ""); !errors.Is(err, wire.ErrNoCredentials) {
		t.Errorf("no token: %v", err)
	}
}

// TestIntrospectionIsKept counts the questions about tokens that come again.
func TestIntrospectionIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soon := time.Now().Add(10 * time.Second)
		e := &endpoint{answers: map[string]string{
			"long": `{"active":true,"sub":"crm"}`, "short": fmt.Sprintf(`{"active":true,"sub":"crm","exp":%d}`, soon.Unix()),
		}}
		a := introspects(t, e)
		wants := func(token string, code performatives.Code, questions int) {
			t.Helper()
			if _, err := presents(t, a, token); (err == nil) != (code == "") || err != nil && !errors.Is(err, code) {
				t.Errorf("%s: got %v, want %q", token, err, code)
			}
			if n := e.count(); n != questions {
				t.Errorf("%s: %d questions, want %d", token, n, questions)
			}
		}
		for range 2 {
			wants("long", "", 1)
		}
		for range 2 {
			wants("short", "", 2)
		}
		for range 2 {
			wants("bad", performatives.CodeUnauthorized, 3)
		}
		time.Sleep(11 * time.Second) // the short one has expired
		wants("short", performatives.CodeUnauthorized, 4)
		wants("long", "", 4)
		time.Sleep(20 * time.Second) // the answers are too old
		e.mu.Lock()
		e.status = http.StatusInternalServerError
		e.mu.Unlock()
		wants("long", performatives.CodeInternal, 5)
		wants("long", performatives.CodeInternal, 6) // a failure is not kept
		e.mu.Lock()
		e.status = 0
		e.mu.Unlock()
		wants("long", "", 7)
	})
}

// TestIntrospectionIsShared has many connections with one token ask at once. One question is sent,
// and it goes on when the connection that has sent it ends.
func TestIntrospectionIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{answers: map[string]string{"token": `{"active":true,"sub":"crm"}`}, hold: make(chan struct{})}
		a := introspects(t, e)
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan error, 10)
		ask := func(ctx context.Context) {
			_, err := a.Authenticate(ctx, wire.Credentials{Token: "token"})
			results <- err
		}
		go ask(ctx)
		synctest.Wait()
		impatient, leave := context.WithCancel(t.Context())
		go ask(impatient)
		for range 8 {
			go ask(t.Context())
		}
		synctest.Wait()
		leave()
		if err := <-results; !errors.Is(err, performatives.CodeInternal) || !errors.Is(err, wire.ErrClosed) {
			t.Errorf("the connection that has ended got %v", err)
		}
		cancel()
		synctest.Wait()
		close(e.hold)
		for range 9 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if n := e.count(); n != 1 {
			t.Errorf("%d questions", n)
		}
	})
}

// TestIntrospectionIsBounded presents more tokens than are kept, and more at once than are asked
// about.
func TestIntrospectionIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{hold: make(chan struct{})}
		a := introspects(t, e, func(o *IntrospectionOptions) { o.MaxCached = 8 })
		var asking sync.WaitGroup
		for i := range 100 {
			asking.Go(func() { _, _ = presents(t, a, fmt.Sprint("token", i)) })
		}
		synctest.Wait()
		if n := e.count(); n != maxQuestions {
			t.Errorf("%d questions at once", n)
		}
		close(e.hold)
		asking.Wait()
		i, ok := a.(*introspection)
		if !ok {
			t.Fatalf("got a %T", a)
		}
		if n := len(i.known); n > 8 || e.count() != 100 {
			t.Errorf("%d answers are kept after %d questions", n, e.count())
		}
		e.mu.Lock()
		e.hold = make(chan struct{})
		e.mu.Unlock()
		late := make(chan error, maxQuestions+1)
		for i := range maxQuestions + 1 {
			go func() {
				_, err := presents(t, a, fmt.Sprint("other", i))
				late <- err
			}()
		}
		if err := <-late; !errors.Is(err, performatives.CodeInternal) || !strings.Contains(err.Error(), "too many questions") {
			t.Errorf("got %v", err)
		}
		close(e.hold)
		for range maxQuestions {
			if err := <-late; err == nil {
				t.Error("an unknown token is accepted")
			}
		}
	})
}

// TestIntrospectionSendsTheTokenOnce has an endpoint redirect. The token is not sent elsewhere, and
// no error has it.
func TestIntrospectionSendsTheTokenOnce(t *testing.T) {
	for _, status := range []int{http.StatusTemporaryRedirect, http.StatusPermanentRedirect, http.StatusUnauthorized} {
		e := &endpoint{status: status}
		_, err := presents(t, introspects(t, e), "s3cret-token")
		if want := fmt.Sprint("the answer is ", status); !errors.Is(err, performatives.CodeInternal) || !strings.Contains(err.Error(), want) || e.count() != 1 {
			t.Errorf("got %v after %d questions, want %s", err, e.count(), want)
		}
		if strings.Contains(fmt.Sprintf("%+v", err), "cret") {
			t.Errorf("the error has a secret: %v", err)
		}
	}
}

// TestIntrospectionAfterJWT combines the two: a JWT is verified here, and any other token is asked
// about.
func TestIntrospectionAfterJWT(t *testing.T) {
	e := &endpoint{answers: map[string]string{"opaque": `{"active":true,"sub":"crm"}`}}
	signed, err := JWT(JWTOptions{Secret: Secret(strings.Repeat("k", minSecret))})
	if err != nil {
		t.Fatal(err)
	}
	both := Any(signed, introspects(t, e))
	if id, err := presents(t, both, "opaque"); err != nil || id.Name != "crm" {
		t.Errorf("got %+v, %v", id, err)
	}
	if _, err := presents(t, both, "eyJhbGciOiJIUzI1NiJ9.e30.x"); !errors.Is(err, performatives.CodeUnauthorized) || e.count() != 1 {
		t.Errorf("a JWT: got %v after %d questions", err, e.count())
	}
}

func TestIntrospectionOptions(t *testing.T) {
	valid := IntrospectionOptions{URL: "https://id.example.org/introspect", ClientID: "node", Secret: "s"}
	for _, tt := range []struct {
		cache, life, wantCache, wantLife time.Duration
		size, wantSize                   int
	}{{0, 0, 30 * time.Second, time.Hour, 0, 4096}, {1, 2, 1, 2, 3, 3}} {
		o := valid
		o.CacheTime, o.Lifetime, o.MaxCached = tt.cache, tt.life, tt.size
		if a, err := Introspection(o); err != nil || a.(*introspection).opts.CacheTime != tt.wantCache ||
			a.(*introspection).opts.Lifetime != tt.wantLife || a.(*introspection).opts.MaxCached != tt.wantSize {
			t.Errorf("%+v, %v", a, err)
		}
	}
	for want, alter := range map[string]func(*IntrospectionOptions){
		"URL: want https":              func(o *IntrospectionOptions) { o.URL = "http://id.example.org/" },
		"ClientID is empty":            func(o *IntrospectionOptions) { o.ClientID = "" },
		"one of Secret and SecretFile": func(o *IntrospectionOptions) { o.SecretFile = "file" },
		"is negative":                  func(o *IntrospectionOptions) { o.MaxCached = -1 },
		"or Lifetime is negative":      func(o *IntrospectionOptions) { o.Lifetime = -1 },
		"CacheTime, MaxCached or":      func(o *IntrospectionOptions) { o.CacheTime = -1 },
	} {
		o := valid
		alter(&o)
		if _, err := Introspection(o); err == nil || !strings.Contains(err.Error(), "auth: IntrospectionOptions") || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
