package codons

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// A path has the last states.
func TestLongPath(t *testing.T) {
	var path, want []machine.State
	for i := range MaxPath + 3 {
		state := machine.State(fmt.Sprint(i))
		path, want = entered(path, state), append(want, state)
	}
	if !slices.Equal(path, want[3:]) {
		t.Errorf("%q", path)
	}
}
