package exchange

import "github.com/ribosome-agents/ribosome/performatives"

// Acts is a set of acts.
type Acts uint64

// ActsOf returns the set of those acts.
func ActsOf(acts ...performatives.Performative) (set Acts) {
	for _, act := range acts {
		set |= 1 << act
	}
	return set
}

// Has reports whether an act is in the set.
func (s Acts) Has(act performatives.Performative) bool { return s&(1<<act) != 0 }

var (
	// Refusals has the acts that say no to a request.
	Refusals = ActsOf(performatives.ActFailure, performatives.ActTaskReject, performatives.ActNotUnderstood, performatives.ActRefuse)
	// Interim has the acts that only say how a request comes on, before its answer.
	Interim = ActsOf(performatives.ActTaskAccept, performatives.ActAgree, performatives.ActStatusUpdate)
	// Opening has the acts that may travel as the call of a tool.
	Opening = ActsOf(performatives.ActTaskRequest, performatives.ActRequest)
)
