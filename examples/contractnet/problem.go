package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
)

// The bounds of a problem, so that [problem.optimum] takes less than a second.
const (
	maxWorkers = 5
	maxJobs    = 20
)

// problem is a set of workers and a queue of jobs.
type problem struct {
	Workers []Worker `json:"workers"`
	Jobs    []Job    `json:"jobs"`
}

// point is a location in the plane. A worker of speed 1 travels one unit in an hour.
type point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

func (p point) to(q point) float64 { return math.Hypot(q.X-p.X, q.Y-p.Y) }

// Worker is a worker. It does one job after the other.
type Worker struct {
	Name   string   `json:"name"`
	Skills []string `json:"skills"`
	point           // the initial location
	Speed  float64  `json:"speed"`  // of travel
	Rate   float64  `json:"rate"`   // for an hour of travel or work
	Margin float64  `json:"margin"` // on top of the cost, in a first bid: 0.2 is 20 %
}

// Job is one job of the queue.
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

// readProblem reads a problem from JSON.
func readProblem(text []byte) (problem, error) {
	var p problem
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, fmt.Errorf("no workers and jobs in JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return p, errors.New("there is more after the JSON object")
	}
	return p, p.validate()
}

// validate returns an error for the first value that is out of range.
func (p problem) validate() error {
	if n := len(p.Workers); n < 1 || n > maxWorkers {
		return fmt.Errorf("%d workers: want 1 to %d", n, maxWorkers)
	}
	if n := len(p.Jobs); n < 1 || n > maxJobs {
		return fmt.Errorf("%d jobs: want 1 to %d", n, maxJobs)
	}
	taken := map[string]bool{auctioneerID: true, nodeName: true}
	for i, w := range p.Workers {
		if err := w.validate(); err != nil {
			return fmt.Errorf("worker %d: %w", i+1, err)
		}
		name := strings.ToLower(w.Name)
		if taken[name] {
			return fmt.Errorf("worker %d: the name %q is taken", i+1, w.Name)
		}
		taken[name] = true
	}
	for i, j := range p.Jobs {
		if j.Name == "" || j.Hours < 0 || j.Hours > maxNumber || !j.inRange() {
			return fmt.Errorf("job %d: want a name, 0 to %v hours, and a place no farther out than that", i+1, float64(maxNumber))
		}
	}
	return nil
}

// maxNumber bounds the numbers of a problem, so that costs stay finite.
const maxNumber = 1e6

// inRange reports whether the coordinates are within maxNumber.
func (p point) inRange() bool { return math.Abs(p.X) <= maxNumber && math.Abs(p.Y) <= maxNumber }

func (w Worker) validate() error {
	switch {
	case w.Name == "" || len(w.Name) > 64 || strings.ContainsFunc(w.Name, unicode.IsControl):
		return fmt.Errorf("the name %.70q is empty, too long or not printable", w.Name)
	case w.Speed < 1/maxNumber || w.Speed > maxNumber || w.Rate < 1/maxNumber || w.Rate > maxNumber:
		return fmt.Errorf("%q: want a speed and a rate of more than 0", w.Name)
	case w.Margin < 0 || w.Margin > maxNumber || !w.inRange():
		return fmt.Errorf("%q: want a margin of 0 or more, and a place no farther out than %v", w.Name, float64(maxNumber))
	}
	return nil
}

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
