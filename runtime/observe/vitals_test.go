package observe

import (
	"fmt"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// What is kept is bounded: agents by their number, and open requests by two generations, of which the older is forgotten.
func TestVitalsBounded(t *testing.T) {
	h := health{agents: map[performatives.AgentID]*vitals{}, younger: map[question]asked{}}
	for i := range maxVitals + 2 {
		if v := h.of(performatives.AgentID(fmt.Sprint("a", i))); (v == nil) != (i >= maxVitals) {
			t.Fatalf("%d: %v", i, v)
		}
	}
	for i := range 2*maxAsked + 1 {
		h.note(question{"a", fmt.Sprint(i)}, asked{"w", time.Unix(1, 0)})
	}
	if _, ok := h.find(question{"a", "0"}); ok || len(h.younger) != 1 || len(h.older) != maxAsked {
		t.Errorf("%v, %d and %d", ok, len(h.younger), len(h.older))
	}
	if _, ok := h.find(question{"a", fmt.Sprint(maxAsked)}); !ok {
		t.Error("the older generation is forgotten too early")
	}
}
