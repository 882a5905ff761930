package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
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

// A source that has tools, and refuses to list them, stays as it is: the system is told nothing.
func TestProviderWithoutAList(t *testing.T) {
	for _, answer := range []string{`"mcp_payload":{"jsonrpc":"2.0","id":1,"error":{"code":-32603}}`, `"error":{"code":"INTERNAL_ERROR"},"correlation_id":%q`} {
		c := open(t, Options{}, wire.CodecOptions{})
		var request []byte
		c.Decode([]byte(`{"id":"m","timestamp":"2024-01-15T10:30:45.123Z","source":"s","mcp_payload":{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"1.1","capabilities":{"tools":true}},"id":1}}`), func(in wire.Inbound) {
			request = append(request, in.Answer...)
		})
		if strings.Contains(answer, "%") {
			answer = fmt.Sprintf(answer, jsonscan.Text(jsonscan.Member(request, "id")))
		}
		in := one(t, c, `{"id":null,"timestamp":"2024-01-15T10:30:45.123Z","source":"s",`+answer+`}`)
		if in.Message != nil || in.Err != nil || c.requests.Len() != 0 || len(request) == 0 {
			t.Errorf("after %s: %+v, %d requests", answer, in, c.requests.Len())
		}
	}
}
