package overload

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

const siteLocal, siteTCP, siteNode = "local", "tcp", "node"

// site is a group of processes with agents and their askers.
type site struct {
	askers    []asker                      // in the order of askerNames
	processes []func(command string) usage // that of the agents comes first
	pids      []int
	stops     []func() // undo the starts, the last one first
}

// askerNames are the ids of those that ask: for URGENT tasks, for tasks of the quiet agents, and
// for the load.
var askerNames = []p.AgentID{"operator", "calm", "crowd0", "crowd1", "crowd2", "crowd3"}

func (si *site) operator() []asker { return si.askers[:1] }
func (si *site) calm() []asker     { return si.askers[1:2] }
func (si *site) crowd() []asker    { return si.askers[2:] }

// asker sends requests. It calls told once for each that ends, on any goroutine.
type asker interface {
	ask(r request, told func(error))
}

// request is a task for an agent.
type request struct {
	to       p.AgentID
	task     string
	priority p.Priority
	at       time.Time // when it was offered
	patience time.Duration
}

// openSite starts the nodes of a place. The caller must close it.
func openSite(ctx context.Context, where string, turns int64) *site {
	ctx, cancel := context.WithCancel(ctx)
	si := &site{pids: []int{os.Getpid()}, stops: []func(){cancel}}
	text := strconv.FormatInt(turns, 10)
	switch where {
	case siteLocal:
		n, s := si.own(ctx, nil)
		spawn(ctx, n, turns, s)
	case siteTCP:
		addr := si.child(ctx, "agents", text, where)
		for _, name := range askerNames {
			a := dial(ctx, addr, name)
			si.stops, si.askers = append(si.stops, a.stop), append(si.askers, a)
		}
	case siteNode:
		addr := si.child(ctx, "agents", text, where)
		si.child(ctx, "third", "0", where, addr)
		n, _ := si.own(ctx, &runtime.ClusterOptions{Gossip: "127.0.0.1:0", Join: []string{addr}})
		unknown := func(id p.AgentID) bool { _, known := n.Directory().Lookup(id); return !known }
		for len(n.Members()) < len(si.pids) || slices.ContainsFunc(agents, unknown) {
			check(wait(ctx, pause))
		}
	default:
		check(fmt.Errorf("no such place: %q; there are local, tcp and node", where))
	}
	return si
}

// child starts a child of the place, and returns its address.
func (si *site) child(ctx context.Context, args ...string) string {
	c := startChild(ctx, args...)
	si.processes, si.pids = append(si.processes, c.call), append(si.pids, c.cmd.Process.Pid)
	si.stops = append(si.stops, func() {
		_ = c.cmd.Process.Kill() // it has nothing to lose
		_ = c.cmd.Wait()
	})
	return c.addr
}

// own starts a node in this process, which asks.
func (si *site) own(ctx context.Context, cluster *runtime.ClusterOptions) (*runtime.Node, *sampler) {
	n, s := newNode("own", cluster), startSampler(ctx)
	s.watch(ctx, n)
	si.processes = append(si.processes, s.call)
	si.stops = append(si.stops, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		_ = n.Stop(ctx) // whether it stops in order is not measured
	})
	for _, name := range askerNames {
		si.askers = append(si.askers, client{ctx, must(n.Client(ctx, name))})
	}
	return n, s
}

// stopTime is how long a node or a session may take to stop.
const stopTime = 5 * time.Second

// close stops what openSite has started.
func (si *site) close() {
	for _, stop := range slices.Backward(si.stops) {
		stop()
	}
}

// call calls all processes. It returns the usage of that with the agents, with what all nodes
// have lost.
func (si *site) call(command string) usage {
	agents := si.processes[0](command)
	for _, other := range si.processes[1:] {
		agents.Lost += other(command).Lost
	}
	return agents
}

// client asks as an agent of a node.
type client struct {
	ctx  context.Context //nolint:containedctx // of the place
	self actors.Self
}

func (c client) ask(r request, told func(error)) {
	ctx, cancel := context.WithDeadline(c.ctx, r.at.Add(r.patience))
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
