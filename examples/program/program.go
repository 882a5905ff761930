package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/runtime"
)

// The exit codes that all examples have.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// ErrHelp means that the arguments contain --help.
var ErrHelp = errors.New("program: help was asked for")

// Parse parses args with f and discards the messages of f. The error is [ErrHelp], or
// one line for the user.
func Parse(f *flag.FlagSet, args []string) error {
	f.SetOutput(io.Discard)
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return ErrHelp
	case err != nil:
		return fmt.Errorf("%w; --help lists the flags", err)
	}
	return nil
}

// CheckDeadline returns an error unless the value of a --deadline flag is positive.
func CheckDeadline(d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("--deadline %v leaves no time; give it some, such as 30s", d)
	}
	return nil
}

// Refuse handles an error of the arguments and returns the exit code: for [ErrHelp] it
// prints the usage to stdout, for any other error a line to stderr.
func Refuse(name, usage string, err error, stdout, stderr io.Writer) int {
	if errors.Is(err, ErrHelp) {
		_, _ = io.WriteString(stdout, usage)
		return ExitDone
	}
	Complain(stderr, name, err)
	return ExitUsage
}

// Complain prints the name of the program and the error as one line.
func Complain(stderr io.Writer, name string, err error) {
	_, _ = fmt.Fprintf(stderr, "%s: %s\n", name, OneLine(err.Error()))
}

// Clean returns text without control characters, and without those that change the direction of
// text. A terminal would interpret them.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, text)
}

// OneLine returns text with each run of white space replaced by a space, cut to 400
// characters.
func OneLine(text string) string {
	const limit = 400
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > limit {
		text = string([]rune(text)[:limit-1]) + "…"
	}
	return text
}

// UntilInterrupted returns a context that the first interrupt cancels. A second
// interrupt ends the process.
func UntilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// CatchBrokenPipe makes a write to a closed stdout return [syscall.EPIPE]. Without it,
// such a write ends the process. The returned function restores that.
func CatchBrokenPipe() (restore func()) {
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	return func() { signal.Stop(pipe) }
}

// StopTime bounds the end of a node, and the time that cancelled tasks have to return.
const StopTime = 2 * time.Second

// StopNode stops a node within [StopTime]. Work that ignores its context ends with the
// process.
func StopNode(n *runtime.Node) {
	ctx, cancel := context.WithTimeout(context.Background(), StopTime)
	defer cancel()
	_ = n.Stop(ctx)
}

// StopHandler waits until a handler that prints has handled the remaining events, within
// [StopTime]. The error says that some were not printed.
func StopHandler(h *events.Handler) error {
	ctx, cancel := context.WithTimeout(context.Background(), StopTime)
	defer cancel()
	err := h.Stop(ctx)
	if n := h.Lost(); err == nil && n > 0 {
		err = fmt.Errorf("%d events were not printed: the output is too slow", n)
	}
	return err
}
