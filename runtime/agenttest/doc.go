// Package agenttest is a test kit for agents: a node on virtual time, scripted peers, and
// faults by name.
//
//	func TestJulesAnswersAgain(t *testing.T) {
//		agenttest.Run(t, runtime.Options{}, func(t *testing.T, n *agenttest.Node) {
//			n.Spawn("Jules", &Jules{})
//			eddy := n.Peer("Eddy")
//			n.Fault(agenttest.Lose("Jules", performatives.ActTaskAccept).Once())
//			request := eddy.Send("Jules", performatives.TaskRequest{TaskType: "debug_code"})
//			eddy.Await(performatives.ActInformResult)
//			eddy.SendAgain(request)
//			eddy.Expect(performatives.ActInformResult) // the stored result
//			eddy.Silent()
//		})
//	}
//
// For all conversations that a codon's table allows, use package codons/codontest: its Conform runs
// agents in the same world, over the same network, and chooses conversations and faults by a seed.
//
// # Time
//
// [Run] runs a test in a testing/synctest bubble. A deadline of five minutes passes at
// once when nothing else runs, and time.Sleep in an agent costs nothing. Agents must not
// use sockets or other things that a bubble does not know to be blocked.
//
// # Problems
//
// A test fails for an error in the log, a message against its protocol, a payload changed after it
// was sent, and a dead letter: see [Problem]. [Node.Allow] names what a test brings about on
// purpose. A message that a table drops because it comes late or twice is no dead letter here.
//
// # Faults
//
// [Lose], [Duplicate], [Delay] and [Refuse] are faults of the network, and
// [Node.StopAgent] and [Node.RestartAgent] those of agents. A fault that meets no message
// fails the test.
package agenttest
