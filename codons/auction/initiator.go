package auction

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// initiatorSide is the auctioneer's side of the conversation with one bidder.
type initiatorSide struct {
	codons.InitiatorSide
	arrivals *atomic.Int64 // counts the bids of all bidders; nil while a conversation is rebuilt
	arrival  atomic.Int64  // the number of the latest bid of this bidder, in the order of arrival; not recorded

	// Touched on the conversation's actor, and read after its end.
	kept    initiatorData
	invalid error // the error of the latest bid, nil when it was valid
	result  performatives.InformResult
}

func initiating() codons.Side { return &initiatorSide{} }

// initiatorData is the data of the auctioneer's side.
type initiatorData struct {
	Asked   any         `json:"asked"`
	Lot     Lot         `json:"lot"`
	Latest  calledPrice `json:"latest"`
	End     End         `json:"end"` // the content of the INFORM to the winner; zero for other bidders
	Invalid string      `json:"invalid,omitempty"`
}

// Data returns the data that Reduce keeps.
func (s *initiatorSide) Data() any {
	d := s.kept
	d.Asked = s.InitiatorSide.Data()
	if s.invalid != nil {
		d.Invalid = s.invalid.Error()
	}
	return d
}

// hasWon reports whether the bidder has won, and the auction was not withdrawn.
func (s *initiatorSide) hasWon() bool {
	return s.kept.End.Won && !errors.Is(s.Err(), performatives.CodeCanceled)
}

// Reduce keeps the lot, the latest call, the end that is sent to a winner, and the error of a bid.
func (s *initiatorSide) Reduce(v *codons.Value, e *codons.Input) {
	s.InitiatorSide.Reduce(v, e)
	if e.On == machine.Commanded(machine.CommandStart) {
		s.kept.Lot, _ = performatives.PayloadAs[Lot](e.Message) // composed by the Auction, so it is readable
	}
	if call, ok := e.Data.(calledPrice); ok {
		s.kept.Latest = call
	}
	if end, ok := e.Data.(End); ok && end.Won && e.Sends() {
		s.kept.End = end
	}
	if e.Message != nil && e.Message.Performative() == performatives.ActPropose {
		_, s.invalid = s.bid(e.Message)
		if s.arrivals != nil && v.State() == stateProposed {
			s.arrival.Store(s.arrivals.Add(1))
		}
	}
}

// Compose returns the contents of calls, ends and rejections.
func (s *initiatorSide) Compose(v *codons.Value, f machine.Effect, e *codons.Input) any {
	if call, ok := e.Data.(calledPrice); ok {
		return call.Offer
	}
	if f.Act == performatives.ActRejectProposal {
		r := s.rejection(v)
		return performatives.RejectProposal{ReasonCode: r.Code, ReasonText: r.Text}
	}
	return s.InitiatorSide.Compose(v, f, e)
}

// rejection returns the reason for which a bid is rejected: another was first, or it is
// invalid.
func (s *initiatorSide) rejection(v *codons.Value) performatives.Refusal {
	r := performatives.Refusal{Code: performatives.CodeRejected, From: v.Self(), Text: performatives.CodeRejected.Traits().Text}
	if invalid := performatives.RefusalOf(s.invalid); invalid != nil && v.State() == standard.StateFailed {
		r.Code, r.Text = invalid.Code, invalid.Text
	}
	return r
}

// ReplyBy returns the time by which a call or the transaction is to be answered.
func (s *initiatorSide) ReplyBy(_ *codons.Value, f machine.Effect) time.Time {
	if f.Act == performatives.ActCFP {
		return s.kept.Latest.By
	}
	return s.kept.Lot.EndsBy
}

// Timer sets the end of the round, or of the auction.
func (s *initiatorSide) Timer(v *codons.Value, name string, now time.Time) time.Duration {
	switch {
	case name != machine.TimerDeadline:
		return s.InitiatorSide.Timer(v, name, now)
	case v.State() == stateCalled:
		return s.kept.Latest.By.Sub(now)
	}
	return s.kept.Lot.EndsBy.Sub(now)
}

// Tag returns the tag of a message, as the codon has it; a bid at another price than the
// latest is unreadable, too.
func (s *initiatorSide) Tag(_ *codons.Value, m *performatives.Message) string {
	if m.Performative() != performatives.ActPropose {
		return tag(m)
	}
	if _, err := s.bid(m); err != nil {
		return tagUnreadable
	}
	return ""
}

// bid reads a bid at the latest price.
func (s *initiatorSide) bid(m *performatives.Message) (PriceBid, error) {
	bid, err := performatives.PayloadAs[PriceBid](m)
	if err == nil && bid.Price != s.kept.Latest.Offer.Price {
		err = invalid("price", fmt.Sprintf("the called price of %d, got %d", s.kept.Latest.Offer.Price, bid.Price))
	}
	return bid, err
}

// Ended keeps the result of the transaction, or the reason for which the bidder was absent.
func (s *initiatorSide) Ended(c *codons.Conversation, last *performatives.Message) {
	var err error
	switch {
	case c.State() == stateOver:
	case c.State() == standard.StateCompleted:
		s.result, err = codons.PayloadOf[performatives.InformResult](c, last)
	case last != nil && last.Performative() == performatives.ActPropose:
		err = c.Rejected(s.rejection(&c.Value))
	default:
		err = c.EndError(last)
	}
	s.Close(err)
}
