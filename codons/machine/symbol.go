package machine

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Kind says where an event comes from.
type Kind uint8

// The kinds of symbols. The zero value is none.
const (
	KindReceive   Kind = iota + 1 // a message that was not seen before
	KindDuplicate                 // a message whose id was seen before
	KindStale                     // an answer to an earlier request than the latest
	KindCommand                   // the agent, or a job of it, wants something
	KindTimeout                   // an armed timer expired

	kindOtherRequest // any other fresh message that expects a reply
	kindOtherNotice  // any other fresh message that expects none
	kindOtherRepeat  // any other duplicate
)

var kindNames = [...]string{
	KindReceive: "receive", KindDuplicate: "duplicate", KindStale: "stale", KindCommand: "command", KindTimeout: "timeout",
	kindOtherRequest: "any other request", kindOtherNotice: "any other notice",
	kindOtherRepeat: "any other duplicate",
}

// String returns the name in lower case.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// Symbol is what a row of a table matches: an event without its time and id.
// Symbols compare with ==. The constructors below make them.
type Symbol struct {
	Kind Kind
	Act  performatives.Performative // of a message; zero for commands and timeouts
	Name string                     // the command or timer; of a message its tag, mostly empty
}

// Receive is the arrival of a message that was not seen before.
func Receive(act performatives.Performative) Symbol { return Symbol{Kind: KindReceive, Act: act} }

// ReceiveTagged is [Receive] of a message whose content matters to the table, as
// INFORM_RESULT asking for input does (addenda §3). A tag that no row of the
// state names means nothing there: the row of the bare act applies.
func ReceiveTagged(act performatives.Performative, tag string) Symbol {
	return Symbol{Kind: KindReceive, Act: act, Name: tag}
}

// Duplicate is the arrival of a message whose id was seen before in the
// conversation: sent again by a peer that heard no answer, or by the network.
func Duplicate(act performatives.Performative) Symbol { return Symbol{Kind: KindDuplicate, Act: act} }

// Stale is the arrival of a message, not seen before, whose InReplyTo names an
// earlier request of this side than its latest of the same act: a straggler of
// a round that is over. It keeps the message's tag in an event. Where no row
// names it, it is taken as received in time.
func Stale(act performatives.Performative) Symbol { return Symbol{Kind: KindStale, Act: act} }

// Command is a wish of the agent on this side, or a word of one of its jobs.
func Command(name string) Symbol { return Symbol{Kind: KindCommand, Name: name} }

// Timeout is the expiry of an armed timer.
func Timeout(timer string) Symbol { return Symbol{Kind: KindTimeout, Name: timer} }

// The wildcards below stand, in a [Row], for every reception of their kind that
// no other row of the same state names, of all acts, whether the protocol has
// them or not. [Table.Compile] expands them; they are no events.

// OtherRequests stands for the fresh receptions of acts that expect a reply.
func OtherRequests() Symbol { return Symbol{Kind: kindOtherRequest} }

// OtherNotices stands for the fresh receptions of acts that expect no reply.
func OtherNotices() Symbol { return Symbol{Kind: kindOtherNotice} }

// OtherDuplicates stands for the duplicates.
func OtherDuplicates() Symbol { return Symbol{Kind: kindOtherRepeat} }

// String returns words such as "receive TASK_ACCEPT" or "timeout deadline".
func (s Symbol) String() string {
	text := s.Kind.String()
	if s.Act != 0 {
		text += " " + s.Act.String()
	}
	switch {
	case s.Name == "":
		return text
	case s.Act != 0:
		return text + " (" + s.Name + ")"
	}
	return text + " " + s.Name
}

// expand returns the symbols that a wildcard stands for, nil for a plain symbol.
func (s Symbol) expand() []Symbol {
	kind, wanted := s.wildcard()
	if kind == 0 {
		return nil
	}
	var symbols []Symbol
	for act := range performatives.Performatives() {
		if wanted(act) {
			symbols = append(symbols, Symbol{Kind: kind, Act: act})
		}
	}
	return symbols
}

// wildcard returns the kind and the acts that s stands for, kind zero for a
// plain symbol.
func (s Symbol) wildcard() (Kind, func(performatives.Performative) bool) {
	all := func(performatives.Performative) bool { return true }
	switch s.Kind {
	case kindOtherRequest:
		return KindReceive, performatives.Performative.ExpectsReply
	case kindOtherNotice:
		return KindReceive, func(p performatives.Performative) bool { return !p.ExpectsReply() }
	case kindOtherRepeat:
		return KindDuplicate, all
	case KindReceive, KindDuplicate, KindStale, KindCommand, KindTimeout:
	}
	return 0, nil
}
