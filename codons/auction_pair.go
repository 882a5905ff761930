package codons

import (
	"errors"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// offering is the auctioneer's side of the conversation with one bidder.
type offering struct {
	asker
	lot Lot

	// Touched on the conversation's actor, and read once done is closed.
	latest   auctionCall
	nonsense error      // what is wrong with the bid that came last
	end      AuctionEnd // what the winner was told; zero for the others
	result   performatives.InformResult
}

// hasWon reports whether the bidder has won, and the auction was not withdrawn.
func (o *offering) hasWon() bool {
	return o.end.Won && !errors.Is(o.err, performatives.CodeCanceled)
}

func (o *offering) payload(c *conversation, e machine.Effect, data any) any {
	if call, ok := data.(auctionCall); ok {
		o.latest, data = call, call.offer
	}
	switch {
	case e.Name == tagWon:
		o.end, _ = data.(AuctionEnd)
	case e.Name == tagClosed && data == nil: // out of time
		data = AuctionEnd{Item: o.lot.Item, Over: true}
	case e.Act == performatives.ActRejectProposal:
		r := o.rejection(c)
		data = performatives.RejectProposal{ReasonCode: r.Code, ReasonText: r.Text}
	}
	return o.asker.payload(c, e, data)
}

// rejection is why a bid is rejected: another was first, or it was none.
func (o *offering) rejection(c *conversation) performatives.Refusal {
	r := performatives.Refusal{Code: performatives.CodeRejected, From: c.self.ID(), Text: performatives.CodeRejected.Traits().Text}
	if nonsense := asRefusal(o.nonsense); nonsense != nil && c.state.State == stateFailed {
		r.Code, r.Text = nonsense.Code, nonsense.Text
	}
	return r
}

// replyBy is until when a call or the transaction is to be answered.
func (o *offering) replyBy(_ *conversation, e machine.Effect) time.Time {
	if e.Act == performatives.ActCFP {
		return o.latest.by
	}
	return o.lot.EndsBy
}

func (o *offering) timer(c *conversation, name string) time.Duration {
	switch {
	case name != timerDeadline:
		return o.asker.timer(c, name)
	case c.state.State == stateCalled:
		return time.Until(o.latest.by)
	}
	return time.Until(o.lot.EndsBy)
}

// tag also tells a bid of another price than the one that was called.
func (o *offering) tag(m *performatives.Message) string {
	if m.Performative() != performatives.ActPropose {
		return auctionTag(m)
	}
	bid, err := performatives.PayloadAs[PriceBid](m)
	if err == nil && bid.Price != o.latest.offer.Price {
		err = unsound("price", fmt.Sprintf("the %d that was called, got %d", o.latest.offer.Price, bid.Price))
	}
	if o.nonsense = err; err != nil {
		return tagUnreadable
	}
	return ""
}

func (o *offering) ended(c *conversation, last *performatives.Message) {
	defer close(o.done)
	switch {
	case c.state.State == stateOver:
	case c.state.State == stateCompleted:
		if o.result, o.err = performatives.PayloadAs[performatives.InformResult](last); o.err != nil {
			o.err = c.unreadable(o.err)
		}
	case last != nil && last.Performative() == performatives.ActPropose:
		o.err = &EndError{Protocol: c.machine.Name(), Peer: c.peer, State: c.state.State, Refusal: o.rejection(c)}
	default:
		o.err = c.endError(last)
	}
}
