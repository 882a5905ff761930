// Package conformance runs one suite of tests on each transport: all that sessions rely on.
package conformance

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/grpc"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
	"github.com/ribosome-agents/ribosome/wire/ws"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// stopAtEnd stops a listener at the end of the test.
func stopAtEnd(t testing.TB, stop func(context.Context) error) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
		defer cancel()
		if err := stop(ctx); err != nil {
			t.Errorf("the listener did not stop: %v", err)
		}
	})
}

func TestPipe(t *testing.T) {
	var server *wire.Server
	run(t, transport{
		listen: func(_ testing.TB, s *wire.Server) string {
			server = s
			return "pipe"
		},
		dial: func(_ context.Context, _ string, _ wire.Limits) (wire.Conn, error) {
			near, far := wiretest.Pipe()
			at := server
			if err := at.Admit(far.Peer()); err != nil {
				return nil, err
			}
			go func() { _ = at.Serve(far, nil) }()
			return near, nil
		},
	})
}

func TestTCP(t *testing.T) {
	server, client := certificates()
	versioned := overTCP("", tcp.Options{}, tcp.DialOptions{Versioned: true})
	versioned.noCloseFrame = true
	for name, tr := range map[string]transport{
		"plain":     overTCP("tcp://", tcp.Options{}, tcp.DialOptions{}),
		"versioned": versioned,
		"TLS":       overTCP("tcps://", tcp.Options{TLS: server}, tcp.DialOptions{TLS: client}),
	} {
		t.Run(name, func(t *testing.T) { run(t, tr) })
	}
}

func overTCP(scheme string, o tcp.Options, d tcp.DialOptions) transport {
	return transport{
		listen: func(t testing.TB, s *wire.Server) string {
			o.Addr = "127.0.0.1:0"
			l, err := tcp.Listen(s, o)
			if err != nil {
				t.Fatal(err)
			}
			stopAtEnd(t, l.Stop)
			return scheme + l.Addr().String()
		},
		dial: func(ctx context.Context, addr string, l wire.Limits) (wire.Conn, error) {
			d.Limits = l
			return tcp.Dial(ctx, addr, d)
		},
	}
}

// certificates returns the configurations of a server and of a client that trusts it.
func certificates() (server, client *tls.Config) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return &tls.Config{Certificates: s.TLS.Certificates}, s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
}

func TestWS(t *testing.T) {
	for name, compress := range map[string]bool{"plain": false, "compressed": true} {
		t.Run(name, func(t *testing.T) {
			run(t, transport{
				listen: func(t testing.TB, server *wire.Server) string {
					l, err := ws.Listen(server, ws.Options{Addr: "127.0.0.1:0", Compression: compress, LateAuth: true})
					if err != nil {
						t.Fatal(err)
					}
					stopAtEnd(t, l.Stop)
					return l.URL()
				},
				dial: func(ctx context.Context, url string, l wire.Limits) (wire.Conn, error) {
					return ws.Dial(ctx, url, ws.DialOptions{Compression: compress, Limits: l})
				},
			})
		})
	}
}

func TestGRPC(t *testing.T) {
	run(t, transport{
		listen: func(t testing.TB, server *wire.Server) string {
			l, err := grpc.Listen(server, grpc.Options{Addr: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			stopAtEnd(t, l.Stop)
			return "grpc://" + l.Addr().String()
		},
		dial: func(ctx context.Context, addr string, l wire.Limits) (wire.Conn, error) {
			return grpc.Dial(ctx, addr, grpc.DialOptions{Limits: l})
		},
	})
}
