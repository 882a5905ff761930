package main

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// visit is a guest and the node that it joins.
type visit struct {
	guest
	host    *host
	patient *patient
	dir     string
	said    *actors.Subscription[actors.MessageSent]
	joined  *actors.Subscription[actors.AgentAnnounced]
	left    *actors.Subscription[actors.AgentStopped]
}

func newVisit(t *testing.T, g guest) *visit {
	t.Helper()
	agents := localAgents()
	v := &visit{guest: g, dir: t.TempDir(), patient: &patient{
		Worker: agents[g.helper]().(codons.Worker), begun: make(chan codons.Task, 8), ended: make(chan error, 8),
	}}
	agents[g.helper] = func() actors.Agent { return v.patient }
	var err error
	if v.host, err = start(t.Context(), &options{tcp: "127.0.0.1:0", ws: "127.0.0.1:0"}, agents); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.host.stop(); err != nil {
			t.Error(err)
		}
	})
	v.said = actors.Subscribe[actors.MessageSent](v.host.node.Events(), 256)
	v.joined = actors.Subscribe[actors.AgentAnnounced](v.host.node.Events(), 16)
	v.left = actors.Subscribe[actors.AgentStopped](v.host.node.Events(), 16)
	if err := os.CopyFS(v.dir, files); err != nil {
		t.Fatal(err)
	}
	return v
}

// join starts the guest, and waits until it has joined.
func (v *visit) join(t *testing.T) *exec.Cmd {
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
			t.Logf("the guest says:\n%s", &stderr)
		}
	})
	v.welcome(t)
	return cmd
}

// welcome waits until the guest has introduced itself.
func (v *visit) welcome(t *testing.T) {
	t.Helper()
	select {
	case who := <-v.joined.C:
		entry, ok := v.host.node.Directory().Lookup(who.Agent)
		if _, can := entry.Capabilities.Action(v.task.TaskType); who.Agent != v.id || !ok || !can {
			t.Fatalf("%s has joined, as %+v", who.Agent, entry)
		}
	case <-t.Context().Done():
		t.Fatal("nobody joins")
	}
}

// farewell waits until the guest is no agent of the node.
func (v *visit) farewell(t *testing.T) {
	t.Helper()
	if who := <-v.left.C; who.Agent != v.id {
		t.Fatalf("%s has left", who.Agent)
	}
	if _, ok := v.host.node.Directory().Lookup(v.id); ok {
		t.Errorf("%s is in the directory", v.id)
	}
}

// delegate has the guest do its task, and checks what comes of it.
func (v *visit) delegate(t *testing.T) {
	t.Helper()
	var reports []string
	result, err := v.host.node.Delegate(t.Context(), v.id, v.task, codons.WithProgress(func(u performatives.StatusUpdate) {
		reports = append(reports, u.Description)
	}))
	if err != nil || result.Status != performatives.StatusSuccess || result.Summary != v.summary {
		t.Fatalf("got %+v, %v", result, err)
	}
	if diff := cmp.Diff(v.reports, reports); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

// begin has the guest begin its task, and waits until it waits for what it has delegated
// back.
func (v *visit) begin(ctx context.Context, t *testing.T) *codons.Delegated {
	t.Helper()
	v.patient.waits.Store(true)
	d, err := codons.StartDelegation(ctx, v.host.node, v.id, v.task)
	if err != nil {
		t.Fatal(err)
	}
	task := <-v.patient.begun
	if task.Message.Sender() != v.id || task.TaskType != v.back {
		t.Fatalf("%s delegates %s", task.Message.Sender(), task.TaskType)
	}
	v.patient.waits.Store(false)
	return d
}

// withdrawn checks that what the guest had delegated back was withdrawn.
func (v *visit) withdrawn(t *testing.T) {
	t.Helper()
	if err := <-v.patient.ended; err == nil {
		t.Error("the helper's work was not withdrawn")
	}
}
