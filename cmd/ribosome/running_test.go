package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/screen"
)

// running is the program, under way.
type running struct {
	t              *testing.T
	stdout, stderr screen.Screen
	interrupt      context.CancelFunc
	done           chan struct{}
	code           int // valid once done is closed
}

// begins runs the program until the test ends, or interrupt is called.
func begins(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, interrupt: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.code = run(ctx, args, strings.NewReader(""), &r.stdout, &r.stderr)
	}()
	t.Cleanup(func() { r.end() })
	return r
}

// end interrupts the program, and waits for its end.
func (r *running) end() ran {
	r.t.Helper()
	r.interrupt()
	return r.wait()
}

// wait waits for the program's own end.
func (r *running) wait() ran {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(patience.Time):
		r.t.Fatalf("it does not end; stdout %q, stderr %q", r.stdout.String(), r.stderr.String())
	}
	return ran{r.code, r.stdout.String(), r.stderr.String()}
}

// shows waits until the text is on the screen, and returns all that is.
func (r *running) shows(s *screen.Screen, text string) string {
	r.t.Helper()
	late := time.After(patience.Time)
	for {
		changed, all := s.Next()
		if strings.Contains(all, text) {
			return all
		}
		select {
		case <-changed:
		case <-r.done:
			if all = s.String(); strings.Contains(all, text) {
				return all
			}
			r.t.Fatalf("it ended with %d, and without %q; stdout %q, stderr %q", r.code, text, r.stdout.String(), r.stderr.String())
		case <-late:
			r.t.Fatalf("it does not show %q; stdout %q, stderr %q", text, r.stdout.String(), r.stderr.String())
		}
	}
}

// begun is a node, and where it is reached, by the scheme of the address.
type begun struct {
	*running
	at map[string]string
}

// hosts runs ribosome node with a listener of each transport, and the given flags.
func hosts(t *testing.T, args ...string) begun {
	t.Helper()
	args = append([]string{"node", "--ws", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--log-level", "debug"}, args...)
	n := begun{begins(t, args...), make(map[string]string)}
	for line := range strings.Lines(n.shows(&n.stdout, "listening on grpc")) {
		url := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
		scheme, _, _ := strings.Cut(url, "://")
		n.at[scheme] = url
	}
	return n
}

// open is hosts for everyone, with the swarm of Eddy and Jules.
func open(t *testing.T) begun { t.Helper(); return hosts(t, "--no-auth", "--swarm", "eddyjules") }
