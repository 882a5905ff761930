package runtime_test

import (
	"context"
	"time"
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
		switch s.dice.n(4) {
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
		default:
			s.count("break streams")
			s.note("break streams")
			s.links.breakSome()
		}
	}
}

func (s *clusterSwarm) cutNothing() {
	s.note("heal")
	s.members.Heal()
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	clear(s.links.cut)
}

// disturbNodes pauses, crashes and restarts nodes.
func (s *clusterSwarm) disturbNodes() {
	for s.busy() {
		s.idle("nodes", s.dice.upTo(20*time.Second))
		i := s.dice.n(clusterNodes)
		c := s.nodes[i]
		if s.dice.oneIn(2) {
			s.count("pause")
			s.note("pause %s", c.Name())
			s.members.Pause(clusterAddress(i))
			s.links.mu.Lock()
			s.links.paused[c.Name()] = true
			s.links.mu.Unlock()
			s.idle("nodes", s.dice.upTo(15*time.Second))
			s.note("resume %s", c.Name())
			s.resume(i)
			continue
		}
		s.count("crash")
		s.note("crash %s", c.Name())
		s.crash(i)
		s.idle("nodes", s.dice.upTo(20*time.Second))
		s.boot(i)
	}
}

// crash ends a node: the others hear nothing of it any more. What it does until it has stopped reaches nobody.
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
		case to == nil, to.crashed, s.home(id) != nil: // a node that has restarted has it
		case to == from:
			s.count("stop and spawn")
			s.spawn(to, id, "again")
		default:
			s.count("move")
			s.spawn(to, id, "moved")
		}
	}
}
