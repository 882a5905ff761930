package machine

import (
	"testing"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestReceiptAnswersCancel gives a responder a request, a CANCEL that it refuses, a
// notice, and a CANCEL that it accepts.
func TestReceiptAnswersCancel(t *testing.T) {
	var q Requests
	q.Accept(p.ActRequest, 4, nil)
	q.Accept(p.ActCancel, 6, []Effect{Refuse(p.CodeCanceled)})
	q.Accept(p.ActInform, 7, nil)
	if got := q.Answered(p.ActInform); got != 4 {
		t.Errorf("before CANCEL, INFORM answers %d", got)
	}
	q.Accept(p.ActCancel, 8, nil)
	for act, want := range map[p.Performative]uint8{p.ActInform: 8, p.ActFailure: 8, p.ActInformResult: 4} {
		if got := q.Answered(act); got != want {
			t.Errorf("after CANCEL, %s answers %d, want %d", act, got, want)
		}
	}
}

func TestNothingIsAnswered(t *testing.T) {
	var q Requests
	q.Accept(p.ActInform, 1, nil)
	q.Accept(p.ActRequest, 2, []Effect{Drop("late")})
	if got := q.Answered(p.ActInform); got != 0 {
		t.Errorf("got %d", got)
	}
}
