package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/agenttest"
)

// A node that nobody can connect to gives Eddy one task after the other, also after one that an
// operator has cancelled, and cancels the last one when it stops.
func TestDemonstrate(t *testing.T) {
	agenttest.Run(t, runtime.Options{}, func(t *testing.T, n *agenttest.Node) {
		brain := make(held, 1)
		if err := (runtime.Swarms{swarm.New(swarm.Options{Brain: brain})}).Host(t.Context(), n.Node, swarm.Name); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var log bytes.Buffer
		ended := make(chan struct{})
		go func() {
			demonstrate(ctx, n.Node, time.Hour, slog.New(slog.NewTextHandler(&log, nil)))
			close(ended)
		}()
		for i := range 3 {
			n.Advance(0)
			live := n.Conversations()
			if len(live) == 0 {
				t.Fatalf("task %d: nothing is under way", i)
			}
			switch i {
			case 0:
				n.Advance(9 * time.Hour) // a few steps
				brain <- struct{}{}
			case 1:
				for _, c := range live {
					codons.Withdraw(n.System(), c.ID, codons.ErrOperator)
				}
			case 2:
				cancel()
				<-ended
				if n.Advance(0); len(n.Conversations()) > 0 {
					t.Errorf("after the end: %+v", n.Conversations())
				}
				continue
			}
			if n.Advance(demoPause - 1); len(n.Conversations()) > 0 {
				t.Errorf("task %d has not ended, or there was no pause: %+v", i, n.Conversations())
			}
			n.Advance(1)
		}
		if text := log.String(); strings.Count(text, "an example task has failed") != 1 {
			t.Errorf("the log is\n%s", text)
		}
	})
}

// Only a node with --http alone and the swarm eddyjules gives tasks. Then --pace has another
// default.
func TestDemonstrates(t *testing.T) {
	for name, tt := range map[string]struct {
		cmd  nodeCmd
		want bool
		pace time.Duration
	}{
		"http alone":         {nodeCmd{Swarm: swarm.Name, listenFlags: listenFlags{HTTP: "127.0.0.1:0"}}, true, demoPace},
		"with a pace":        {nodeCmd{Swarm: swarm.Name, Pace: time.Second, listenFlags: listenFlags{HTTP: "127.0.0.1:0"}}, true, time.Second},
		"no swarm":           {nodeCmd{Swarm: noSwarm, listenFlags: listenFlags{HTTP: "127.0.0.1:0"}}, false, 0},
		"another swarm":      {nodeCmd{Swarm: "another", listenFlags: listenFlags{HTTP: "127.0.0.1:0"}}, false, 0},
		"another listener":   {nodeCmd{Swarm: swarm.Name, listenFlags: listenFlags{HTTP: "127.0.0.1:0", TCP: "127.0.0.1:0"}, authFlags: authFlags{NoAuth: true}}, false, 0},
		"everyone may act":   {nodeCmd{Swarm: swarm.Name, listenFlags: listenFlags{HTTP: "127.0.0.1:0"}, authFlags: authFlags{NoAuth: true}}, false, 0},
		"some may act":       {nodeCmd{Swarm: swarm.Name, listenFlags: listenFlags{HTTP: "127.0.0.1:0"}, authFlags: authFlags{Tokens: "tokens"}}, false, 0},
		"no operators' port": {nodeCmd{Swarm: swarm.Name, listenFlags: listenFlags{TCP: "127.0.0.1:0"}}, false, 0},
	} {
		if got, pace := tt.cmd.demonstrates(), tt.cmd.pace(); got != tt.want || pace != tt.pace {
			t.Errorf("%s: %v at %v, want %v at %v", name, got, pace, tt.want, tt.pace)
		}
	}
}

// held is a debugger that is done once it gets a value.
type held chan struct{}

func (h held) Debug(ctx context.Context, _ swarm.Problem, _ func(string)) (performatives.InformResult, error) {
	select {
	case <-h:
	case <-ctx.Done():
	}
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "done"}, ctx.Err()
}
