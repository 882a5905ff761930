package program

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
)

// Output is an output for several goroutines. It keeps the first error, and discards all
// output after it.
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

// Printing returns the error of an output for the user. A pipe that its reader has closed early, as
// head does, is no error.
func Printing(err error) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		err = errno // without the file name, which is that of stdout
	}
	return fmt.Errorf("the output is not complete: %w; run it again where there is room for it", err)
}
