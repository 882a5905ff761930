package agenttest

import (
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/internal/systemtest"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Fault is what the network does to messages of one sender and act. [Lose], [Duplicate],
// [Delay] and [Refuse] make one; [Node.Fault] sets it.
type Fault struct{ fault systemtest.Fault }

// Lose loses the messages of an act that an agent sends. An empty id stands for all
// agents, and a zero act for all acts, as in all faults.
func Lose(from performatives.AgentID, act performatives.Performative) Fault {
	return fault("Lose", from, act, systemtest.Lost)
}

// Duplicate delivers the messages twice.
func Duplicate(from performatives.AgentID, act performatives.Performative) Fault {
	return fault("Duplicate", from, act, systemtest.Duplicated)
}

// Delay delivers the messages after d.
func Delay(from performatives.AgentID, act performatives.Performative, d time.Duration) Fault {
	return fault("Delay", from, act, systemtest.Delayed(d))
}

// Refuse has the runtime refuse the messages, as with [performatives.CodeBusy] those for
// a full mailbox.
func Refuse(from performatives.AgentID, act performatives.Performative, code performatives.Code) Fault {
	return fault("Refuse", from, act, systemtest.Refused(code))
}

func fault(name string, from performatives.AgentID, act performatives.Performative, do systemtest.Effect) Fault {
	of := "0"
	if act != 0 {
		of = act.String()
	}
	return Fault{systemtest.Fault{Name: fmt.Sprintf("%s(%q, %s)", name, from, of), From: from, Act: act, Left: -1, Do: do}}
}

// To limits the fault to messages for an agent.
func (f Fault) To(id performatives.AgentID) Fault {
	f.fault.To = id
	return f
}

// Once limits the fault to one message.
func (f Fault) Once() Fault { return f.Times(1) }

// Times limits the fault to the next n messages. The test fails when fewer come.
func (f Fault) Times(n int) Fault {
	f.fault.Left = n
	return f
}

// String returns the fault as the test has written it.
func (f Fault) String() string { return f.fault.Name }

// Fault sets a fault of the network. Of several that meet a message, the first counts.
// end takes the fault away. The test fails when the fault has met no message.
func (n *Node) Fault(f Fault) (end func()) { return n.world.Net.Set(f.fault) }
