package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ribosome-agents/ribosome/actors/events"
)

// decision is a supervisor's decision about one failure, with the parameters to apply it.
type decision struct {
	events.Decision
	system     *actor.ActorSystem
	supervisor actor.Supervisor
	message    any // the message that the child was handling
}

// apply applies the directive.
func (d *decision) apply(allForOne bool) {
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

// children returns the actors to restart or stop. A guardian of the engine has no list of
// its children and panics when asked for it; there only the failed child is affected.
func (d *decision) children(allForOne bool) []*actor.PID {
	if _, isActor := d.supervisor.(actor.Context); !allForOne || !isActor {
		return []*actor.PID{d.Child}
	}
	return d.supervisor.Children()
}

// escalate stops the child, and fails the supervisor if it is an actor.
func (d *decision) escalate() {
	d.supervisor.StopChildren(d.Child)
	if _, isActor := d.supervisor.(actor.Context); isActor {
		d.supervisor.EscalateFailure(d.Reason, d.message)
	}
}

// restart restarts the children after the delay. The failed child is suspended already;
// the others are suspended until then.
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

// target is an actor to restart.
type target struct {
	pid     *actor.PID
	process actor.Process
}

// restart restarts the actor unless it has stopped. The message goes to the process and
// not to the PID, because another actor may have the same PID by now.
func (t target) restart(system *actor.ActorSystem) {
	if p, _ := system.ProcessRegistry.Get(t.pid); p == t.process {
		t.process.SendSystemMessage(t.pid, &actor.Restart{})
	}
}
