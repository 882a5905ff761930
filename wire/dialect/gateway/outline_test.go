package gateway

import (
	"reflect"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The outline of a query has its payload, without which there is no such message.
func TestOutlineOfQuery(t *testing.T) {
	for _, payload := range []acting{performatives.QueryIf{Condition: performatives.ContentOf("ready")}, performatives.QueryRef{Reference: "version"}} {
		m := ask(t, 1, payload)
		stub := exchange.Outline(m)
		if !reflect.DeepEqual(stub.Payload(), m.Payload()) || stub.ID() != m.ID() {
			t.Errorf("%s: %+v", payload.Act(), stub.Envelope())
		}
	}
}
