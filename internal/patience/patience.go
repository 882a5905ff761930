// Package patience says how long a test waits for what happens at once when all is well.
package patience

import (
	"context"
	"testing"
	"time"
)

// Time is that long. It passes on no machine that is merely busy.
const Time = time.Minute

// Context returns the context of a test with that deadline.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Time)
	t.Cleanup(cancel)
	return ctx
}
