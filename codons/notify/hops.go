package notify

import (
	"encoding/json"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

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
