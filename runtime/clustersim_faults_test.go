package runtime_test

import (
	"context"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/runtime"
)

// heal ends all that disturbs the network.
func (s *clusterSwarm) heal() {
	s.members.Heal()
	s.links.mu.Lock()
	clear(s.links.cut)
	s.links.mu.Unlock()
	for i := range clusterNodes {
		s.resume(i)
	}
}

func (s *clusterSwarm) resume(i int) {
	s.members.Resume(clusterAddress(i))
	s.links.resume(clusterNodeName(i))
	if c := s.nodes[i]; c != nil {
		c.sim.Resume()
	}
}

func (s *clusterSwarm) cut(from, to int, cut bool) {
	s.members.Cut(clusterAddress(from), clusterAddress(to), cut)
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	s.links.cut[[2]string{clusterNodeName(from), clusterNodeName(to)}] = cut
}

// disturbNetwork cuts the network, and breaks streams.
func (s *clusterSwarm) disturbNetwork() {
	for s.busy() {
		s.idle("network", s.dice.upTo(12*time.Second))
		calm := s.disturb()
		switch s.dice.n(6) {
		case 0:
			s.count("partition")
			side := 1 + s.dice.n(1<<clusterNodes-2)
			for i := range clusterNodes {
				for j := range clusterNodes {
					s.cut(i, j, side>>i&1 != side>>j&1)
				}
			}
			s.note("partition %b", side)
			s.idle("network", s.dice.upTo(20*time.Second))
			s.cutNothing()
		case 1:
			s.count("cut one way")
			i := s.dice.n(clusterNodes)
			j := (i + 1 + s.dice.n(clusterNodes-1)) % clusterNodes
			s.cut(i, j, true)
			s.note("cut %d to %d", i+1, j+1)
			s.idle("network", s.dice.upTo(20*time.Second))
			s.cutNothing()
		case 2:
			s.count("slow one way")
			way := [2]string{clusterNodeName(s.dice.n(clusterNodes)), clusterNodeName(s.dice.n(clusterNodes))}
			s.note("slow %v", way)
			s.links.setSlow(way, s.dice.upTo(3*time.Second))
			s.idle("network", s.dice.upTo(20*time.Second))
			s.links.setSlow(way, 0)
		case 3:
			s.count("burst loss")
			s.note("burst loss")
			s.members.Lose(0.3 + 0.6*s.dice.fraction())
			s.links.breakSome()
			s.idle("network", s.dice.upTo(3*time.Second))
			s.members.Lose(clusterLoss)
		default:
			s.count("break streams")
			s.note("break streams")
			s.links.breakSome()
		}
		calm()
	}
}

func (s *clusterSwarm) cutNothing() {
	s.note("heal")
	s.members.Heal()
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	clear(s.links.cut)
}

// disturbNodes pauses, crashes and stops nodes, and starts them again.
func (s *clusterSwarm) disturbNodes() {
	for s.busy() {
		s.idle("nodes", s.dice.upTo(20*time.Second))
		calm := s.disturb()
		i := s.dice.n(clusterNodes)
		switch s.dice.n(5) {
		case 0, 1:
			s.pause(i)
			calm()
			continue
		case 2:
			s.count("crash")
			s.note("crash %s", s.nodes[i].Name())
			s.crash(i)
		case 3:
			s.leave(i, "drain", (*runtime.Node).Drain)
		default:
			s.leave(i, "leave", (*runtime.Node).Stop)
		}
		s.idle("nodes", s.dice.upTo(20*time.Second))
		s.boot(i)
		calm()
	}
}

// pause stops a node for a while: nothing of it runs, and then it goes on.
func (s *clusterSwarm) pause(i int) {
	c, began := s.nodes[i], time.Now()
	s.count("pause")
	s.note("pause %s", c.Name())
	c.sim.Pause()
	s.members.Pause(clusterAddress(i))
	s.links.mu.Lock()
	s.links.paused[c.Name()] = true
	s.links.mu.Unlock()
	s.idle("nodes", s.dice.upTo(15*time.Second))
	s.note("resume %s", c.Name())
	c.pauses = append(c.pauses, [2]time.Time{began, time.Now()})
	s.resume(i)
}

// leave stops a node in order.
func (s *clusterSwarm) leave(i int, how string, stop func(*runtime.Node, context.Context) error) {
	c := s.nodes[i]
	s.nodes[i] = nil
	s.count(how)
	s.note("%s leaves: %s", c.Name(), how)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := stop(c.Node, ctx)
	s.sim.Yield("nodes")
	s.note("%s has left: %v", c.Name(), err)
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "agents were not handed over"): // nobody can be reached who would take them
		s.count("a drain in vain")
	default:
		s.problem("stop %s: %v", c.Name(), err)
	}
	s.members.Crash(clusterAddress(i)) // it has ended, unless it could tell nobody
}

// disturbClocks sets the clocks of nodes.
func (s *clusterSwarm) disturbClocks() {
	for s.busy() {
		s.idle("clocks", s.dice.upTo(20*time.Second))
		if c := s.nodes[s.dice.n(clusterNodes)]; c != nil {
			s.count("clock jump")
			by := s.dice.upTo(time.Minute) - 30*time.Second
			s.note("the clock of %s jumps by %v", c.Name(), by)
			c.clock, c.jumped = c.clock+by, time.Now()
			s.recorder.jumps = append(s.recorder.jumps, c.jumped)
		}
	}
}

// crash ends a node: the others hear nothing of it any more. What it does until it has stopped
// reaches nobody.
func (s *clusterSwarm) crash(i int) {
	c := s.nodes[i]
	s.nodes[i] = nil
	c.crashed, c.crashedAt = true, time.Now()
	s.members.Crash(clusterAddress(i))
	c.links.crash()
	s.sim.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			s.problem("stop of the crashed %s: %v", c.Name(), err)
		}
		s.sim.Yield("crashed " + c.Name())
	})
}

// disturbAgents stops agents, and spawns them there again or at another node.
func (s *clusterSwarm) disturbAgents() {
	for s.busy() {
		s.idle("agents", s.dice.upTo(5*time.Second))
		if s.dice.oneIn(4) {
			s.stopPlaced()
			continue
		}
		id := clusterAgent(s.dice.n(clusterNodes), s.dice.n(clusterAgents))
		from := s.home(id)
		if from == nil {
			continue
		}
		_ = from.StopAgent(context.Background(), id) // it has crashed
		s.sim.Yield("agents")
		delete(from.agents, id)
		to := s.nodes[s.dice.n(clusterNodes)]
		s.idle("agents", s.dice.upTo(3*time.Second))
		switch {
		case to == nil, s.nodes[to.index] != to, s.home(id) != nil: // a node that has restarted has it
		case to == from:
			s.count("stop and spawn")
			s.spawn(to, id, "again")
		default:
			s.count("move")
			s.spawn(to, id, "moved")
		}
	}
}
