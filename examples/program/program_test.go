package program_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/performatives"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestParseAndRefuse(t *testing.T) {
	for _, tt := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"--help"}, program.ExitDone, "usage\n", ""},
		{[]string{"--fast"}, program.ExitUsage, "", "x: flag provided but not defined: -fast; --help lists the flags\n"},
	} {
		err := program.Parse(flag.NewFlagSet("x", flag.ContinueOnError), tt.args)
		var stdout, stderr bytes.Buffer
		code := program.Refuse("x", "usage\n", err, &stdout, &stderr)
		if code != tt.code || stdout.String() != tt.stdout || stderr.String() != tt.stderr {
			t.Errorf("%v: code %d, stdout %q, stderr %q", tt.args, code, &stdout, &stderr)
		}
	}
	if err := program.Parse(flag.NewFlagSet("x", flag.ContinueOnError), nil); err != nil {
		t.Errorf("without arguments: %v", err)
	}
}

func TestOutputKeepsTheFirstError(t *testing.T) {
	full, late := errors.New("full"), errors.New("late")
	var text strings.Builder
	out := program.NewOutput(&text)
	if _, err := out.Write([]byte("a")); err != nil || out.Err() != nil {
		t.Errorf("got %v", err)
	}
	out.Fail(full)
	out.Fail(late)
	if _, err := out.Write([]byte("b")); !errors.Is(err, full) || !errors.Is(out.Err(), full) || text.String() != "a" {
		t.Errorf("got %v, %v, and wrote %q", err, out.Err(), text.String())
	}
}

func TestStopHandler(t *testing.T) {
	for published, lost := range map[int]bool{2: false, 9: true} {
		var stream events.Stream
		printed := 0
		begin := make(chan struct{})
		h := stream.Subscribe(events.SubscribeOptions{Capacity: 2}).Handle(func(events.Record) {
			<-begin
			printed++
		})
		for range published {
			stream.Publish(events.AgentAnnounced{})
		}
		close(begin)
		if err := program.StopHandler(h); (err != nil) != lost || !lost && printed != published {
			t.Errorf("%d of %d events printed, %v", printed, published, err)
		}
	}
}

func TestContentText(t *testing.T) {
	details := performatives.ContentOf(map[string]string{"text": strings.Repeat("x", 100)})
	for _, tt := range []struct {
		payload any
		want    string
	}{
		{performatives.TaskRequest{TaskType: "count", Description: "How many?", Parameters: details}, "count: How many?"},
		{performatives.TaskRequest{TaskType: "count", Parameters: details}, `count: {"text":"` + strings.Repeat("x", 51) + "…"},
		{performatives.InformResult{Status: performatives.StatusSuccess, Details: details}, `success: {"text":"` + strings.Repeat("x", 51) + "…"},
		{performatives.Cancel{Reason: "no longer wanted"}, "no longer wanted"},
		{performatives.TaskReject{ReasonCode: performatives.CodeBusy, ReasonText: "later"}, "later (busy)"},
	} {
		m, err := performatives.New(performatives.Envelope{
			ID: performatives.NewID(), InReplyTo: "1", Sender: "a", Receiver: "b", Timestamp: time.Now(), Payload: tt.payload,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := program.ContentText(m); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := program.OneLine(" a\r\n  b\tc "); got != "a b c" {
		t.Errorf("got %q", got)
	}
	if got := []rune(program.OneLine(strings.Repeat("é", 1000))); len(got) != 400 || got[399] != '…' {
		t.Errorf("got %d characters", len(got))
	}
}

func TestClean(t *testing.T) {
	if got := program.Clean("a\tb\n\x1b[2Jc\u202ed"); got != "a\tb\n[2Jcd" {
		t.Errorf("got %q", got)
	}
}

func TestPrinting(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
	for err, want := range map[error]string{
		nil: "<nil>", &fs.PathError{Err: syscall.EPIPE}: "<nil>",
		full: "the output is not complete: no space left on device; run it again where there is room for it", io.EOF: "the output is not complete: EOF; run it again where there is room for it",
	} {
		if got := fmt.Sprint(program.Printing(err)); got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
}
