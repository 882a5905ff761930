package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// decision is what a supervisor has decided about a failure, and what it takes
// to carry that out.
type decision struct {
	SupervisionEvent
	system     *actor.ActorSystem
	supervisor actor.Supervisor
	message    any // what the child failed on
}

// carryOut applies the directive.
func (d *decision) carryOut(allForOne bool) {
	switch d.Directive {
	case actor.ResumeDirective:
		d.supervisor.ResumeChildren(d.Child)
	case actor.RestartDirective:
		d.restart(d.children(allForOne))
	case actor.StopDirective:
		d.supervisor.StopChildren(d.children(allForOne)...)
	case actor.EscalateDirective:
		d.escalate()
	}
}

// children returns whom a restart or stop concerns. The engine's guardians do
// not know their children, and panic when asked.
func (d *decision) children(allForOne bool) []*actor.PID {
	if _, isActor := d.supervisor.(actor.Context); !allForOne || !isActor {
		return []*actor.PID{d.Child}
	}
	return d.supervisor.Children()
}

// escalate fails the supervisor, if that is an actor, and stops the child.
func (d *decision) escalate() {
	d.supervisor.StopChildren(d.Child)
	if _, isActor := d.supervisor.(actor.Context); isActor {
		d.supervisor.EscalateFailure(d.Reason, d.message)
	}
}

// restart restarts the children after the delay. Those that did not fail are
// suspended until then, as the one that failed is already.
func (d *decision) restart(children []*actor.PID) {
	targets := make([]target, 0, len(children))
	for _, pid := range children {
		if p, ok := d.system.ProcessRegistry.Get(pid); ok {
			targets = append(targets, target{pid, p})
			if !pid.Equal(d.Child) {
				p.SendSystemMessage(pid, &actor.SuspendMailbox{})
			}
		}
	}
	restart := func() {
		for _, t := range targets {
			t.restart(d.system)
		}
	}
	if d.Delay <= 0 {
		restart()
		return
	}
	time.AfterFunc(d.Delay, restart)
}

// target is an actor that is to be restarted.
type target struct {
	pid     *actor.PID
	process actor.Process
}

// restart restarts the actor unless it has stopped. Its name may be another
// actor's by now, so the message goes to the process and not to the name.
func (t target) restart(system *actor.ActorSystem) {
	if p, _ := system.ProcessRegistry.Get(t.pid); p == t.process {
		t.process.SendSystemMessage(t.pid, &actor.Restart{})
	}
}
