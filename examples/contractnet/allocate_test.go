package main

import (
	"encoding/json"
	"math"
	"testing"
)

// bruteForce returns the least cost of jobs i and later, by trying every allocation.
func bruteForce(p problem, i int, at [maxWorkers]point) float64 {
	if i == len(p.Jobs) {
		return 0
	}
	least, job := math.Inf(1), p.Jobs[i]
	for k, w := range p.Workers {
		if w.can(job) {
			then := at
			then[k] = job.point
			least = min(least, w.cost(at[k], job)+bruteForce(p, i+1, then))
		}
	}
	if !p.feasible(job) {
		return bruteForce(p, i+1, at)
	}
	return least
}

func TestOptimum(t *testing.T) {
	for seed := range uint64(60) {
		p := generate(seed, 1+int(seed%maxWorkers), 1+int(seed%8))
		if seed%7 == 0 {
			p.Jobs[0].Skill = "digging" // no worker has it
		}
		var at [maxWorkers]point
		for i, w := range p.Workers {
			at[i] = w.point
		}
		if got, want := p.optimum(), bruteForce(p, 0, at); math.Abs(got-want) > 1e-9 {
			t.Errorf("seed %d: %v, want %v", seed, got, want)
		}
	}
}

// TestAllocations checks that each job is done by a capable worker with the lowest bid,
// that the price is at least the cost, and that the total is not below the optimum.
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
			if r.Ratio < 1-1e-9 || r.Undone != 0 || len(r.Jobs) != 10 {
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
	var p problem
	if err := json.Unmarshal([]byte(`{"workers": [
		{"name": "Greedy", "skills": ["roof"], "speed": 1, "rate": 10, "margin": 9},
		{"name": "Dear", "skills": ["roof"], "speed": 1, "rate": 20, "margin": 0}],
		"jobs": [{"name": "barn", "skill": "roof", "hours": 1}]}`), &p); err != nil {
		t.Fatal(err)
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
