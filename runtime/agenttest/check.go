package agenttest

import "github.com/ribosome-agents/ribosome/internal/systemtest"

// Problem is a kind of event that fails a test.
type Problem string

// The problems.
const (
	ErrorLogged    Problem = Problem(systemtest.ErrorLogged)
	Violation      Problem = Problem(systemtest.Violation)      // a message breaks its protocol
	PayloadChanged Problem = Problem(systemtest.PayloadChanged) // after it was sent
	DeadLetter     Problem = Problem(systemtest.DeadLetter)     // a message could not be delivered before the test's end
)

// Allow says that problems of these kinds do not fail the test.
func (n *Node) Allow(problems ...Problem) {
	for _, p := range problems {
		n.world.Allow(systemtest.Problem(p))
	}
}
