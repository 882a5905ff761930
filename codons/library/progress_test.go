package library_test

import (
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestProgressEnds checks at which message a node that passes messages on takes a conversation for
// ended. Upper case is the initiator's.
func TestProgressEnds(t *testing.T) {
	type said struct {
		from machine.Role
		act  p.Performative
		tag  string
	}
	asks := func(a p.Performative) said { return said{machine.Initiator, a, ""} }
	says := func(a p.Performative, tag ...string) said {
		s := said{machine.Responder, a, ""}
		if len(tag) > 0 {
			s.tag = tag[0]
		}
		return s
	}
	for _, tt := range []struct {
		codon string
		all   []said
		ends  bool
	}{
		{"task-delegation", []said{asks(p.ActTaskRequest)}, false},
		{"task-delegation", []said{asks(p.ActTaskRequest), says(p.ActTaskAccept), says(p.ActStatusUpdate)}, false},
		{"task-delegation", []said{asks(p.ActTaskRequest), says(p.ActTaskAccept), says(p.ActInformResult)}, true},
		{"task-delegation", []said{asks(p.ActTaskRequest), says(p.ActTaskAccept), says(p.ActInformResult, "input")}, false},
		{"task-delegation", []said{asks(p.ActTaskRequest), says(p.ActTaskReject)}, true},
		{"task-delegation", []said{asks(p.ActTaskRequest), says(p.ActFailure)}, true},
		{"task-delegation", []said{asks(p.ActTaskRequest), asks(p.ActCancel)}, false},
		{"task-delegation", []said{asks(p.ActTaskRequest), asks(p.ActCancel), says(p.ActInform, standard.TagReceipt)}, true},
		{"english-auction", []said{asks(p.ActInform), asks(p.ActCFP), says(p.ActRefuse)}, true}, // it has left
		{"english-auction", []said{asks(p.ActInform), asks(p.ActCFP), says(p.ActPropose), asks(p.ActRejectProposal)}, false},
		{"contract-net", []said{asks(p.ActCFP), says(p.ActPropose)}, false},
		{"contract-net", []said{asks(p.ActCFP), says(p.ActRefuse)}, true},
		{"contract-net", []said{asks(p.ActCFP), says(p.ActPropose), asks(p.ActAcceptProposal), says(p.ActInformResult)}, true},
		{"query-ref", []said{asks(p.ActQueryRef), says(p.ActInformRef)}, true},
		{"subscribe", []said{asks(p.ActSubscribe), says(p.ActAgree), says(p.ActInform)}, false},
		{"request", []said{asks(p.ActRequest), says(p.ActAgree)}, false},
		{"request", []said{asks(p.ActRequest), says(p.ActInform)}, true},
	} {
		i := slices.IndexFunc(library.Codons(), func(c *codons.Codon) bool { return c.Name() == tt.codon })
		if i < 0 {
			t.Errorf("no codon %s", tt.codon)
			continue
		}
		at := machine.NewProgress(library.Codons()[i].Machine())
		for _, s := range tt.all {
			if at = at.After(machine.Utterance{From: s.from, Act: s.act, Tag: s.tag}); at == nil {
				t.Errorf("%s: %v: %s is not legal", tt.codon, tt.all, s.act)
				break
			}
		}
		if at != nil && at.Ended() != tt.ends {
			t.Errorf("%s: %v: ended %t", tt.codon, tt.all, at.Ended())
		}
	}
}
