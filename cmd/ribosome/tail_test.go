package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
)

// The wait before a stream begins again grows with each failed attempt, and is short again after
// one that has succeeded. A refusal, a first attempt that fails and the end of the output end it at
// once, the end of the context during a wait.
func TestAgainWaits(t *testing.T) {
	gone, refused := errors.New("gone"), &apiError{}
	unit := actors.Backoff{}.Delay(1, nil)
	for _, test := range []struct {
		name     string
		attempts []error // the first is opened, as is each after which the wait is to be short
		opened   []bool
		waits    []time.Duration
		want     error
	}{
		{"grows and is reset", []error{gone, gone, gone, gone, gone, refused}, []bool{true, false, false, true, false, false}, []time.Duration{unit, 2 * unit, 4 * unit, unit, 2 * unit}, refused},
		{"the first fails", []error{gone}, []bool{false}, nil, gone},
		{"no reader", []error{gone, errNoReader}, []bool{true, true}, []time.Duration{unit}, errNoReader},
		{"interrupted", []error{gone, context.Canceled}, []bool{true, true}, []time.Duration{unit}, context.Canceled},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var said bytes.Buffer
				var waits []time.Duration
				ended, n := time.Now(), 0
				err := again(ctx, newPrinter(&said), func(opened func()) error {
					if n > 0 {
						waits = append(waits, time.Since(ended))
					}
					if test.opened[n] {
						opened()
						time.Sleep(time.Hour) // of the bubble
					}
					ended = time.Now()
					if n++; errors.Is(test.attempts[n-1], context.Canceled) {
						cancel()
					}
					return test.attempts[n-1]
				}, func() float64 { return 0 })
				if !errors.Is(err, test.want) || n != len(test.attempts) || !slices.Equal(waits, test.waits) {
					t.Errorf("%v after %d attempts and waits of %v, want %v and %v", err, n, waits, test.want, test.waits)
				}
				if got := strings.Count(said.String(), "gone; next attempt in "); got != len(test.waits) {
					t.Errorf("it says\n%s", said.String())
				}
			})
		})
	}
}

// A wait ends with the context.
func TestAgainIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		gone := errors.New("gone")
		err := again(ctx, newPrinter(new(bytes.Buffer)), func(opened func()) error { opened(); return gone }, func() float64 { return 0 })
		if !errors.Is(err, gone) || time.Since(began) != time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// A step and the end of a side are one line each.
func TestLinesOfSteps(t *testing.T) {
	for want, data := range map[string]string{
		"a  conversation.transition  initiator  idle → asked  c":                                                                  `{"kind":"conversation.transition","agent":"a","role":"initiator","to":"asked","conversation_id":"c"}`,
		"a  conversation.ended  responder  abandoned  c":                                                                          `{"kind":"conversation.ended","agent":"a","role":"responder","state":"abandoned","conversation_id":"c"}`,
		"n1  node.overload  refuses new work: 7 requests refused since it started, 5 handlers wait for a processor, 2 run":        `{"kind":"node.overload","node":"n1","refusing":true,"refused":7,"queued":5,"working":2}`,
		"n1  node.overload  takes on all work again: 9 requests refused since it started, 0 handlers wait for a processor, 1 run": `{"kind":"node.overload","node":"n1","refusing":false,"refused":9,"queued":0,"working":1}`,
		"a  job.failed  perform  c  the disk is full":                                                                             `{"kind":"job.failed","agent":"a","conversation_id":"c","job":"perform","reason":"the disk is full"}`,
	} {
		var v live
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			t.Fatal(err)
		}
		if _, got, _ := strings.Cut(v.line(), "  "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Failures, and what nodes say about their load, are printed without --steps, failures in one line
// with the stack below it. Their texts cannot control the terminal.
func TestFailuresArePrinted(t *testing.T) {
	const failure = `{"kind":"job.failed","time":"2026-01-02T03:04:05Z","agent":"W","job":"perform","conversation_id":"c","reason":"a\u001b[31m\nb","stack":"goroutine 1\nmain.f()\n\tx.go:7\u001b[2J\n"}`
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/tree"):
			_, _ = w.Write([]byte(`{"root":"c","conversations":[{"conversation_id":"c","sides":[]}]}`))
			return
		case r.URL.Path != "/api/events":
			_, _ = w.Write([]byte(`{"conversation_id":"c","sides":[],"failures":[` + failure + `]}`))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("event: job.failed\ndata: " + failure + "\n\nevent: node.overload\ndata: {\"kind\":\"node.overload\",\"node\":\"n1\",\"refusing\":false}\n\nevent: conversation.ended\ndata: {\"kind\":\"conversation.ended\",\"agent\":\"W\"}\n\n"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer node.Close()
	const stack = "      goroutine 1\n      main.f()\n        x.go:7"
	tail := begins(t, "tail", "--addr", node.URL)
	tail.shows(&tail.stdout, stack)
	tail.shows(&tail.stdout, "n1 node.overload takes on all work again")
	got := tail.end().stdout
	if !strings.Contains(got, " W job.failed perform c a[31m b\n"+stack) || strings.Contains(got, "\x1b") || strings.Contains(got, "ended") {
		t.Errorf("tail prints %q", got)
	}
	if r := operates(t, node.URL, "trace", "c"); !strings.Contains(r.stdout, " W perform failed: a[31m b\n"+stack) || strings.Contains(r.stdout, "\x1b") {
		t.Errorf("trace prints %q", r.stdout)
	}
}
