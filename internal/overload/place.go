package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// place is where agents are asked.
type place struct {
	askers    []asker      // in the order of askerNames
	next      atomic.Int64 // chooses one of the crowd
	processes []process    // that of the agents comes first
	pids      []int        // of all processes
	stops     []func()     // undo, in reverse order, what was started
}

// askerNames are the ids of those that ask: for URGENT tasks, for tasks of the quiet agents, and for the load.
var askerNames = []p.AgentID{"operator", "calm", "crowd0", "crowd1", "crowd2", "crowd3"}

// crowd returns those that ask for the load, in turns.
func (pl *place) crowd() asker {
	const first = 2
	return pl.askers[first+int(pl.next.Add(1))%(len(pl.askers)-first)]
}

// process is a process whose usage is sampled.
type process interface {
	reset() error
	read() (usage, error)
}

// asker sends requests. It calls told once for each, on any goroutine.
type asker interface {
	ask(r request, told func(error))
}

// request is a task for an agent.
type request struct {
	to       p.AgentID
	task     string
	priority p.Priority
	deadline time.Time
}

// openPlace starts the nodes of a place. The caller must close it, also after an error.
func openPlace(ctx context.Context, where string, turns int64) (*place, error) {
	ctx, cancel := context.WithCancel(ctx)
	pl := &place{pids: []int{os.Getpid()}, stops: []func(){cancel}}
	switch where {
	case "local":
		return pl, pl.openLocal(ctx, turns)
	case "tcp":
		return pl, pl.openTCP(ctx, turns)
	case "node":
		return pl, pl.openCluster(ctx, turns)
	}
	return pl, fmt.Errorf("no such place: %q; there are local, tcp and node", where)
}

// close stops what openPlace has started.
func (pl *place) close() {
	for i := len(pl.stops) - 1; i >= 0; i-- {
		pl.stops[i]()
	}
}

func (pl *place) openLocal(ctx context.Context, turns int64) error {
	n, s, err := pl.own(ctx, nil)
	if err != nil {
		return err
	}
	return spawnWorkers(ctx, n, turns, s)
}

func (pl *place) openTCP(ctx context.Context, turns int64) error {
	c, err := pl.child(ctx, "agents", strconv.FormatInt(turns, 10), listenPlace)
	if err != nil {
		return err
	}
	for _, name := range askerNames {
		a, err := dial(ctx, c.addr, name)
		if err != nil {
			return err
		}
		pl.stops = append(pl.stops, a.stop)
		pl.askers = append(pl.askers, a)
	}
	return nil
}

func (pl *place) openCluster(ctx context.Context, turns int64) error {
	c, err := pl.child(ctx, "agents", strconv.FormatInt(turns, 10), clusterPlace)
	if err != nil {
		return err
	}
	if _, err := pl.child(ctx, "third", "0", clusterPlace, c.addr); err != nil {
		return err
	}
	n, _, err := pl.own(ctx, &runtime.ClusterOptions{Gossip: "127.0.0.1:0", Join: []string{c.addr}})
	if err != nil {
		return err
	}
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		known := len(n.Members()) == len(pl.pids)
		for _, id := range allAgents() {
			_, knows := n.Directory().Lookup(id)
			known = known && knows
		}
		if known {
			tick.Stop()
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the nodes do not find one another: %w", context.Cause(ctx))
		}
	}
}

// child starts a child of the place.
func (pl *place) child(ctx context.Context, args ...string) (*child, error) {
	c, err := startChild(ctx, args...)
	if err != nil {
		return nil, err
	}
	pl.processes, pl.pids, pl.stops = append(pl.processes, c), append(pl.pids, c.cmd.Process.Pid), append(pl.stops, c.stop)
	return c, nil
}

// own starts a node in this process, which asks.
func (pl *place) own(ctx context.Context, cluster *runtime.ClusterOptions) (*runtime.Node, *sampler, error) {
	n, err := newNode("own", cluster)
	if err != nil {
		return nil, nil, err
	}
	s := new(sampler)
	go s.run(ctx)
	s.watch(ctx, n)
	pl.processes = append(pl.processes, s)
	pl.stops = append(pl.stops, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		_ = n.Stop(ctx) // whether it stops in order is not measured
	})
	for _, name := range askerNames {
		self, err := n.Client(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		pl.askers = append(pl.askers, client{ctx, self})
	}
	return n, s, nil
}

// stopTime is how long a node or a session may take to stop.
const stopTime = 5 * time.Second

// reset begins the usage of all processes anew.
func (pl *place) reset() error {
	var errs []error
	for _, p := range pl.processes {
		errs = append(errs, p.reset())
	}
	return errors.Join(errs...)
}

// read returns the usage of the process with the agents, with what all nodes have lost.
func (pl *place) read() (usage, error) {
	var agents usage
	for i, p := range pl.processes {
		u, err := p.read()
		if err != nil {
			return u, err
		}
		if i > 0 {
			agents.Lost += u.Lost
		} else {
			agents = u
		}
	}
	return agents, nil
}

// client asks as an agent of a node.
type client struct {
	ctx  context.Context //nolint:containedctx // of the place
	self actors.Self
}

func (c client) ask(r request, told func(error)) {
	ctx, cancel := context.WithDeadline(c.ctx, r.deadline)
	d, err := delegation.Start(ctx, c.self, r.to, p.TaskRequest{TaskType: r.task}, codons.WithPriority(r.priority))
	if err != nil {
		cancel()
		told(err)
		return
	}
	go func() {
		_, err := d.Wait()
		cancel()
		told(err)
	}()
}
