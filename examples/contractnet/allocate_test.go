package main

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAllocations checks that each job is done by a capable worker with the lowest bid,
// and that the price is at least the cost.
func TestAllocations(t *testing.T) {
	for seed := range uint64(6) {
		for _, iterated := range []bool{false, true} {
			o := &options{problem: generate(seed, 5, 10), iterated: iterated}
			r, err := o.allocate(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			where := map[string]point{}
			for _, w := range o.problem.Workers {
				where[w.Name] = w.point
			}
			for i, got := range r.Jobs {
				o.problem.checkJob(t, i, got, where)
			}
			if len(r.Jobs) != 10 {
				t.Errorf("seed %d: %+v", seed, r)
			}
		}
	}
}

// checkJob checks the outcome of a job, and moves its winner.
func (p problem) checkJob(t *testing.T, i int, got outcome, where map[string]point) {
	t.Helper()
	job := p.Jobs[i]
	for _, w := range p.Workers {
		if w.Name != got.Winner {
			continue
		}
		if cost := w.cost(where[w.Name], job); !w.can(job) || math.Abs(cost-got.Cost) > 1e-9 || got.Price < cost-1e-9 {
			t.Errorf("%s: %+v, and it costs %v", job.Name, got, cost)
		}
	}
	for _, b := range got.Bids {
		if b.Price < got.Price {
			t.Errorf("%s: %+v", job.Name, got)
		}
	}
	where[got.Winner] = job.point
}

// TestUnderbidding checks that iterated contract nets lower the price, because a worker
// with lower costs bids below the others.
func TestUnderbidding(t *testing.T) {
	p := problem{
		Workers: []Worker{
			{Name: "Greedy", Skills: []string{"roof"}, Speed: 1, Rate: 10, Margin: 9},
			{Name: "Dear", Skills: []string{"roof"}, Speed: 1, Rate: 20},
		},
		Jobs: []Job{{Name: "barn", Skill: "roof", Hours: 1}},
	}
	for iterated, want := range map[bool]outcome{
		false: {Winner: "Dear", Rounds: 1, Price: 20, Cost: 20},
		true:  {Winner: "Greedy", Rounds: 3, Price: 19, Cost: 10},
	} {
		r, err := (&options{problem: p, iterated: iterated}).allocate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := r.Jobs[0]
		if got.Winner != want.Winner || got.Rounds != want.Rounds || got.Price != want.Price || got.Cost != want.Cost {
			t.Errorf("iterated %t: %+v, want %+v", iterated, got, want)
		}
	}
}

// TestFollowedByHand compares the report with a solution by hand: Ada is expensive and has no margin.
// Bob, at the location of the jobs, costs 8 an hour and bids half more.
func TestFollowedByHand(t *testing.T) {
	p := problem{
		Workers: []Worker{
			{Name: "Ada", Skills: []string{"roof"}, Speed: 1, Rate: 10},
			{Name: "Bob", Skills: []string{"roof", "wiring"}, point: point{3, 4}, Speed: 1, Rate: 8, Margin: 0.5},
		},
		Jobs: []Job{
			{Name: "barn", Skill: "roof", point: point{3, 4}, Hours: 1},
			{Name: "shed", Skill: "wiring", point: point{3, 3}, Hours: 2},
		},
	}
	got, err := (&options{problem: p}).allocate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := &report{
		Jobs: []outcome{
			{Job: "barn", Skill: "roof", Bids: []offer{{"Bob", 12}, {"Ada", 60}}, Winner: "Bob", Rounds: 1, Price: 12, Cost: 8},
			{Job: "shed", Skill: "wiring", Bids: []offer{{"Bob", 36}}, Winner: "Bob", Rounds: 1, Price: 36, Cost: 24},
		},
		Price: 48, Cost: 32,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var text strings.Builder
	if err := got.print(&text); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"barn  roof    Bob     12.00  8.00   Bob 12.00, Ada 60.00\n", "paid       48.00\ncost       32.00 "} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("got\n%s\nwant %q", text.String(), line)
		}
	}
}
