package kit

import (
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
)

// Seeds is the number of seeds for the conformance test of a family: few, because there is a test
// for each codon, and many in the long tests.
func Seeds() codontest.Option {
	if exhaustive.Enabled() {
		return codontest.Seeds(1000)
	}
	return codontest.Seeds(8)
}
