package main

import "math"

// stand is where the workers are: for each the number of the job that it did last,
// counted from 1, and 0 for its first place.
type stand [maxWorkers]int8

// optimum is the least that the jobs can cost when they are done in the order of the
// queue, by anyone who knew all of it from the start. What a job costs depends on
// nothing but where its worker is, so of all ways to the same stand only the
// cheapest matters: dynamic programming over the queue. Jobs that nobody can do are
// left out.
func (p problem) optimum() float64 {
	costs := map[stand]float64{{}: 0}
	for i, job := range p.Jobs {
		next := map[stand]float64{}
		for at, cost := range costs {
			p.extend(next, at, cost, i)
		}
		if p.feasible(job) {
			costs = next
		}
	}
	least := math.Inf(1)
	for _, cost := range costs {
		least = min(least, cost)
	}
	return least
}

// extend has each worker who can do job i from a stand.
func (p problem) extend(next map[stand]float64, at stand, cost float64, i int) {
	job := p.Jobs[i]
	for k, w := range p.Workers {
		if !w.can(job) {
			continue
		}
		from := w.place
		if last := at[k]; last > 0 {
			from = p.Jobs[last-1].place
		}
		then := at
		then[k] = int8(i + 1)
		total := cost + w.cost(from, job)
		if before, ok := next[then]; !ok || total < before {
			next[then] = total
		}
	}
}

// feasible reports whether someone can do a job.
func (p problem) feasible(j Job) bool {
	for _, w := range p.Workers {
		if w.can(j) {
			return true
		}
	}
	return false
}
