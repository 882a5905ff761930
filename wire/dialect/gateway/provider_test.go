package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// A source is not asked for its tools if its introduction is refused, or too many are asked.
func TestProvidersAreBounded(t *testing.T) {
	c := open(t, Options{}, wire.CodecOptions{MaxPending: 2 * maxProviders})
	asked := func(source int, refuse bool) (asked int) {
		c.Decode(fmt.Appendf(nil, `{"id":"m","timestamp":"2024-01-15T10:30:45.123Z","source":"s%d","mcp_payload":{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"1.1","capabilities":{"tools":true}},"id":%d}}`, source, source), func(in wire.Inbound) {
			if strings.Contains(string(in.Answer), "tools/list") {
				asked++
			}
			if refuse {
				c.Refuse(nil, in, performatives.CodeBusy)
			}
		})
		return asked
	}
	for i := range maxProviders {
		if asked(i, true) != 0 || asked(i, false) != 1 {
			t.Fatalf("source %d is asked after it was refused, or is not asked", i)
		}
	}
	if asked(maxProviders, false) != 0 {
		t.Error("one too many is asked")
	}
	if asked(0, false) != 1 {
		t.Error("one that introduces itself again is not asked")
	}
}
