package tcp_test

import (
	"context"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// patience is how long a test waits for something that should happen before it fails.
const patience = 20 * time.Second

// listen begins to listen for a server and stops when the test ends.
func listen(t testing.TB, s *wire.Server, o tcp.Options) *tcp.Listener {
	t.Helper()
	o.Addr = "127.0.0.1:0"
	l, err := tcp.Listen(s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, l.Stop) })
	return l
}

// stop calls a Stop that should not take long.
func stop(t testing.TB, fn func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := fn(ctx); err != nil {
		t.Error(err)
	}
}

// transport is the package as the conformance suite sees it.
func transport(scheme string, o tcp.Options, d tcp.DialOptions) wiretest.Transport {
	return wiretest.Transport{
		Listen: func(t testing.TB, s *wire.Server) string { return scheme + listen(t, s, o).Addr().String() },
		Dial: func(ctx context.Context, addr string, l wire.Limits) (wire.Conn, error) {
			d.Limits = l
			return tcp.Dial(ctx, addr, d)
		},
	}
}

func TestConformance(t *testing.T) {
	wiretest.Run(t, transport("tcp://", tcp.Options{}, tcp.DialOptions{}))
}

func TestConformanceVersioned(t *testing.T) {
	tr := transport("", tcp.Options{}, tcp.DialOptions{Versioned: true})
	tr.Wordless = true
	wiretest.Run(t, tr)
}

func TestConformanceTLS(t *testing.T) {
	pki := newPKI(t)
	wiretest.Run(t, transport("tcps://", tcp.Options{TLS: pki.server()}, tcp.DialOptions{TLS: pki.client()}))
}
