package swarm_test

import (
	"testing"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/agenttest"
)

// TestJulesAnswersAgain expects the stored result for a request that comes twice, although the
// accept is lost.
func TestJulesAnswersAgain(t *testing.T) {
	agenttest.Run(t, runtime.Options{}, func(t *testing.T, n *agenttest.Node) {
		n.Spawn("Jules", &swarm.Jules{Brain: swarm.Offline{}})
		eddy := n.Peer("Eddy")
		n.Fault(agenttest.Lose("Jules", performatives.ActTaskAccept).Once())
		problem := swarm.Problem{Code: "print(x)\n", Traceback: "NameError: name 'x' is not defined"}
		request := eddy.Send("Jules", performatives.TaskRequest{TaskType: swarm.TaskDebugCode, Parameters: performatives.ContentOf(problem)})
		eddy.Await(performatives.ActInformResult)
		eddy.SendAgain(request)
		eddy.Expect(performatives.ActInformResult)
		eddy.Silent()
	})
}
