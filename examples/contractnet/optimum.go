package main

import "math"

// positions holds the location of each worker as the number of its last job, counted
// from 1; 0 means its initial point.
type positions [maxWorkers]int8

// optimum returns the least total cost of the jobs, done in the order of the queue
// and allocated with knowledge of the whole queue. The cost of a job depends only on
// the location of its worker, so that of all allocations with the same positions only
// the cheapest matters: dynamic programming over the queue.
func (p problem) optimum() float64 {
	costs := map[positions]float64{{}: 0}
	for i := range p.Jobs {
		next := map[positions]float64{}
		for at, cost := range costs {
			p.extend(next, at, cost, i)
		}
		costs = next
	}
	least := math.Inf(1)
	for _, cost := range costs {
		least = min(least, cost)
	}
	return least
}

// extend adds to next the positions that follow from at when a capable worker does
// job i, with the least cost of each.
func (p problem) extend(next map[positions]float64, at positions, cost float64, i int) {
	job := p.Jobs[i]
	for k, w := range p.Workers {
		if !w.can(job) {
			continue
		}
		from := w.point
		if last := at[k]; last > 0 {
			from = p.Jobs[last-1].point
		}
		then := at
		then[k] = int8(i + 1)
		total := cost + w.cost(from, job)
		if before, ok := next[then]; !ok || total < before {
			next[then] = total
		}
	}
}
