package notify

import (
	"encoding/json"
	"fmt"
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

// MaxHops is the largest number of hops of a notice. It ends loops of agents whose handlers
// answer each notice by another one.
const MaxHops = 32

// memberHops is the member of the envelope's metadata with the hops of a notice.
const memberHops = "notice_hops"

// Agent is the handle of an agent in the handler of a notice. A notice that is sent with it,
// from any goroutine, has one hop more than the handled one. A notice that is sent with
// another handle of the agent has none. The zero Agent is not valid.
type Agent struct {
	handle
	hops int // of the handled notice
}

// handle has the methods of an [actors.Self], one of which has the same name as its type.
type handle = actors.Self

// hopsOf returns the hops of a received notice: the number of notices of which it is a
// consequence. A notice of a peer that does not count them has none.
func hopsOf(m *performatives.Message) int {
	raw, ok := m.Metadata(memberHops)
	if !ok {
		return 0
	}
	var hops int
	if json.Unmarshal(raw, &hops) != nil {
		return MaxHops + 1 // a number that no notice has
	}
	return max(hops, 0)
}

// errHops returns the refusal of a notice with too many hops.
func errHops(m *performatives.Message) error {
	return &performatives.Refusal{
		Code: performatives.CodeBudget, About: m.ID(), Field: memberHops,
		Text: fmt.Sprintf("%s: the notice is the consequence of more than %d others", memberHops, MaxHops),
	}
}
