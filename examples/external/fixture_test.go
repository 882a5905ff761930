package main

import (
	"context"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// fixture is a remote agent and the node that it joins.
type fixture struct {
	remote
	host        *host
	helperAgent *slowHelper
	dir         string
	said        *events.Subscription // to events.MessageSent
	joined      *events.Subscription // to events.AgentAnnounced
	left        *events.Subscription // to events.AgentStopped
}

func newFixture(t *testing.T, g remote) *fixture {
	t.Helper()
	agents := localAgents()
	v := &fixture{remote: g, dir: t.TempDir(), helperAgent: &slowHelper{
		Worker: agents[g.helper]().(delegation.Worker), begun: make(chan delegation.Task, 8), ended: make(chan error, 8),
	}}
	agents[g.helper] = func() actors.Agent { return v.helperAgent }
	var err error
	if v.host, err = start(t.Context(), &options{tcp: "127.0.0.1:0", ws: "127.0.0.1:0"}, agents); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.host.stop(); err != nil {
			t.Error(err)
		}
	})
	v.said, v.joined, v.left = v.subscribe(events.KindMessageSent), v.subscribe(events.KindAgentAnnounced), v.subscribe(events.KindAgentStopped)
	if err := install(v.dir); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *fixture) subscribe(kind events.Kind) *events.Subscription {
	return v.host.node.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{kind}})
}

// join starts the remote, and waits until it has joined.
func (v *fixture) join(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd, err := v.command(t.Context(), v.dir, v.host)
	if err != nil {
		t.Fatal(err)
	}
	var stderr screen
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the remote says:\n%s", &stderr)
		}
	})
	v.waitJoined(t)
	return cmd
}

// waitJoined waits until the remote agent has introduced itself.
func (v *fixture) waitJoined(t *testing.T) {
	t.Helper()
	who, err := events.Next[events.AgentAnnounced](t.Context(), v.joined)
	if err != nil {
		t.Fatal("nobody joins:", err)
	}
	entry, ok := v.host.node.Directory().Lookup(who.Agent)
	if _, can := entry.Capabilities.Action(v.task.TaskType); who.Agent != v.id || !ok || !can {
		t.Fatalf("%s has joined, as %+v", who.Agent, entry)
	}
}

// waitLeft waits until the remote agent is no longer an agent of the node.
func (v *fixture) waitLeft(t *testing.T) {
	t.Helper()
	if who, err := events.Next[events.AgentStopped](t.Context(), v.left); err != nil || who.Agent != v.id {
		t.Fatalf("%s has left, %v", who.Agent, err)
	}
	if _, ok := v.host.node.Directory().Lookup(v.id); ok {
		t.Errorf("%s is in the directory", v.id)
	}
}

// delegate delegates the remote agent's task to it, and checks the result.
func (v *fixture) delegate(t *testing.T) {
	t.Helper()
	var reports []string
	result, err := v.host.node.Delegate(t.Context(), v.id, v.task, delegation.WithProgress(func(u performatives.StatusUpdate) {
		reports = append(reports, u.Description)
	}))
	if err != nil || result.Status != performatives.StatusSuccess || result.Summary != v.summary {
		t.Fatalf("got %+v, %v", result, err)
	}
	if diff := cmp.Diff(v.reports, reports); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

// begin delegates the remote agent's task to it, and waits until the helper has begun the
// part that is delegated back.
func (v *fixture) begin(ctx context.Context, t *testing.T) *delegation.Delegated {
	t.Helper()
	v.helperAgent.waits.Store(true)
	d, err := delegation.Start(ctx, v.host.node, v.id, v.task)
	if err != nil {
		t.Fatal(err)
	}
	task := <-v.helperAgent.begun
	if task.Message.Sender() != v.id || task.TaskType != v.back {
		t.Fatalf("%s delegates %s", task.Message.Sender(), task.TaskType)
	}
	v.helperAgent.waits.Store(false)
	return d
}

// checkWithdrawn checks that the part that was delegated back has been withdrawn.
func (v *fixture) checkWithdrawn(t *testing.T) {
	t.Helper()
	if err := <-v.helperAgent.ended; err == nil {
		t.Error("the helper's work was not withdrawn")
	}
}
