package bridge

import (
	"bytes"
	"fmt"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// keep returns a function that collects members in out, with copies of their values. When the
// object has too many, it sets over.
func keep(out *performatives.Members, over *bool) func(name string, v []byte) {
	return func(name string, v []byte) {
		if *out == nil {
			*out = make(performatives.Members)
		}
		if len(*out) >= exchange.MaxUnknown {
			*over = true
			return
		}
		(*out)[name] = bytes.Clone(v)
	}
}

// content writes a member that may be JSON already.
func writeContent(b *jsonscan.Builder, name string, c performatives.Content) {
	v, err := c.MarshalJSON()
	if err != nil {
		b.Fail(fmt.Errorf("%s: %w", name, err))
	}
	b.Checked(name, v)
}
