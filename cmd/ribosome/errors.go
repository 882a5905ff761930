package main

import (
	"errors"
	"fmt"
	"syscall"
)

// usageError is the error of a wrong call. Its text has the reason and an advice, in one
// line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// failure is the error of a command that was refused, failed or was interrupted. Its text
// is one line; with an empty text, nothing is printed.
type failure struct{ text string }

func (e *failure) Error() string { return e.text }

func failf(format string, args ...any) error { return &failure{fmt.Sprintf(format, args...)} }

// emptiness is the error of a command that has nothing to write.
type emptiness struct{ text string }

func (e *emptiness) Error() string { return e.text }

// ending returns the exit code of an error, and the line for stderr.
func ending(err error) (code int, line string) {
	var usage *usageError
	var empty *emptiness
	switch {
	case err == nil:
		return exitDone, ""
	case errors.As(err, &usage):
		return exitUsage, usage.text
	case errors.As(err, &empty):
		return exitNothing, empty.text
	}
	return exitFailed, err.Error()
}

// printing returns the error of an incomplete output. A closed pipe is no error: a reader
// such as head needs no further output.
func printing(err error) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		err = errno // without the name of the file, which is stdout
	}
	return failf("the output is not complete: %v; run it again where there is room for it", err)
}
