package verify

import "cmp"

// Network selects the events that an exploration considers beside the deliveries of
// messages. The zero value is the worst network: messages are lost, duplicated
// without bound and delivered in any order, the runtime refuses any copy of a
// message, every armed timer may expire at any moment, and either agent may stop.
type Network struct {
	Reliable   bool // every message arrives and no peer is lost, so a conversation does not end with an idle responder
	Once       bool // no message arrives twice, unless it is sent twice
	NoTimeouts bool // no timer ever expires
	NoStops    bool // no agent stops, and each can read what it receives

	// Strict adds the rules that only an exploration can check: see [RuleWildcard],
	// [RuleArmed], [RuleRunning], [RuleRepeat] and [RuleReceipt].
	Strict bool

	// Repeat is the largest number of different messages of one act and tag that each side
	// sends on command, for instance requests, and so rounds, and progress reports.
	// Zero means 2. Losses, duplicates and retries need no bound.
	Repeat int

	// MaxStates is the largest number of states: a larger exploration fails. Zero
	// means 4,000,000.
	MaxStates int
}

// What the explorations know of the standard rows of package codons/standard.
const (
	commandCancel = "cancel"  // the initiator ends a conversation
	commandStop   = "stop"    // an agent stops
	tagReceipt    = "receipt" // of the message that answers a withdrawal
)

// Calm returns the network on which a conversation must end without any timer: it
// delivers every message once, in any order, and no agent stops.
func Calm() Network {
	return Network{Reliable: true, Once: true, NoTimeouts: true, NoStops: true}
}

// calm reports whether nothing can be lost or late.
func (n Network) calm() bool { return n.Reliable && n.NoTimeouts && n.NoStops }

func (n Network) withDefaults() Network {
	n.Repeat = cmp.Or(n.Repeat, 2)
	n.MaxStates = cmp.Or(n.MaxStates, 4_000_000)
	return n
}
