package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// guard knows one token, and the names of certificates.
type guard struct{}

func (guard) Authenticate(_ context.Context, c wire.Credentials) (wire.Identity, error) {
	switch {
	case c.Token == "secret":
		return wire.Identity{Name: "a", Method: "token"}, nil
	case strings.HasPrefix(c.Token, "?"): // of a form that it does not check
	case c.Token != "":
		return wire.Identity{}, &performatives.Refusal{Code: performatives.CodeUnauthorized, Text: "the token is not accepted"}
	case len(c.Certificates) > 0:
		return wire.Identity{Name: performatives.AgentID(c.Certificates[0].Subject.CommonName), Method: "mtls"}, nil
	}
	return wire.Identity{}, wire.ErrNoCredentials
}

// host is a server with its listener.
type host struct {
	wiretest.Recorder
	server *wire.Server
	addr   string // host:port
}

func serve(t testing.TB, o Options, change func(*wire.Options)) *host {
	t.Helper()
	h := &host{}
	w := wire.Options{Handler: &h.Recorder, Anonymous: true}
	if change != nil {
		change(&w)
	}
	var err error
	if h.server, err = wire.NewServer(w); err != nil {
		t.Fatal(err)
	}
	h.addr = listen(t, h.server, o).Addr().String()
	t.Cleanup(func() { stop(t, h.server.Stop) })
	return h
}

func guarded(o *wire.Options) { o.Anonymous, o.Auth = false, guard{} }

func stop(t testing.TB, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	if err := f(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// guest is a client with its session.
type guest struct {
	wiretest.Recorder
	*wire.Session
}

func connect(t testing.TB, target string, o DialOptions) (*guest, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	conn, err := Dial(ctx, target, o)
	if err != nil {
		return nil, err
	}
	g := &guest{}
	if g.Session, err = wire.Connect(conn, wire.Options{Handler: &g.Recorder, Limits: o.Limits}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, g.Session.Stop) })
	return g, nil
}

func mustConnect(t testing.TB, target string, o DialOptions) *guest {
	t.Helper()
	g, err := connect(t, target, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func send(t testing.TB, s *wire.Session, m *performatives.Message) {
	t.Helper()
	if err := s.Send(m); err != nil {
		t.Fatalf("send: %v", err)
	}
}

func TestToken(t *testing.T) {
	h := serve(t, Options{}, guarded)
	g := mustConnect(t, "grpc://"+h.addr, DialOptions{Token: "secret"})
	send(t, g.Session, wiretest.Message(t, "a", "b", "hello"))
	h.Await(t, 1)
	if id, ok := h.Session(t, 0).Identity(); !ok || id.Name != "a" || id.Method != "token" {
		t.Errorf("identity %+v", id)
	}
	send(t, g.Session, wiretest.Ask(t, "somebody-else", "b", "hello"))
	if r := g.Await(t, 1)[0].AsRefusal(); r == nil || r.Code != performatives.CodeForbidden {
		t.Errorf("a message in the name of another: %v", r)
	}
}

func TestWrongToken(t *testing.T) {
	h := serve(t, Options{}, guarded)
	for _, token := range []string{"sesame", "?sesame"} { // the second is of a form that nobody checks
		_, err := connect(t, "grpc://"+h.addr, DialOptions{Token: token})
		if !errors.Is(err, performatives.CodeUnauthorized) || !strings.Contains(err.Error(), "the token is not accepted") {
			t.Errorf("got %v", err)
		}
		if err != nil && strings.Contains(err.Error(), "sesame") {
			t.Errorf("the error tells the token: %v", err)
		}
	}
	if n := len(h.server.Sessions()); n > 0 {
		t.Errorf("%d sessions", n)
	}
}

// Whoever shows nothing as it connects can do so with each message.
func TestTokenInMessages(t *testing.T) {
	h := serve(t, Options{}, guarded)
	conn, err := Dial(t.Context(), "grpc://"+h.addr, DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	g := &guest{}
	token := "secret"
	g.Session, err = wire.Connect(conn, wire.Options{Handler: &g.Recorder, Token: func() string { return token }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, g.Session.Stop) })
	send(t, g.Session, wiretest.Message(t, "a", "b", "hello"))
	h.Await(t, 1)
}

func TestAuthorizationThatIsNone(t *testing.T) {
	h := serve(t, Options{}, guarded)
	cc, err := rpc.NewClient("passthrough:///"+h.addr, rpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cc.Close() }()
	for _, values := range [][]string{{"Basic YTpi"}, {"Bearer "}, {"Bearer secret", "Bearer secret"}} {
		ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
		ctx = metadata.NewOutgoingContext(ctx, metadata.MD{"authorization": values})
		s, err := cc.NewStream(ctx, &rpc.StreamDesc{ServerStreams: true, ClientStreams: true}, fullMethod)
		if err == nil {
			err = accepted(s)
		}
		if err = refusalOf(err); !errors.Is(err, performatives.CodeUnauthorized) {
			t.Errorf("%q: %v", values, err)
		}
		cancel()
	}
}

func TestTLS(t *testing.T) {
	a := newAuthority(t)
	h := serve(t, Options{TLS: &tls.Config{Certificates: []tls.Certificate{a.issue(t, "server")}}}, nil)
	g := mustConnect(t, "grpcs://"+h.addr, DialOptions{TLS: &tls.Config{RootCAs: a.pool}})
	send(t, g.Session, wiretest.Message(t, "a", "b", "hello"))
	h.Await(t, 1)
	if p := h.Session(t, 0).Peer(); !p.TLS || p.Transport != "grpc" || p.Path != fullMethod || p.Addr == "" {
		t.Errorf("the server's peer is %+v", p)
	}
	if p := g.Peer(); !p.TLS || p.Addr != h.addr {
		t.Errorf("the client's peer is %+v", p)
	}
	for name, o := range map[string]DialOptions{
		"unknown authority": {},
		"old version":       {TLS: &tls.Config{RootCAs: a.pool, MaxVersion: tls.VersionTLS11}},
		"wrong name":        {TLS: &tls.Config{RootCAs: a.pool, ServerName: "example.org"}},
	} {
		if _, err := connect(t, "grpcs://"+h.addr, o); err == nil {
			t.Errorf("%s: connected", name)
		}
	}
	if _, err := connect(t, "grpc://"+h.addr, DialOptions{}); err == nil {
		t.Error("connected in the clear")
	}
}

// A server whose configuration allows less than TLS 1.2 or weak ciphers is not given them.
func TestOldTLS(t *testing.T) {
	a := newAuthority(t)
	h := serve(t, Options{TLS: &tls.Config{Certificates: []tls.Certificate{a.issue(t, "server")}, MinVersion: tls.VersionTLS10}}, nil)
	c, err := tls.Dial("tcp", h.addr, &tls.Config{RootCAs: a.pool, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10, NextProtos: []string{"h2"}})
	if err == nil {
		_ = c.Close()
		t.Error("TLS 1.1 is spoken")
	}
	c, err = tls.Dial("tcp", h.addr, &tls.Config{
		RootCAs: a.pool, MaxVersion: tls.VersionTLS12, NextProtos: []string{"h2"}, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA},
	})
	if err == nil {
		_ = c.Close()
		t.Error("a weak cipher is taken")
	}
}

func TestMutualTLS(t *testing.T) {
	a := newAuthority(t)
	h := serve(t, Options{TLS: &tls.Config{
		Certificates: []tls.Certificate{a.issue(t, "server")}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: a.pool,
	}}, guarded)
	own := func(issuer *authority) DialOptions {
		return DialOptions{TLS: &tls.Config{RootCAs: a.pool, Certificates: []tls.Certificate{issuer.issue(t, "Jules")}}}
	}
	g := mustConnect(t, "grpcs://"+h.addr, own(a))
	send(t, g.Session, wiretest.Message(t, "Jules", "b", "hello"))
	h.Await(t, 1)
	if id, _ := h.Session(t, 0).Identity(); id.Name != "Jules" || id.Method != "mtls" {
		t.Errorf("identity %+v", id)
	}
	stranger := own(a)
	stranger.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		c := newAuthority(t).issue(t, "Jules")
		return &c, nil
	}
	if _, err := connect(t, "grpcs://"+h.addr, stranger); err == nil {
		t.Error("a certificate of another authority is accepted")
	}
}

func TestDialSaysWhatIsWrong(t *testing.T) {
	for target, want := range map[string]string{
		"127.0.0.1:1":               "grpc://host:port",
		"tcp://127.0.0.1:1":         "want grpc://host:port",
		"grpc://127.0.0.1":          "want grpc://host:port",
		"grpc://127.0.0.1:1/path":   "want grpc://host:port",
		"grpc://u:secret@host:1":    "want grpc://host:port",
		"grpc://127.0.0.1:1?x=y":    "want grpc://host:port",
		"grpc://127.0.0.1:1":        "127.0.0.1:1",
		"grpcs://127.0.0.1:1/":      "127.0.0.1:1",
		"grpc://[::1]:1/with/a/way": "want grpc://host:port",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
		_, err := Dial(ctx, target, DialOptions{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", target, err)
		}
		cancel()
	}
	if _, err := Dial(t.Context(), "grpc://127.0.0.1:1", DialOptions{TLS: &tls.Config{}}); err == nil || !strings.Contains(err.Error(), "want grpcs://") {
		t.Errorf("TLS in the clear: %v", err)
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	h := serve(t, Options{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Dial(ctx, "grpc://"+h.addr, DialOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	conn, err := Dial(ctx, "grpc://"+h.addr, DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	cancel() // which is too late to end the connection
	if err := conn.Write([]wire.Frame{{Kind: wire.KindPing}}); err != nil {
		t.Error(err)
	}
	pong := make(chan wire.Frame, 1)
	go func() { _, _ = conn.Read(func(f wire.Frame) { pong <- f }) }()
	select {
	case f := <-pong:
		if f.Kind != wire.KindPong {
			t.Errorf("got %+v", f)
		}
	case <-time.After(patience.Time):
		t.Error("no pong")
	}
}

// A server that accepts and says nothing is not waited for.
func TestDialGivesUp(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // whose backlog takes connections
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	_, err = Dial(t.Context(), "grpc://"+silent.Addr().String(), DialOptions{Limits: wire.Limits{FrameTime: 20 * time.Millisecond}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// neverSure is an authenticator that waits as long as it may.
type neverSure struct{}

func (neverSure) Authenticate(ctx context.Context, _ wire.Credentials) (wire.Identity, error) {
	<-ctx.Done()
	return wire.Identity{}, ctx.Err()
}

func TestSlowAuthentication(t *testing.T) {
	h := serve(t, Options{}, func(o *wire.Options) { o.Anonymous, o.Auth, o.AuthTime = false, neverSure{}, time.Second })
	if _, err := connect(t, "grpc://"+h.addr, DialOptions{}); !errors.Is(err, performatives.CodeUnauthorized) {
		t.Errorf("got %v", err)
	}
}

// A connection on which nobody calls has the time that anybody has to authenticate.
func TestIdleConnection(t *testing.T) {
	h := serve(t, Options{}, func(o *wire.Options) { o.AuthTime = time.Second })
	awaitIdleEnd(t, dialPlain(t, h.addr))
}

// How calls end that are turned down.
func TestAdmission(t *testing.T) {
	h := serve(t, Options{}, func(o *wire.Options) { o.AcceptRate = wire.Rate{Messages: 1, Window: time.Hour} })
	mustConnect(t, "grpc://"+h.addr, DialOptions{})
	if _, err := connect(t, "grpc://"+h.addr, DialOptions{}); !errors.Is(err, performatives.CodeRateLimited) {
		t.Errorf("got %v", err)
	}
}

func TestListenSaysWhatIsWrong(t *testing.T) {
	server, err := wire.NewServer(wire.Options{Handler: &wiretest.Recorder{}, Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]Options{
		"Options.MaxStreams is -1":       {Addr: "127.0.0.1:0", MaxStreams: -1},
		"Options.Addr is empty":          {},
		"Options.TLS has no certificate": {Addr: "127.0.0.1:0", TLS: &tls.Config{}},
		"missing port":                   {Addr: "nowhere"},
	} {
		if _, err := Listen(server, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := Listen(nil, Options{Addr: "127.0.0.1:0"}); err == nil {
		t.Error("listens for nobody")
	}
}
