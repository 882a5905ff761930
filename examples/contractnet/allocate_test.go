package main

import (
	"encoding/json"
	"math"
	"testing"
)

// bruteForce tries every way to give out the jobs.
func bruteForce(p problem, i int, at [maxWorkers]place) float64 {
	if i == len(p.Jobs) {
		return 0
	}
	least, job := math.Inf(1), p.Jobs[i]
	for k, w := range p.Workers {
		if w.can(job) {
			then := at
			then[k] = job.place
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
			p.Jobs[0].Skill = "digging" // nobody's
		}
		var at [maxWorkers]place
		for i, w := range p.Workers {
			at[i] = w.place
		}
		if got, want := p.optimum(), bruteForce(p, 0, at); math.Abs(got-want) > 1e-9 {
			t.Errorf("seed %d: %v, want %v", seed, got, want)
		}
	}
}

// TestAllocations holds them against their problems: each job is done by someone who
// can, for the lowest bid, for no less than its cost, and never better than the
// optimum.
func TestAllocations(t *testing.T) {
	for seed := range uint64(6) {
		for _, iterated := range []bool{false, true} {
			o := &options{problem: generate(seed, 5, 10), iterated: iterated}
			r, err := o.allocate(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			where := map[string]place{}
			for _, w := range o.problem.Workers {
				where[w.Name] = w.place
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

// checkJob checks what came of a job, and moves its winner.
func (p problem) checkJob(t *testing.T, i int, got outcome, where map[string]place) {
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
	where[got.Winner] = job.place
}

// TestUnderbidding lowers what is paid: whoever could do it for less says so.
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
