package machine

import (
	"testing"
	"time"
)

// awardOne is the coordination of a contract net: once all have answered, at most
// one proposal is taken.
func awardOne() Coordination {
	return Coordination{
		Name: "award one", Machine: contractNet().MustCompile(),
		Rules: []Rule{{
			Name: "award", Doc: "nobody is left to answer",
			When: func(c Census) bool { return c.Count(Idle, called) == 0 },
			Of:   []State{proposed},
			Say:  []Choice{{Command: "award", Max: 1}, {Command: "decline"}},
		}},
		Never: []Never{
			{Name: "two are awarded", When: func(i, _ Census) bool { return i.Count(awarded, completed) > 1 }},
			{Name: "two work", When: func(_, r Census) bool { return r.Count(working, completed) > 1 }},
		},
		Unbidden: []string{"cancel"},
	}
}

func TestExploreGroup(t *testing.T) {
	for _, net := range []Network{{}, Calm()} {
		for n := 1; n <= 3; n++ {
			start := time.Now()
			r, err := ExploreGroup(awardOne(), n, net)
			t.Log(r, time.Since(start))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
