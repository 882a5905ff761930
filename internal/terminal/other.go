//go:build !unix

package terminal

import (
	"context"
	"os"
)

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// unread waits until ctx ends: here only a write finds out that there is no reader.
func unread(ctx context.Context, _ *os.File) bool {
	<-ctx.Done()
	return false
}
