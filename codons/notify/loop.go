package notify

import (
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// memberChain is the member of the envelope's metadata of a notice that an agent has sent, with
// a plain handle, while it handled a notice, for one of chainStep such notices and what follows
// from it. The value has the length of the chain, in steps, in its lowest bits, and above them
// the time of the first step, in Unix milliseconds.
const memberChain = "notice_chain"

// A chain of about chainStep×chainLoop notices in loopTime is a loop. chainStep is the number of
// notices of a step, on average: counting each notice would cost each one a member.
const (
	chainStep = 64
	chainLoop = 16
	chainBits = 5
	loopTime  = time.Minute
)

// nextChain returns the value of memberChain for a notice of the agent, and zero for no member.
// It reports a loop to the system, and begins anew.
func nextChain(self actors.Self, to performatives.AgentID) int64 {
	m := self.Handling()
	if m == nil || m.Performative() != performatives.ActInform {
		return 0
	}
	chain := chainOf(m)
	if rand.N(chainStep) > 0 { //nolint:gosec // a sample
		return chain
	}
	now := time.Now().UnixMilli()
	if chain == 0 || now-chain>>chainBits > loopTime.Milliseconds() {
		return now<<chainBits + 1
	}
	if chain++; chain&(1<<chainBits-1) < chainLoop {
		return chain
	}
	self.System().ReportLoop(self.ID(), to, chainStep*chainLoop)
	return 0
}

// chainOf returns the value of memberChain of a received notice, zero for none.
func chainOf(m *performatives.Message) (chain int64) {
	if raw, ok := m.Metadata(memberChain); ok && json.Unmarshal(raw, &chain) != nil {
		return 0
	}
	return max(chain, 0)
}
