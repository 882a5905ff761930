package auction_test

import (
	"testing"

	"github.com/ribosome-agents/ribosome/codons/auction"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestValidate has the bounds of each price, and the field that a refusal names.
func TestValidate(t *testing.T) {
	free := auction.Lot{Item: "a ring", Step: 1}
	lot := func(change func(*auction.Lot)) auction.Lot {
		l := free
		change(&l)
		return l
	}
	negative := lot(func(l *auction.Lot) { l.Reserve = -1 })
	for _, c := range []struct {
		content interface{ Validate() error }
		field   string // empty for a valid content
	}{
		{free, ""},
		{lot(func(l *auction.Lot) { l.Start, l.Step, l.Reserve = 1, 2, 1 }), ""},
		{lot(func(l *auction.Lot) { l.Item = "" }), "item"},
		{lot(func(l *auction.Lot) { l.Start = -1 }), "start"},
		{lot(func(l *auction.Lot) { l.Step = 0 }), "step"},
		{negative, "reserve"},
		{auction.Offer{Lot: free}, ""},
		{auction.Offer{Lot: free, Price: -1}, "price"},
		{auction.Offer{Lot: negative}, "reserve"},
		{auction.Purchase{Lot: free}, ""},
		{auction.Purchase{Lot: negative}, "reserve"},
	} {
		r := p.RefusalOf(c.content.Validate())
		if c.field == "" && r != nil || c.field != "" && (r == nil || r.Code != p.CodeInvalidPayload || r.Field != c.field) {
			t.Errorf("%+v: got %+v, want a refusal for %q", c.content, r, c.field)
		}
	}
	for act, content := range map[p.Performative]interface{ Act() p.Performative }{
		p.ActInform: auction.Lot{}, p.ActCFP: auction.Offer{}, p.ActRequest: auction.Purchase{},
	} {
		if content.Act() != act {
			t.Errorf("%T is the content of %s, not of %s", content, content.Act(), act)
		}
	}
}
