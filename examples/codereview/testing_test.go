package main

// readme:start

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/agenttest"
)

// role is how agents answer the codon.
var role = Review.Answer(codons.Method("review", Reviewer.Review))

// TestTable explores all that can happen in a review.
func TestTable(t *testing.T) { codontest.Explore(t, Review) }

// TestReviews runs reviews over a bad network, with jobs that end by chance.
func TestReviews(t *testing.T) {
	codontest.Conform(t, Review, codontest.Content(machine.CommandStart, Change{Diff: "a.go"}))
}

// TestRev runs reviews of the agent over a bad network.
func TestRev(t *testing.T) {
	codontest.Conform(t, Review,
		codontest.Agent(role, func() actors.Agent { return Rev{} }),
		codontest.Content(machine.CommandStart, Change{Diff: "a.go"}, Change{Diff: "a_test.go"}))
}

// TestRevWantsTests has a scripted author submit a change twice. The network delays the
// comments by a minute, which takes no time.
func TestRevWantsTests(t *testing.T) {
	agenttest.Run(t, runtime.Options{Codons: []*codons.Service{role}}, func(t *testing.T, n *agenttest.Node) {
		n.Spawn("Rev", Rev{})
		author := n.Peer("Author")
		n.Fault(agenttest.Delay("Rev", performatives.ActInform, time.Minute).Once())
		request := runtime.WithAct(performatives.ActRequest)
		first := author.Send("Rev", Change{Diff: "a.go"}, request, runtime.WithMessageType("REVIEW_REQUEST"))
		if got := author.Expect(performatives.ActInform); got.MessageType() != "CHANGES_REQUESTED" {
			t.Errorf("got %s", got.MessageType())
		}
		author.Follow(first, Change{Diff: "a.go a_test.go"}, request, runtime.WithMessageType("REVIEW_REQUEST"))
		if got := author.Expect(performatives.ActInform); got.MessageType() != "APPROVED" {
			t.Errorf("got %s", got.MessageType())
		}
		author.Silent()
	})
}

// readme:end
