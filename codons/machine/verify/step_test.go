package verify

import (
	"math/rand/v2"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestMessagesOfRounds has conversations of six rounds, each of one of three questions and one of
// four answers. There is room for all: the number of an answer tells apart only the answers to one
// question.
func TestMessagesOfRounds(t *testing.T) {
	x := newExplorer(tabletest.Query().MustCompile(), Network{}.withDefaults())
	tags, dice := []string{"A", "B", "C", "D"}, rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var j joint
		var former *message
		for range 6 {
			x.send(&j, message{from: machine.Initiator, act: p.ActRequest, tag: tags[dice.IntN(3)]}, &Move{})
			question := x.messages[machine.Initiator][x.handed]
			j[machine.Responder].requests.Accept(question.act, x.question(question), nil)
			if former != nil && !x.stale(j, machine.Initiator, former) {
				t.Fatalf("%s is not stale after %s", former, question)
			}
			x.send(&j, message{from: machine.Responder, act: p.ActInform, tag: tags[dice.IntN(4)], answers: j[machine.Responder].requests.Answered(p.ActInform)}, &Move{})
			former = &x.messages[machine.Responder][x.handed]
			if latest := x.latestOf(j[machine.Responder], machine.Responder, p.ActInform); latest != x.handed || x.stale(j, machine.Initiator, former) {
				t.Fatalf("%s is not the latest answer, or stale", former)
			}
		}
		if x.problem != nil {
			t.Fatal(x.problem)
		}
	}
}

// TestAnswersInOrder answers two questions of different acts, and an earlier question after a later
// one that was refused: the latest answer is the one that was sent last.
func TestAnswersInOrder(t *testing.T) {
	x := newExplorer(tabletest.Query().MustCompile(), Network{}.withDefaults())
	var j joint
	ask := func(act p.Performative) uint8 {
		x.send(&j, message{from: machine.Initiator, act: act}, &Move{})
		return x.question(x.messages[machine.Initiator][x.handed])
	}
	first, cancel, second := ask(p.ActRequest), ask(p.ActCancel), ask(p.ActRequest)
	for _, question := range []uint8{second, first, cancel, first, second, cancel} {
		x.send(&j, message{from: machine.Responder, act: p.ActFailure, answers: question}, &Move{})
		if latest := x.latestOf(j[machine.Responder], machine.Responder, p.ActFailure); latest != x.handed {
			t.Errorf("%v is the latest answer, not %v", x.messages[machine.Responder][latest], x.messages[machine.Responder][x.handed])
		}
	}
}
