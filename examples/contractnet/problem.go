package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// The bounds of a problem.
const (
	maxWorkers = 5
	maxJobs    = 20
)

// problem is a set of workers and a queue of jobs.
type problem struct {
	Workers []Worker
	Jobs    []Job
}

// point is a location in the plane. A worker of speed 1 travels one unit in an hour.
type point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

func (p point) to(q point) float64 { return math.Hypot(q.X-p.X, q.Y-p.Y) }

// Worker is a worker. It does one job after the other.
type Worker struct {
	Name   string
	Skills []string
	point          // the initial location
	Speed  float64 // of travel
	Rate   float64 // for an hour of travel or work
	Margin float64 // on top of the cost, in a first bid: 0.2 is 20 %
}

// Job is one job of the queue. A call for proposals carries it.
type Job struct {
	Name  string  `json:"name"`
	Skill string  `json:"skill"`
	point         // the location of the job
	Hours float64 `json:"hours"`
}

// cost returns the cost of a job for a worker at the location from: travel and work.
func (w Worker) cost(from point, j Job) float64 {
	return (from.to(j.point)/w.Speed + j.Hours) * w.Rate
}

// can reports whether a worker has the skill for a job.
func (w Worker) can(j Job) bool { return slices.Contains(w.Skills, j.Skill) }

// generate returns a random problem, which is the same for the same seed. Every skill
// has a worker.
func generate(seed uint64, workers, jobs int) problem {
	rng := rand.New(rand.NewPCG(seed, 0))
	skills := []string{"roof", "wiring", "plumbing"}
	some := func(least, most float64) float64 { return math.Round((least+rng.Float64()*(most-least))*10) / 10 }
	var p problem
	for i, name := range []string{"Ada", "Bob", "Cleo", "Dan", "Eve"}[:workers] {
		w := Worker{
			Name: name, Skills: []string{skills[i%len(skills)]}, point: point{some(0, 10), some(0, 10)},
			Speed: some(4, 8), Rate: some(20, 28), Margin: math.Round(rng.Float64()*50) / 100,
		}
		for _, s := range skills { // with fewer workers than skills, each worker has all skills
			if s != w.Skills[0] && (workers < len(skills) || rng.IntN(2) == 0) {
				w.Skills = append(w.Skills, s)
			}
		}
		p.Workers = append(p.Workers, w)
	}
	for i := range jobs {
		p.Jobs = append(p.Jobs, Job{
			Name: fmt.Sprintf("job %d", i+1), Skill: skills[rng.IntN(len(skills))],
			point: point{some(0, 10), some(0, 10)}, Hours: some(0.5, 2),
		})
	}
	return p
}
