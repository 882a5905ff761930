package program

import (
	"io"
	"sync"
)

// Output is an output for several goroutines. It keeps the first error, and discards what is
// written after it.
type Output struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

// NewOutput returns the output to w.
func NewOutput(w io.Writer) *Output { return &Output{w: w} }

// Write implements [io.Writer]. Its callers may ignore the error, which Err returns too.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		_, o.err = o.w.Write(p)
	}
	return len(p), o.err
}

// Fail makes err the first error, if there is none yet.
func (o *Output) Fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
}

// Err returns the first error.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
