package wire_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// A peer learns nothing of an error except its refusal.
func TestErrorObjectOf(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want wire.ErrorObject
	}{
		"a refusal":   {&performatives.Refusal{Code: performatives.CodeForbidden, Text: "not you"}, wire.ErrorObject{Code: "FORBIDDEN", Message: "not you"}},
		"full":        {fmt.Errorf("accept: %w", wire.ErrTooMany), wire.ErrorObject{Code: "SERVICE_UNAVAILABLE", Message: "too many connections"}},
		"full of one": {wire.ErrTooManyOfHost, wire.ErrorObject{Code: "SERVICE_UNAVAILABLE", Message: "too many connections from the same host"}},
		"stopping":    {wire.ErrClosed, wire.ErrorObject{Code: "SERVICE_UNAVAILABLE", Message: "the server is stopping"}},
		"another one": {errors.New("/etc/secret: no such file"), wire.ErrorObject{Code: "INTERNAL_ERROR", Message: "the agent failed"}},
	} {
		if got := wire.ErrorObjectOf(tt.err); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
