package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// panickingDescriber is an agent whose Describe panics.
type panickingDescriber struct{}

func (panickingDescriber) Describe() performatives.Capabilities { panic("no words") }

var errUnfit = errors.New("unfit")

func TestSpawnErrors(t *testing.T) {
	n := newNode(t, runtime.Options{})
	ctx := patience.Context(t)
	plain := always(scripted{})
	if err := n.Spawn(ctx, "Jules", plain); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancelCause(ctx)
	cancel(errUnfit)
	tests := map[string]struct {
		ctx    context.Context
		id     performatives.AgentID
		create func() actors.Agent
		opts   []runtime.SpawnOption
		want   error  // the error to match, or nil
		says   string // expected part of its text
	}{
		"no id":           {ctx, "", plain, nil, nil, "the id is empty"},
		"long id":         {ctx, performatives.AgentID(strings.Repeat("x", 257)), plain, nil, nil, "257 bytes"},
		"control in id":   {ctx, "a\nb", plain, nil, nil, "control"},
		"bytes in id":     {ctx, "a\xff", plain, nil, nil, "UTF-8"},
		"taken":           {ctx, "jULES", plain, nil, actors.ErrExists, "jULES"},
		"the node's name": {ctx, "Node", plain, nil, actors.ErrExists, ""},
		"no New":          {ctx, "a", nil, nil, nil, "New is nil"},
		"New panics":      {ctx, "a", func() actors.Agent { panic("oops") }, nil, nil, "oops"},
		"New returns nil": {ctx, "a", func() actors.Agent { return nil }, nil, nil, "returned nil"},
		"Describe panics": {ctx, "a", func() actors.Agent { return panickingDescriber{} }, nil, nil, "no words"},
		"no such group":   {ctx, "a", plain, []runtime.SpawnOption{runtime.InGroup("team")}, nil, `"team"`},
		"bad capacity":    {ctx, "a", plain, []runtime.SpawnOption{runtime.WithCapacity(-1)}, nil, "Capacity"},
		"ctx has ended":   {ended, "a", plain, nil, errUnfit, ""},
		"Start fails":     {ctx, "a", always(scripted{start: func(*actors.Context) error { return errUnfit }}), nil, errUnfit, `"a"`},
		"Start panics":    {ctx, "a", always(scripted{start: func(*actors.Context) error { panic(errUnfit) }}), nil, errUnfit, "panicked"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := n.Spawn(tt.ctx, tt.id, tt.create, tt.opts...)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("got %v, want %v with %q", err, tt.want, tt.says)
			}
			if _, found := n.Directory().Lookup("a"); found {
				t.Error("there is such an agent")
			}
		})
	}
	if err := n.Spawn(ctx, "a", plain); err != nil { // the id is free after the failures
		t.Error(err)
	}
}

// An agent whose Start hangs keeps its id until Start returns.
func TestSpawnStartHangs(t *testing.T) {
	n := newNode(t, runtime.Options{})
	r := listen(t, n)
	release, started := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(patience.Context(t))
	go func() { <-started; cancel() }()
	err := n.Spawn(ctx, "a", always(scripted{start: func(*actors.Context) error {
		close(started)
		<-release
		return nil
	}}))
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	close(release)
	await[events.AgentStopped](t, r, 1, nil)
	if err := n.StopAgent(patience.Context(t), "a"); err != nil {
		t.Fatal(err)
	}
	if err := n.Spawn(patience.Context(t), "a", always(scripted{})); err != nil {
		t.Error(err)
	}
}

func TestSpawnAfterStop(t *testing.T) {
	n := newNode(t, runtime.Options{})
	if err := n.Stop(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	if err := n.Spawn(patience.Context(t), "a", always(scripted{})); !errors.Is(err, actors.ErrStopped) {
		t.Errorf("got %v", err)
	}
}

// A hook may spawn and stop other agents.
func TestSpawnFromHook(t *testing.T) {
	n := newNode(t, runtime.Options{})
	ctx := patience.Context(t)
	err := n.Spawn(ctx, "parent", always(scripted{start: func(*actors.Context) error {
		return n.Spawn(ctx, "child", always(scripted{start: func(*actors.Context) error { return nil }}))
	}}))
	if _, found := n.Directory().Lookup("child"); err != nil || !found {
		t.Errorf("got %v, child found: %t", err, found)
	}
}
