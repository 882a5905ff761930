package overload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// In each place all that ask get their results at last, and what the agents did is known. On a
// machine that is busy with other work the node of the agents may be lost for a while, and refuse
// tasks.
func TestSites(t *testing.T) {
	for _, where := range []string{siteLocal, siteTCP, siteNode} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			si := openSite(t.Context(), where, 1)
			defer si.close()
			si.call(commandReset)
			var c tally
			for i, a := range si.askers {
				task := []string{taskSpin, taskWait, taskNothing}[i%3]
				for err := errHeld; err != nil; {
					if err = <-c.issue(a, request{agents[i], task, p.Urgent, time.Now(), time.Hour}); err != nil {
						t.Log(err)
						_ = wait(t.Context(), pause)
					}
				}
			}
			want := int64(len(si.askers))
			if u := si.call(commandReset); u.Began < want || u.Began > int64(c.offered) || u.Peak <= 0 || u.Goroutines == 0 {
				t.Errorf("%+v, after %d requests and %d results", u, c.offered, want)
			}
			if u := si.call(commandRead); u.Began != 0 {
				t.Errorf("%d handlers after a reset", u.Began)
			}
		})
	}
}

// The counts of those that ask agree with those of the agents, and with what was offered.
func TestRows(t *testing.T) {
	turns := calibrate()
	for _, c := range []struct {
		where, kind string
		loads       []float64
	}{{siteLocal, kindMixed, []float64{1, 2}}, {siteTCP, kindCPU, []float64{2}}, {siteLocal, kindMany, []float64{1}}} {
		t.Run(c.where+" "+c.kind, func(t *testing.T) {
			t.Parallel()
			rows := 0
			r := run{where: []string{c.where}, kinds: []string{c.kind}, loads: c.loads, length: 250 * time.Millisecond, turns: turns, many: 100}
			r.print = func(w *row) {
				rows++
				t.Logf("%s", w)
				checkRow(t, w)
			}
			r.all(t.Context())
			if rows != len(c.loads) {
				t.Errorf("%d rows, want %d", rows, len(c.loads))
			}
		})
	}
}

// checkRow checks the counts of a row.
func checkRow(t *testing.T, w *row) {
	t.Helper()
	var results, begun int // at least, at most
	rates := map[*tally]float64{&w.tasks: w.capacity * w.load, &w.quiet: 0, &w.idle: probeRate, &w.hot: probeRate}
	if w.kind == kindMixed {
		rates[&w.quiet] = quietRate
	}
	for tally, rate := range rates {
		if want := int(math.Ceil(rate * w.length.Seconds())); tally.offered != want {
			t.Errorf("%d requests offered, want %d", tally.offered, want)
		}
		results += tally.n[done]
		begun += tally.offered - tally.n[busy] - tally.n[held]
	}
	if began := int(w.usage.Began); began < results || began > begun {
		t.Errorf("%d handlers began, want %d to %d", began, results, begun)
	}
}

// A child ends with its input, so that it does not outlive its parent.
func TestChildEnds(t *testing.T) {
	c := startChild(t.Context(), "alone", "1", siteTCP)
	c.call(commandRead)
	if err := c.in.Close(); err != nil {
		t.Error(err)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A producer that is blocked does not change what is offered: the rest is held.
func TestOfferBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var issued, held atomic.Int64
		offer(10*time.Second, 100, func(int) {
			issued.Add(1)
			time.Sleep(time.Second)
		}, func() { held.Add(1) })
		if issued.Load() != 2*11 || held.Load() != 1000-2*11 {
			t.Errorf("%d issued and %d held, want the 22 of two producers, and the rest of 1,000", issued.Load(), held.Load())
		}
	})
}

// Outcomes are counted once, by their error and the time.
func TestTally(t *testing.T) {
	r := request{at: time.Now(), patience: patience}
	var c tally
	for _, e := range []error{
		nil, fmt.Errorf("wrapped: %w", &p.Refusal{Code: p.CodeBusy}), &p.Refusal{Code: p.CodeExpired}, context.DeadlineExceeded, errors.New("else"),
		errHeld, actors.ErrMailboxFull,
	} {
		c.begin()
		c.end(r, r.at.Add(10*time.Millisecond), e)
	}
	for range 3 {
		c.begin()
	}
	c.end(r, r.at.Add(2*patience), nil)
	c.until = r.at
	c.end(r, r.at.Add(10*time.Millisecond), nil)
	waits := c.waits()
	c.close()
	c.end(r, r.at, nil)
	if want := [outcomes]int{done: 2, busy: 1, late: 3, other: 1, held: 2, never: 1}; c.n != want || !waits || c.goodput != 1 {
		t.Errorf("%v, goodput %d; want %v, goodput 1, and one request that waits", c.n, c.goodput, want)
	}
	if c.after.all != 1 || c.took.quantile(.5) != "10.1" || c.refused.quantile(.99) != "10.1" || new(times).quantile(.5) != "-" {
		t.Errorf("%d after the deadline; results took %s, refusals %s", c.after.all, c.took.quantile(.5), c.refused.quantile(.99))
	}
}

// Only what is between the markers is replaced.
func TestReplaceTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "performance.md")
	for _, text := range []string{"a\n" + tableBegin + "\nold\n" + tableEnd + "\nb\n", tableEnd + tableBegin} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := replaceTable(file, "new\n")
		got, _ := os.ReadFile(file)
		if text[0] == 'a' {
			if want := "a\n" + tableBegin + "\nnew\n" + tableEnd + "\nb\n"; err != nil || string(got) != want {
				t.Errorf("%v: %q, want %q", err, got, want)
			}
		} else if err == nil || string(got) != text {
			t.Errorf("%v: a document without the markers became %q", err, got)
		}
	}
}
