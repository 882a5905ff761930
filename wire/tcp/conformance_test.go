package tcp_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// transport adapts the package to the conformance suite.
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
	tr.NoCloseFrame = true
	wiretest.Run(t, tr)
}

func TestConformanceTLS(t *testing.T) {
	pki := newPKI(t)
	wiretest.Run(t, transport("tcps://", tcp.Options{TLS: pki.server()}, tcp.DialOptions{TLS: pki.client()}))
}
