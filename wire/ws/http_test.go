package ws

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// tokenAuth accepts the token secret and fails internally for another.
type tokenAuth struct{}

func (tokenAuth) Authenticate(_ context.Context, c wire.Credentials) (wire.Identity, error) {
	switch {
	case c.Token == "secret":
		return wire.Identity{Name: "a", Method: "test"}, nil
	case c.Token == "foreign": // it may be of another authenticator
		return wire.Identity{}, wire.ErrNoCredentials
	case c.Token == "broken":
		return wire.Identity{}, &performatives.Refusal{Code: performatives.CodeInternal}
	case c.Token != "":
		return wire.Identity{}, &performatives.Refusal{Code: performatives.CodeUnauthorized, Text: "the token is wrong"}
	case len(c.Certificates) > 0:
		return wire.Identity{Name: performatives.AgentID(c.Certificates[0].Subject.CommonName), Method: "mtls"}, nil
	}
	return wire.Identity{}, wire.ErrNoCredentials
}

// guarded turns authentication on.
func guarded(o *wire.Options) { o.Anonymous, o.Auth = false, tokenAuth{} }

// upgrade returns a request that a guarded server accepts, after change.
func upgrade(change func(*http.Request)) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://example.com/mcp", nil)
	for name, value := range map[string]string{
		"Connection": "keep-alive, Upgrade", "Upgrade": "WebSocket", "Sec-WebSocket-Version": "13",
		"Sec-WebSocket-Key": "x3JJHMbDL1EzLkh9GBhXDw==", "Authorization": "Bearer secret",
	} {
		r.Header.Set(name, value)
	}
	if change != nil {
		change(r)
	}
	return r
}

func set(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func del(name string) func(*http.Request) { return func(r *http.Request) { r.Header.Del(name) } }

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*http.Request)
		status int
		code   string
		header [2]string
		says   string
	}{
		{"another path", func(r *http.Request) { r.URL.Path = "/mcp/x" }, 404, "NOT_FOUND", [2]string{}, "path"},
		{"another method", func(r *http.Request) { r.Method = http.MethodPost }, 405, "INVALID_REQUEST", [2]string{"Allow", "GET"}, "GET"},
		{"no upgrade", del("Upgrade"), 426, "INVALID_REQUEST", [2]string{"Upgrade", "websocket"}, "upgrade"},
		{"another upgrade", set("Upgrade", "h2c"), 426, "INVALID_REQUEST", [2]string{"Upgrade", "websocket"}, "upgrade"},
		{"no connection header", del("Connection"), 426, "INVALID_REQUEST", [2]string{"Connection", "Upgrade"}, "upgrade"},
		{"an old version", set("Sec-WebSocket-Version", "8"), 426, "INVALID_REQUEST", [2]string{"Sec-WebSocket-Version", "13"}, "13"},
		{"HTTP/1.0", func(r *http.Request) { r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.0", 1, 0 }, 505, "INVALID_REQUEST", [2]string{}, "HTTP/1.1"},
		{"no key", del("Sec-WebSocket-Key"), 400, "INVALID_REQUEST", [2]string{}, "Sec-WebSocket-Key"},
		{"a short key", set("Sec-WebSocket-Key", "eA=="), 400, "INVALID_REQUEST", [2]string{}, "Sec-WebSocket-Key"},
		{"another origin", set("Origin", "http://evil.example"), 403, "FORBIDDEN", [2]string{}, "origin"},
		{"no credentials", del("Authorization"), 401, "UNAUTHORIZED", [2]string{"WWW-Authenticate", "Bearer"}, "credentials"},
		{"an empty token", set("Authorization", "Bearer"), 401, "UNAUTHORIZED", [2]string{"WWW-Authenticate", "Bearer"}, "credentials"},
		{"a bad token", set("Authorization", "Bearer nonsense"), 401, "UNAUTHORIZED", [2]string{"WWW-Authenticate", "Bearer"}, "the token is wrong"},
		{"an unknown token", set("Authorization", "Bearer foreign"), 401, "UNAUTHORIZED", [2]string{"WWW-Authenticate", "Bearer"}, "the token is not accepted"},
		{"the path of another agent", func(r *http.Request) { r.URL.Path = "/agents/b" }, 403, "FORBIDDEN", [2]string{}, "the token is not that of the agent of the path"},
		{"its own path", func(r *http.Request) { r.URL.Path = "/agents/A" }, 500, "INTERNAL_ERROR", [2]string{}, ""}, // as below
		{"no token for the path of an agent", func(r *http.Request) { r.URL.Path = "/agents/b"; r.Header.Del("Authorization") }, 401, "UNAUTHORIZED", [2]string{}, "credentials are required"},
		{"a post", func(r *http.Request) { r.URL.Path = RequestPath }, 404, "NOT_FOUND", [2]string{}, "path"},
		{"our own fault", set("Authorization", "broken"), 500, "INTERNAL_ERROR", [2]string{}, ""},
		{"no hijacking", nil, 500, "INTERNAL_ERROR", [2]string{}, ""}, // httptest's recorder does not support it
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &host{}
			so := h.serverOptions(t)
			guarded(&so)
			server, err := wire.NewServer(so)
			if err != nil {
				t.Fatal(err)
			}
			wantAnswer(t, Handler(server, Options{AgentPath: "/agents/"}), upgrade(c.change), c.status, c.code, c.header, c.says)
		})
	}
}

func wantAnswer(t *testing.T, h http.Handler, r *http.Request, status int, code string, header [2]string, says string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var o wire.ErrorObject
	if err := json.Unmarshal(w.Body.Bytes(), &o); err != nil {
		t.Fatalf("the body %q: %v", w.Body, err)
	}
	if w.Code != status || o.Code != code || !strings.Contains(o.Message, says) || o.Message == "" {
		t.Errorf("%d %+v; want %d %s and %q", w.Code, o, status, code, says)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("the answer is of type %q", got)
	}
	if header[0] != "" && w.Header().Get(header[0]) != header[1] {
		t.Errorf("%s is %q, want %q", header[0], w.Header().Get(header[0]), header[1])
	}
	if s := w.Body.String(); strings.Contains(s, "secret") || strings.Contains(s, "nonsense") {
		t.Errorf("the answer contains the token: %s", s)
	}
}

func TestUnavailable(t *testing.T) {
	newServer := func(change func(*wire.Options)) *wire.Server {
		so := new(host).serverOptions(t)
		change(&so)
		server, err := wire.NewServer(so)
		if err != nil {
			t.Fatal(err)
		}
		return server
	}
	t.Run("stopped", func(t *testing.T) {
		server := newServer(func(*wire.Options) {})
		if err := server.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantAnswer(t, Handler(server, Options{}), upgrade(nil), 503, "SERVICE_UNAVAILABLE", [2]string{}, "stopping")
	})
	t.Run("crowded", func(t *testing.T) {
		h := func(w http.ResponseWriter, _ *http.Request) { writeError(w, unavailable(wire.ErrTooManyOfHost)) }
		wantAnswer(t, http.HandlerFunc(h), upgrade(nil), 503, "SERVICE_UNAVAILABLE", [2]string{}, "from the same host")
	})
	t.Run("too fast", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			testTooFast(t, newServer(func(o *wire.Options) { o.AcceptRate = wire.Rate{Messages: 1, Window: time.Minute} }))
		})
	})
}

// testTooFast checks the answer to a connection that is one too many for a rate of one in a minute.
func testTooFast(t *testing.T, server *wire.Server) {
	t.Helper()
	h := Handler(server, Options{})
	h.ServeHTTP(httptest.NewRecorder(), upgrade(nil))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, upgrade(nil))
	var o wire.ErrorObject
	if err := json.Unmarshal(w.Body.Bytes(), &o); err != nil {
		t.Fatal(err)
	}
	want := wire.ErrorDetails{Limit: 1, Window: "1m", RetryAfter: 60}
	if w.Code != 429 || o.Code != "RATE_LIMIT_EXCEEDED" || o.Details == nil || *o.Details != want || w.Header().Get("Retry-After") != "60" {
		t.Errorf("%d %+v %+v, Retry-After %q", w.Code, o, o.Details, w.Header().Get("Retry-After"))
	}
}

func TestOrigins(t *testing.T) {
	for _, c := range []struct {
		allowed []string
		origin  string
		want    bool
	}{
		{nil, "http://example.com", true},
		{nil, "https://EXAMPLE.com", true},
		{nil, "http://example.com:81", false},
		{nil, "http://example.com.evil", false},
		{nil, "null", false},
		{nil, "%", false},
		{[]string{"*"}, "http://evil.example", true},
		{[]string{"https://app.example"}, "https://App.example", true},
		{[]string{"https://app.example"}, "http://app.example", false},
		{[]string{"https://app.example"}, "http://example.com", false},
		{[]string{"https://app.example", "null"}, "null", true},
	} {
		if got := (Options{Origins: c.allowed}).allowsOrigin(c.origin, "example.com"); got != c.want {
			t.Errorf("origins %v allow %s: %v", c.allowed, c.origin, got)
		}
	}
}

// RefusedError holds the status, the refusal and the pause of the server's answer.
func TestRefusedError(t *testing.T) {
	h := start(t, Options{}, func(o *wire.Options) {
		guarded(o)
		o.AcceptRate = wire.Rate{Messages: 2, Window: time.Hour}
	})
	_, err := Dial(t.Context(), h.URL(), DialOptions{Token: "hush"})
	wantRefused(t, err, 401, performatives.CodeUnauthorized, "the token is wrong")
	_, err = Dial(t.Context(), strings.Replace(h.URL(), "/mcp", "/else", 1), DialOptions{})
	wantRefused(t, err, 404, performatives.CodeUnknownAgent, "path")
	g := dialSession(t, h.URL(), DialOptions{Token: "secret"})
	g.request(t, "hello", 1)
	_, err = Dial(t.Context(), h.URL(), DialOptions{Token: "secret"})
	wantRefused(t, err, 429, performatives.CodeRateLimited, "rate")
	var r *RefusedError
	if !errors.As(err, &r) || r.RetryAfter <= 0 || r.RetryAfter > time.Hour {
		t.Errorf("RetryAfter is %v", r.RetryAfter)
	}
}

// A listener answers an upgrade 503 while the server is full.
func TestFullListener(t *testing.T) {
	h := start(t, Options{}, func(o *wire.Options) { o.MaxConnections = 1 })
	g := dialSession(t, h.URL(), DialOptions{})
	g.request(t, "hello", 1)
	_, err := Dial(t.Context(), h.URL(), DialOptions{})
	wantRefused(t, err, 503, performatives.CodeBusy, "too many connections")
}

// A connection beyond the bound on connections without a session gets 503 with a Retry-After.
// Connections beyond the spare ones take the place of the oldest of these.
func TestTooManyHandshakes(t *testing.T) {
	h := start(t, Options{}, func(o *wire.Options) { o.MaxConnections = 1 })
	first := dialRaw(t, h)
	awaitHandshakes(t, h, 1)
	for range 3 {
		_, err := Dial(t.Context(), h.URL(), DialOptions{})
		wantRefused(t, err, 503, performatives.CodeBusy, "without a session")
		var r *RefusedError
		if !errors.As(err, &r) || r.RetryAfter != time.Second {
			t.Errorf("RetryAfter is %v", r.RetryAfter)
		}
		awaitHandshakes(t, h, 1) // the HTTP server closes a refused connection after its client
	}
	oldest := dialRaw(t, h)
	awaitHandshakes(t, h, 2)
	for i := range sockets.Spare - 1 {
		dialRaw(t, h)
		awaitHandshakes(t, h, i+3)
	}
	dialRaw(t, h)
	if got, err := oldest.r.ReadByte(); err == nil {
		t.Errorf("the oldest connection reads %q", got)
	}
	awaitHandshakes(t, h, 1+sockets.Spare)
	_ = first.Close()
	awaitHandshakes(t, h, sockets.Spare)
}

// A connection by TLS beyond the bound gets 503, too.
func TestTooManyHandshakesByTLS(t *testing.T) {
	ca := newAuthority(t)
	h := start(t, Options{TLS: ca.server(t)}, func(o *wire.Options) { o.MaxConnections = 1 })
	dialRaw(t, h)
	awaitHandshakes(t, h, 1)
	_, err := Dial(t.Context(), h.URL(), DialOptions{TLS: &tls.Config{RootCAs: ca.pool()}})
	wantRefused(t, err, 503, performatives.CodeBusy, "without a session")
}

// The listener accepts sessions again when connections without a session have ended.
func TestHandshakesEnd(t *testing.T) {
	h := start(t, Options{}, func(o *wire.Options) { o.MaxConnections = 1 })
	first := dialRaw(t, h)
	awaitHandshakes(t, h, 1)
	_ = first.Close()
	awaitHandshakes(t, h, 0)
	dialSession(t, h.URL(), DialOptions{}).request(t, "hello", 1)
}

// awaitHandshakes waits until the listener has n connections without a session.
func awaitHandshakes(t *testing.T, h *host, n int) {
	t.Helper()
	for until := time.Now().Add(patience.Time); h.handshakes.Open() != n; goruntime.Gosched() {
		if time.Now().After(until) {
			t.Fatalf("there are %d connections without a session, want %d", h.handshakes.Open(), n)
		}
	}
}

// The answer to an offer of permessage-deflate is an extension that the client can use, or none
// (RFC 7692 §5 and §7.1).
func TestOffers(t *testing.T) {
	const agreed = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
	h := start(t, Options{Compression: true}, nil)
	for offer, want := range map[string]string{
		"permessage-deflate":                                                         agreed,
		"Permessage-Deflate":                                                         "",
		"permessage-deflate; client_max_window_bits":                                 agreed,
		"permessage-deflate; client_max_window_bits=10":                              agreed,
		`permessage-deflate; client_max_window_bits="10"`:                            agreed,
		"permessage-deflate; server_no_context_takeover":                             agreed,
		"permessage-deflate; server_max_window_bits=10":                              "",
		"permessage-deflate; server_max_window_bits=15":                              "",
		"permessage-deflate; server_max_window_bits=10, permessage-deflate":          agreed,
		"permessage-deflate; client_max_window_bits=7":                               "",
		"permessage-deflate; client_max_window_bits=08":                              "",
		"permessage-deflate; client_max_window_bits=16":                              "",
		"permessage-deflate; server_no_context_takeover=1":                           "",
		"permessage-deflate; client_max_window_bits; client_max_window_bits":         "",
		"permessage-deflate; mystery":                                                "",
		"x-webkit-deflate-frame":                                                     "",
		"x-webkit-deflate-frame, permessage-deflate; client_max_window_bits; oddity": "",
	} {
		s := dialRaw(t, h)
		s.send(t, []byte(strings.Replace(handshake, "permessage-deflate", offer, 1)))
		r, err := http.ReadResponse(s.r, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if got := r.Header.Get("Sec-Websocket-Extensions"); r.StatusCode != http.StatusSwitchingProtocols || got != want {
			t.Errorf("the offer %q is answered %d and %q, want %q", offer, r.StatusCode, got, want)
		}
		_ = s.Close()
	}
}

// The sub-protocol of MCP is agreed to, and no other.
func TestSubprotocols(t *testing.T) {
	h := start(t, Options{}, nil)
	for offer, want := range map[string]string{"mcp": "mcp", "chat, mcp": "mcp", "chat": "", "": ""} {
		s := dialRaw(t, h)
		s.send(t, []byte(strings.Replace(handshake, "Sec-WebSocket-Extensions: permessage-deflate", "Sec-WebSocket-Protocol: "+offer, 1)))
		r, err := http.ReadResponse(s.r, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if got := r.Header.Get("Sec-Websocket-Protocol"); r.StatusCode != http.StatusSwitchingProtocols || got != want {
			t.Errorf("the offer %q is answered %d and %q, want %q", offer, r.StatusCode, got, want)
		}
		_ = s.Close()
	}
}

func wantRefused(t *testing.T, err error, status int, code performatives.Code, says string) {
	t.Helper()
	var r *RefusedError
	if !errors.As(err, &r) {
		t.Fatalf("the error is %v", err)
	}
	if r.Status != status || !errors.Is(err, code) && wire.ErrorCodes.Of(r.Refusal.Code) != wire.ErrorCodes.Of(code) || !strings.Contains(err.Error(), says) {
		t.Errorf("%v (%v); want status %d, %s and %q", err, r.Refusal, status, code, says)
	}
	var refusal *performatives.Refusal
	if !errors.As(err, &refusal) {
		t.Error("the error wraps no refusal")
	}
	if strings.Contains(err.Error(), "hush") {
		t.Error("the error contains the token")
	}
}

// Dial returns a short error for every answer of an unknown server.
func TestMalformedAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"text": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "go away", http.StatusTeapot) }, "418"},
		"fine": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }, "200"},
		"long": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502); _, _ = w.Write(make([]byte, 1<<20)) }, "502"},
		"long text": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"code":"FORBIDDEN","message":"` + strings.Repeat("\u009b", 500)))
		}, "200"},
		"endless header": {func(w http.ResponseWriter, _ *http.Request) {
			for range 2000 {
				w.Header().Add("X", strings.Repeat("x", 100))
			}
		}, "too long"},
		"no HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			network, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = network.Write([]byte("HTTP/1.1 200 OK\r\n" + strings.Repeat("x", 9000) + "\r\n\r\n"))
			_ = network.Close()
		}, "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.answer)
			defer server.Close()
			conn, err := Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), DialOptions{})
			if conn != nil || err == nil || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 400 {
				t.Errorf("Dial returns %v and %v", conn, err)
			}
		})
	}
}
