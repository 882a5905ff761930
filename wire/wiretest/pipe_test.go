package wiretest_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// The suite passes for an in-memory transport.
func TestPipe(t *testing.T) {
	var server *wire.Server
	wiretest.Run(t, wiretest.Transport{
		Listen: func(_ testing.TB, s *wire.Server) string {
			server = s
			return "pipe"
		},
		Dial: func(_ context.Context, _ string, _ wire.Limits) (wire.Conn, error) {
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
