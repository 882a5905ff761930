package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/notify"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// init adds the swarm faulty to those that the program can host. The tests in internal/collector build cmd/ribosome with this file (go build -overlay): what its agents do
// wrong, no agent of the swarm of Eddy and Jules does.
func init() {
	hosted := swarms
	swarms = func(c *nodeCmd) runtime.Swarms {
		return append(hosted(c), runtime.Swarm{Name: "faulty", Purpose: "errors, panics, a full mailbox and too many events", Spawn: spawnFaulty})
	}
}

func spawnFaulty(ctx context.Context, n *runtime.Node) error {
	door := &door{open: make(chan struct{})}
	var errs []error
	for id, agent := range map[performatives.AgentID]actors.Agent{
		"Clumsy": clumsy{}, "Fragile": fragile{}, "Stuck": stuck{door: door}, "Key": key{door: door}, "Loud": loud{node: n}, "Dizzy": dizzy{node: n},
	} {
		errs = append(errs, n.Spawn(ctx, id, func() actors.Agent { return agent }))
	}
	return errors.Join(errs...)
}

// plain has no capabilities.
type plain struct{}

func (plain) Describe() performatives.Capabilities { return performatives.Capabilities{} }

// clumsy is an agent whose jobs panic for a task of the type panic, compute for one of the type compute, and else return an error.
type clumsy struct{ plain }

func (clumsy) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (clumsy) PerformTask(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
	switch t.TaskType {
	case "panic":
		panic("c4n4ry of a panic")
	case "compute":
		for began := time.Now(); time.Since(began) < 20*time.Millisecond; {
		}
		return performatives.InformResult{Status: performatives.StatusSuccess}, nil
	}
	return performatives.InformResult{}, errors.New("c4n4ry of an error")
}

// fragile is an agent that panics at each message, so that it is restarted.
type fragile struct{ plain }

func (fragile) Receive(*actors.Context, *performatives.Message) { panic("c4n4ry of an agent") }

// door is what stuck waits for, and key opens.
type door struct {
	open chan struct{}
	once sync.Once
}

// stuck is an agent that handles no message before the door is open.
type stuck struct {
	plain
	door *door
}

func (s stuck) Receive(c *actors.Context, _ *performatives.Message) {
	c.Logger().Info("a message is being handled")
	<-s.door.open
}

// key is an agent that opens the door at a message.
type key struct {
	plain
	door *door
}

func (k key) Receive(*actors.Context, *performatives.Message) {
	k.door.once.Do(func() { close(k.door.open) })
}

// loudness is how many events a loud agent publishes at each message: many times those that a queue of the metrics has room for.
const loudness = 100_000

// loud is an agent that publishes failures of its jobs, which it has not.
type loud struct {
	plain
	node *runtime.Node
}

func (l loud) Receive(c *actors.Context, _ *performatives.Message) {
	for range loudness {
		l.node.Events().Publish(lifecycle.JobFailed{Agent: c.ID()})
	}
}

// dizzy is an agent that passes a notice on to itself until the node finds a loop.
type dizzy struct {
	plain
	node *runtime.Node
}

func (d dizzy) HandleNotice(_ context.Context, n notify.Notice) {
	if d.node.Counts().Loops == 0 {
		_ = notify.Notify(n.Agent.Self(), n.Agent.Self().ID(), n.Message.Payload())
	}
}
