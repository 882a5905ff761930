package runtime_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

const (
	clusterPlaced  = 6                // agents that the cluster places, the last of which has no codon
	clusterKind    = "pool"           // theirs
	clusterContest = 25 * time.Second // the longest time for which two run under one id in a network that is whole: until both nodes know of one another, and one has ended its conversations
)

func placedAgent(i int) p.AgentID { return p.AgentID(fmt.Sprintf("%s/%d", clusterKind, i)) }

// placedRun is an activation of a placed agent that has started and not stopped.
type placedRun struct {
	id   p.AgentID
	node *clusterNode
}

// placedWorker is one activation of a placed agent that performs tasks.
type placedWorker struct {
	clusterWorker
	placedLife
}

// placedRaw is one activation of a placed agent without a codon.
type placedRaw struct {
	*clusterRaw
	placedLife
}

// placedLife notes when an activation starts and stops.
type placedLife struct {
	swarm *clusterSwarm
	run   *placedRun
}

// newPlaced returns an activation of a placed agent. Those with an even number keep a state.
func (s *clusterSwarm) newPlaced(c *clusterNode, id p.AgentID) actors.Agent {
	life := placedLife{s, &placedRun{id: id, node: c}}
	switch agent := s.newAgent(c, id).(type) {
	case *clusterRaw:
		return &placedRaw{agent, life}
	case clusterWorker:
		if (id[len(id)-1]-'0')%2 == 0 {
			return &placedKeeper{placedWorker{agent, life}, 0}
		}
		return &placedWorker{agent, life}
	default:
		panic("unknown")
	}
}

// Start notes that the activation runs.
func (l *placedLife) Start(*actors.Context) error {
	l.swarm.mu.Lock()
	defer l.swarm.mu.Unlock()
	l.swarm.placed = append(l.swarm.placed, l.run)
	l.swarm.deeds.count("an activation")
	return nil
}

// Stop notes that it does not any more.
func (l *placedLife) Stop(*actors.Context) {
	l.swarm.mu.Lock()
	defer l.swarm.mu.Unlock()
	l.swarm.placed = slices.DeleteFunc(l.swarm.placed, func(r *placedRun) bool { return r == l.run })
}

// placedKeeper is an activation that goes on with the state of the one before.
type placedKeeper struct {
	placedWorker
	moves int // of the state
}

// Snapshot returns the state.
func (k *placedKeeper) Snapshot() ([]byte, error) { return []byte(strconv.Itoa(k.moves + 1)), nil }

// Restore takes it over.
func (k *placedKeeper) Restore(state []byte) (err error) {
	k.moves, err = strconv.Atoi(string(state))
	k.placedLife.swarm.count("a state that was taken over")
	return err
}

// host has a node run placed agents.
func (s *clusterSwarm) host(c *clusterNode) {
	err := c.RegisterKind(clusterKind, runtime.Kind{
		New: func(id p.AgentID) actors.Agent { return s.newPlaced(c, id) }, Idle: s.dice.upTo(20 * time.Second), MoveTime: s.dice.upTo(3 * time.Second),
	})
	if err != nil {
		s.problem("register at %s: %v", c.Name(), err)
	}
}

// placedTwice returns the ids under which two activations run, on nodes that have not crashed.
func (s *clusterSwarm) placedTwice() (ids []p.AgentID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[p.AgentID]bool)
	for _, r := range s.placed {
		switch {
		case r.node.crashed:
		case seen[r.id]:
			ids = append(ids, r.id)
		default:
			seen[r.id] = true
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// watchPlaced reports an id under which two activations go on running while nothing disturbs the
// cluster.
func (s *clusterSwarm) watchPlaced() {
	since := make(map[p.AgentID]time.Time)
	for s.busy() {
		s.idle("watch placed", time.Second)
		for _, c := range s.nodes {
			if c != nil && s.links.bugs.double {
				c.Mesh().HoldActivations()
			}
		}
		twice := s.placedTwice()
		for id := range since {
			if !slices.Contains(twice, id) {
				delete(since, id)
			}
		}
		quiet, disturbed := s.quietSince()
		for _, id := range twice {
			if since[id].IsZero() {
				since[id] = time.Now()
				s.count("two activations")
			}
			from := since[id]
			if from.Before(quiet) {
				from = quiet
			}
			if !disturbed && time.Since(from) > clusterContest {
				s.problem("two activations of %s run for %v", id, time.Since(from))
				return
			}
		}
	}
}

// disturb notes that something disturbs the cluster, until the function that it returns is called.
func (s *clusterSwarm) disturb() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disturbing++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.disturbing--
		s.calmSince = time.Now()
	}
}

// quietSince returns the end of the last disturbance, and whether one is under way.
func (s *clusterSwarm) quietSince() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calmSince, s.disturbing > 0
}

// stopPlaced stops a placed agent by itself, as if its code had wished it.
func (s *clusterSwarm) stopPlaced() {
	c := s.nodes[s.dice.n(clusterNodes)]
	if c == nil {
		return
	}
	s.count("stop a placed agent")
	_ = c.StopAgent(context.Background(), placedAgent(s.dice.n(clusterPlaced))) // it has crashed
	s.sim.Yield("agents")
}

// unsettledPlaced compares what the nodes know of placed agents with those that run.
func (s *clusterSwarm) unsettledPlaced() (wrong []string) {
	for _, id := range s.placedTwice() {
		wrong = append(wrong, fmt.Sprintf("two activations of %s run", id))
	}
	s.mu.Lock()
	runs := make(map[p.AgentID]string)
	for _, r := range s.placed {
		if !r.node.crashed {
			runs[r.id] = r.node.Name()
		}
	}
	s.mu.Unlock()
	for i := range clusterPlaced {
		id := placedAgent(i)
		for _, c := range s.nodes {
			e, known := c.Directory().Lookup(id)
			first, all := s.nodes[0].Directory().Lookup(id)
			switch on := runs[id]; {
			case known != all || e.Node != first.Node:
				wrong = append(wrong, fmt.Sprintf("%s has %s on %q, and %s on %q", c.Name(), id, e.Node, s.nodes[0].Name(), first.Node))
			case on != "" && e.Node != on:
				wrong = append(wrong, fmt.Sprintf("%s has %s on %q, and it runs on %q", c.Name(), id, e.Node, on))
			}
		}
	}
	return wrong
}
