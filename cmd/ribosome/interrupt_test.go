package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// slow works until it is told to stop.
type slow struct{ why chan error }

func (slow) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Patience"}}
}

func (slow) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (s slow) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	if err := t.Report(performatives.StatusUpdate{Description: "counting\nsheep \x1b[31m"}); err != nil {
		return performatives.InformResult{}, err
	}
	<-ctx.Done()
	s.why <- context.Cause(ctx)
	return performatives.InformResult{}, context.Cause(ctx)
}

// joins connects an agent to the node at url, as other programs would.
func joins(t *testing.T, url string, name performatives.AgentID, agent actors.Agent) *link {
	t.Helper()
	return joinsBy(t, clientFlags{Addr: url, As: string(name)}, agent)
}

// joinsBy connects an agent with the name of --as by the flags.
func joinsBy(t *testing.T, flags clientFlags, agent actors.Agent) *link {
	t.Helper()
	name := performatives.AgentID(flags.As)
	l, err := flags.plan(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.open(name + "/node"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.leave)
	self, err := l.node.System().Spawn(t.Context(), actors.Spec{ID: name, New: func() actors.Agent { return agent }})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.introduce(t.Context(), self); err != nil {
		t.Fatal(err)
	}
	return l
}

// An interrupt cancels the task: the worker is told, and says that it has stopped.
func TestInterrupted(t *testing.T) {
	n := hosts(t, "--no-auth")
	for scheme, url := range n.at {
		t.Run(scheme, func(t *testing.T) {
			worker := slow{make(chan error, 2)}
			joins(t, url, performatives.AgentID("Slow-"+scheme), worker)
			c := begins(t, "call", "Slow-"+scheme, "count", "--addr", url, "--json")
			c.shows(&c.stderr, "progress: counting sheep [31m\n")
			got := c.end()
			if got.code != exitFailed || !strings.HasSuffix(got.stderr, "\nribosome: interrupted; Slow-"+scheme+" has stopped\n") {
				t.Errorf("got %+v", got)
			}
			var e ended
			if err := json.Unmarshal([]byte(got.stdout), &e); err != nil || e.Outcome != "cancelled" || e.Error == nil || e.Error.Code != performatives.CodeCanceled {
				t.Errorf("%v: got %+v", err, got)
			}
			if why := <-worker.why; !errors.Is(why, codons.ErrCanceled) {
				t.Errorf("the worker was stopped by %v", why)
			}
		})
	}
}

// A worker that goes leaves nobody waiting, and neither does the node itself.
func TestCutOff(t *testing.T) {
	n := hosts(t, "--no-auth")
	url := n.at["tcp"]
	worker := joins(t, n.at["ws"], "Slow", slow{make(chan error, 2)})
	c := begins(t, "call", "Slow", "count", "--addr", url)
	c.shows(&c.stderr, "counting")
	if err := worker.uplink.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := c.wait(); got.code != exitFailed || !strings.HasSuffix(got.stderr, "\nribosome: Slow gave no result: the agent disconnected (disconnected); try again\n") {
		t.Errorf("the worker went, got %+v", got)
	}
	joins(t, n.at["grpc"], "Slow2", slow{make(chan error, 2)})
	relayed, cut := relay(t, url)
	c = begins(t, "call", "Slow2", "count", "--addr", relayed)
	c.shows(&c.stderr, "counting")
	cut()
	if got := c.wait(); got.code != exitFailed || !strings.HasSuffix(got.stderr, "\nribosome: the node at "+relayed+" hung up; try again\n") {
		t.Errorf("the network went, got %+v", got)
	}
	c = begins(t, "call", "Slow2", "count", "--addr", url)
	c.shows(&c.stderr, "counting")
	n.end()
	if got := c.wait(); got.code != exitFailed || strings.Count(got.stderr, "\nribosome: ") != 1 || !strings.HasSuffix(got.stderr, "; try again\n") {
		t.Errorf("the node went, got %+v", got)
	}
}

// A connection that the program itself cuts off, because the rest of its end took too long, was not
// lost.
func TestOwnEndIsNoLoss(t *testing.T) {
	n := hosts(t, "--no-auth")
	for scheme, url := range n.at {
		l, err := (&clientFlags{Addr: url}).plan(io.Discard)
		if err == nil {
			err = l.join(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		l.ending(ctx, func() {
			_ = l.session.Load().Stop(ctx)
			<-l.session.Load().Done()
		})
		if l.cutOff {
			t.Errorf("%s: it was cut off by %v", scheme, l.session.Load().Err())
		}
		l.leave()
	}
}

// relay is a network between a client and the node at url that can be cut.
func relay(t *testing.T, url string) (relayed string, cut func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	ends := make(chan net.Conn, 2)
	running.Go(func() {
		client, err := l.Accept()
		if err != nil {
			return
		}
		ends <- client
		node, err := net.Dial("tcp", strings.TrimPrefix(url, "tcp://"))
		if err != nil {
			return
		}
		ends <- node
		running.Go(func() { _, _ = io.Copy(node, client) })
		_, _ = io.Copy(client, node)
	})
	cut = sync.OnceFunc(func() {
		_ = l.Close()
		for range len(ends) {
			_ = (<-ends).Close()
		}
		running.Wait()
	})
	t.Cleanup(cut)
	return "tcp://" + l.Addr().String(), cut
}

func TestInterruptedSaysWhatRuns(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		text string
	}{
		"before it began": {context.Canceled, "interrupted; run it again for a result"},
		"stopped":         {&codons.EndError{State: "cancelled"}, "interrupted; Jules has stopped"},
		"runs on":         {&codons.EndError{State: "failed", Refusal: performatives.Refusal{Code: performatives.CodeStillRunning}}, "interrupted; Jules was told, and still runs"},
		"says nothing":    {&codons.EndError{State: "timed_out"}, "interrupted; Jules was told, and has not said that it stopped"},
	} {
		if got := (&link{}).interrupted(tt.err, "Jules"); got.Text != tt.text || got.Outcome != "cancelled" {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	stopped := &codons.EndError{State: "cancelled"}
	l := &link{at: address{url: "tcp://h:1"}, task: true}
	if got := l.interrupted(stopped, "System"); got.Text != "interrupted; the agent that the node at tcp://h:1 chose has stopped" {
		t.Errorf("of a task to the node, got %+v", got)
	}
	if got := (&link{}).interrupted(stopped, "system"); got.Text != "interrupted; run it again for a result" {
		t.Errorf("of a query to the node, got %+v", got)
	}
}
