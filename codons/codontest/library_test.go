package codontest

import (
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TestLibrary runs the scripts for codons of the library. Their own sides do more than the
// table says, so that not all of them can be scripted.
func TestLibrary(t *testing.T) {
	contents := map[string][]Option{
		"request": nil, "propose": nil,
		"whispering-wind": {
			Content(codons.CommandStart, performatives.QueryCapabilities{Type: performatives.QuerySummary}),
		},
	}
	for _, c := range library.Codons() {
		if opts, scripted := contents[c.Name()]; scripted {
			t.Run(c.Name(), func(t *testing.T) { Conform(t, c, append(opts, Seeds(12))...) })
		}
	}
}
