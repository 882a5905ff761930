package machine

import (
	"iter"

	"github.com/ribosome-agents/ribosome/internal/bitset"
)

// Activity records which timers are armed and which jobs run on one side of a
// conversation. It models what a shell keeps beside a [Status]. The zero
// value has no timer and no job. Activities of one machine and role compare with
// ==; others have nothing in common.
type Activity struct {
	armed    bitset.Set // timers
	running  bitset.Set // jobs that have not ended
	stopping bitset.Set // of these, the jobs that were asked to stop
}

// WithoutTimers returns the activity with every timer disarmed, as on entering a
// terminal state.
func (a Activity) WithoutTimers() Activity {
	a.armed = 0
	return a
}

// WithoutJobs returns the activity with its timers alone.
func (a Activity) WithoutJobs() Activity { return Activity{armed: a.armed} }

// Apply returns the activity of a role after an effect. Only [Arm], [Disarm],
// [Run] and [Stop] change it. A job that already runs is not started twice.
func (m *Machine) Apply(a Activity, role Role, e Effect) Activity {
	switch e.Kind {
	case EffectArm:
		a.armed = a.armed.With(m.layout().timer(role, e.Name))
	case EffectDisarm:
		a.armed = a.armed.Without(m.layout().timer(role, e.Name))
	case EffectRun:
		a.running = a.running.With(m.layout().job(role, e.Name))
	case EffectStop:
		a.stopping |= a.running & bitset.Set(0).With(m.layout().job(role, e.Name))
	case EffectSend, EffectResend, EffectRefuse, EffectReport, EffectDrop:
	}
	return a
}

// Jobs yields the names of the running jobs of a role, and whether each was asked
// to stop.
func (m *Machine) Jobs(a Activity, role Role) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for i := range a.running.All {
			if !yield(m.layout().jobs[role][i].Name, a.stopping.Has(i)) {
				return
			}
		}
	}
}

// Timeouts yields the expiry of each armed timer of a role, with the activity at
// that moment: the timer is no longer armed.
func (m *Machine) Timeouts(a Activity, role Role) iter.Seq2[Symbol, Activity] {
	return func(yield func(Symbol, Activity) bool) {
		for i := range a.armed.All {
			after := a
			after.armed = a.armed.Without(i)
			if !yield(Timeout(m.layout().timers[role][i]), after) {
				return
			}
		}
	}
}

// Commands yields every command that can come to a role in a state, with the
// activity at that moment: the commands of the running jobs, of which a final one
// ends its job, and the commands of the agent that the state has rows for.
func (m *Machine) Commands(a Activity, role Role, state State) iter.Seq2[Symbol, Activity] {
	i, known := m.layout().index[state]
	if !known {
		return func(func(Symbol, Activity) bool) {}
	}
	return m.commands(a, role, i)
}

// commands is Commands for the state with that index.
func (m *Machine) commands(a Activity, role Role, state uint8) iter.Seq2[Symbol, Activity] {
	return func(yield func(Symbol, Activity) bool) {
		for i := range a.running.All {
			if !a.jobCommands(m.layout().jobs[role][i], i, yield) {
				return
			}
		}
		for _, on := range m.layout().commands[role][state] {
			if !yield(on, a) {
				return
			}
		}
	}
}

// jobCommands yields the commands of the running job with number i. It reports
// whether to go on.
func (a Activity) jobCommands(j Job, i int, yield func(Symbol, Activity) bool) bool {
	for _, name := range j.Says {
		if !yield(Commanded(name), a) {
			return false
		}
	}
	ended := a
	ended.running, ended.stopping = a.running.Without(i), a.stopping.Without(i)
	for _, name := range j.Ends {
		if !yield(Commanded(name), ended) {
			return false
		}
	}
	return true
}
