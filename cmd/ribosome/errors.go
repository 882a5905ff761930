package main

import (
	"errors"
	"fmt"
	"syscall"
)

// usageError means that the program was called wrongly. Its text says how, and what to
// do, in one line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// failure means that what was asked for was refused, failed or was cut off. Its text is
// one line; an empty one means that there is nothing to add.
type failure struct{ text string }

func (e *failure) Error() string { return e.text }

func failf(format string, args ...any) error { return &failure{fmt.Sprintf(format, args...)} }

// ending returns the exit code of an error, and the line for stderr.
func ending(err error) (code int, line string) {
	var usage *usageError
	switch {
	case err == nil:
		return exitDone, ""
	case errors.As(err, &usage):
		return exitUsage, usage.text
	}
	return exitFailed, err.Error()
}

// printing is the error of what could not be printed. Who closed the pipe early, as
// head does, has seen enough: that is none.
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
