package codons

import (
	"testing"
	"time"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestUsageWithoutReport checks what a lease counts as used when the last message of the peer
// reports no usage.
func TestUsageWithoutReport(t *testing.T) {
	request := aRequest(t)
	for act, want := range map[p.Performative]int64{
		p.ActTaskReject: 0, p.ActRefuse: 0, p.ActNotUnderstood: 0, p.ActFailure: 7, p.ActInform: 7,
	} {
		last, err := request.ReplyAs(p.Stamp{ID: "last", Time: time.Now()}, act, p.Raw(`{"reason_text": "no", "error_text": "no"}`))
		if err != nil {
			t.Fatal(err)
		}
		used := child{granted: Budget{Tokens: 7, Depth: 3}}.used(last)
		if _, depth := used[Depth]; used[Tokens] != want || depth {
			t.Errorf("%s: used %v, want %d tokens", act, used, want)
		}
	}
}
