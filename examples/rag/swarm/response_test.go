package swarm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An extract has the sentences that add a term of the question, in the order of the passages, and
// cites each passage once.
func TestExtractAnswer(t *testing.T) {
	all := []Passage{
		{Content: "The zebra has stripes. The zebra sleeps.\n\nA zebra eats grass.", Source: "zebra.md"},
		{Content: "No lion eats grass. Lions roar.", Source: "lion.md", Metadata: Position{Section: "The king"}},
		{Content: "The wolf howls.", Source: "wolf.md"},
	}
	for question, want := range map[string]Responded{
		"Has a zebra stripes?":          {Response: "The zebra has stripes. [1]", Cited: []int{1}, Sources: []string{"zebra.md"}, Confidence: 1},
		"sleeping zebras, stripes":      {Response: "The zebra has stripes. [1]\nThe zebra sleeps. [1]", Cited: []int{1}, Sources: []string{"zebra.md"}, Confidence: 1},
		"Does a lion eat, sleep, howl?": {Response: "The zebra sleeps. [1]\nNo lion eats grass. [2]\nThe wolf howls. [3]", Cited: []int{1, 2, 3}, Sources: []string{"zebra.md", "lion.md", "wolf.md"}, Confidence: 1},
		"howl, roar, grass, lion, king": {Response: "A zebra eats grass. [1]\nLions roar. [2]\nThe wolf howls. [3]", Cited: []int{1, 2, 3}, Sources: []string{"zebra.md", "lion.md", "wolf.md"}, Confidence: 1},
		"gnus":                          {Response: "The zebra has stripes. [1]", Cited: []int{1}, Sources: []string{"zebra.md"}, Confidence: 0}, // it may be about the headings
		"is it?":                        {Response: "The zebra has stripes. [1]", Cited: []int{1}, Sources: []string{"zebra.md"}, Confidence: 0},
	} {
		r := response{Question: question, Passages: all}
		got := extractAnswer(r)
		got.complete(r)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", question, diff)
		}
	}
	r := response{Question: "zebra", Passages: []Passage{{Content: " \n"}}}
	got := extractAnswer(r)
	got.complete(r)
	if diff := cmp.Diff(Responded{Response: NothingFound, Cited: []int{}, Sources: []string{}}, got); diff != "" {
		t.Errorf("without a sentence:\n%s", diff)
	}
}
