package grpc

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/wire"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// listen takes streams for a server until the test ends.
func listen(t testing.TB, server *wire.Server, o Options) *Listener {
	t.Helper()
	o.Addr = "127.0.0.1:0"
	l, err := Listen(server, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
		defer cancel()
		if err := l.Stop(ctx); err != nil {
			t.Errorf("the listener did not stop: %v", err)
		}
	})
	return l
}
