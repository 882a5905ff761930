package runtime_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/notify"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/internal/rebuilt"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// rebuildProblems rebuilds every conversation of the run from its events, and every fourth also
// from their JSON, which takes most of the time. It returns those that differ, and those that were
// not recorded.
func (c *simRecorder) rebuildProblems() []string {
	var problems []string
	all := library.Codons()
	recorded := make(map[simSide]int)
	for i, r := range c.records {
		recorded[sideOf(r.Record)]++
		check := rebuilt.CheckEvents
		if i%4 == 0 {
			check = rebuilt.Check
		}
		if err := check(r, all...); err != nil {
			problems = append(problems, err.Error())
		}
	}
	for _, side := range c.order {
		if n := len(c.conversations[side]); side.protocol != notify.Codon.Name() && recorded[side] != n {
			problems = append(problems, fmt.Sprintf("%+v: %d conversations, and %d were recorded", side, n, recorded[side]))
		}
	}
	return problems
}

func sideOf(r codons.Record) simSide {
	return simSide{r.ID, r.Protocol, r.Agent.Fold(), r.Peer.Fold(), r.Role}
}

// recordsOf returns up to n records of each side of each codon that occurs, the longest
// first.
func (c *simRecorder) recordsOf(n int) []codons.Recorded {
	sorted := slices.SortedStableFunc(slices.Values(c.records), func(a, b codons.Recorded) int {
		return len(b.Record.Events) - len(a.Record.Events)
	})
	taken := make(map[string]int)
	return slices.DeleteFunc(sorted, func(r codons.Recorded) bool {
		kind := fmt.Sprint(r.Record.Protocol, " ", r.Record.Role)
		taken[kind]++
		return taken[kind] > n
	})
}

// TestRebuildNotices changes recorded conversations, of each of which the checks must notice what
// was changed.
func TestRebuildNotices(t *testing.T) {
	run := simulate(t, 1, true)
	if run == nil {
		return
	}
	changed := func(m *p.Message, change func(*p.Envelope)) []*p.Message {
		other, err := m.With(change)
		if err != nil {
			t.Fatal(err)
		}
		return []*p.Message{other}
	}
	for name, change := range map[string]struct {
		applies func(codons.Recorded) bool
		do      func(*codons.Recorded)
		same    bool
	}{
		"nothing": {func(codons.Recorded) bool { return true }, func(*codons.Recorded) {}, true},
		"state":   {func(codons.Recorded) bool { return true }, func(r *codons.Recorded) { r.State += "?" }, false},
		"data":    {func(r codons.Recorded) bool { return r.Data != nil }, func(r *codons.Recorded) { r.Data = "other" }, false},
		"fewer messages": {
			func(r codons.Recorded) bool { return len(r.Sent) > 0 },
			func(r *codons.Recorded) { r.Sent = r.Sent[1:] }, false,
		},
		"another message": {
			func(r codons.Recorded) bool { return len(r.Sent) == 1 },
			func(r *codons.Recorded) {
				r.Sent = changed(r.Sent[0], func(e *p.Envelope) { e.Language = "other" })
			}, false,
		},
		"another form of a message": { // the JSON is the same
			func(r codons.Recorded) bool { return len(r.Sent) == 1 },
			func(r *codons.Recorded) { r.Sent = changed(r.Sent[0], func(e *p.Envelope) { e.Shape = "other" }) }, true,
		},
		"fewer events": {
			func(r codons.Recorded) bool { return len(r.Record.Events) > 3 },
			func(r *codons.Recorded) { r.Record.Events = r.Record.Events[:len(r.Record.Events)-1] }, false,
		},
	} {
		applied := 0
		for _, r := range run.recordsOf(1) {
			if !change.applies(r) {
				continue
			}
			applied++
			change.do(&r)
			for check, err := range map[string]error{
				"CheckEvents": rebuilt.CheckEvents(r, library.Codons()...), "Check": rebuilt.Check(r, library.Codons()...),
			} {
				if change.same != (err == nil) {
					t.Errorf("%s: %s of %+v: %v", name, check, sideOf(r.Record), err)
				}
			}
		}
		if applied == 0 {
			t.Errorf("%s: no conversation to change", name)
		}
	}
}

// rebuildVariable makes the test binary the process that TestRebuildInProcess starts.
const rebuildVariable = "RIBOSOME_TEST_REBUILD"

// TestRebuildInProcess has a fresh process read the events of recorded conversations of
// all codons as JSON, and compares what it rebuilds: state, data and messages.
func TestRebuildInProcess(t *testing.T) {
	racetest.Skip(t)
	if os.Getenv(rebuildVariable) != "" {
		rebuildProcess(t)
		return
	}
	var records []codons.Recorded
	for seed := range uint64(3) { // in one run, some codons do not occur
		run := simulate(t, seed+1, true)
		if run == nil {
			return
		}
		records = append(records, run.recordsOf(5)...)
	}
	var texts []json.RawMessage
	for _, r := range records {
		text, err := json.Marshal(r.Record)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	wantEveryCodon(t, records)
	again := rebuildElsewhere(t, texts)
	if len(again) != len(records) {
		t.Fatalf("%d conversations were rebuilt, want %d", len(again), len(records))
	}
	for i, r := range records {
		live, err := rebuilt.Live(r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := live.Diff(again[i]); diff != "" {
			t.Errorf("%+v: %s", sideOf(r.Record), diff)
		}
	}
}

// wantEveryCodon expects all roles of every codon that has conversations.
func wantEveryCodon(t *testing.T, records []codons.Recorded) {
	for _, c := range library.Codons() {
		if c.Machine() == nil || c.Name() == notify.Codon.Name() { // notices are not recorded
			continue
		}
		for _, role := range machine.Roles() {
			if c.Table.Has(role) && !slices.ContainsFunc(records, func(r codons.Recorded) bool { return r.Record.Protocol == c.Name() && r.Record.Role == role }) {
				t.Errorf("no conversation of the %s of %s was recorded", role, c.Name())
			}
		}
	}
}

// rebuildElsewhere returns what a fresh process rebuilds.
func rebuildElsewhere(t *testing.T, records []json.RawMessage) (all []rebuilt.Outcome) {
	in, err := json.Marshal(records)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(patience.Context(t), os.Args[0], "-test.run=^TestRebuildInProcess$")
	child.Env = append(os.Environ(), rebuildVariable+"=1")
	child.Stdin = bytes.NewReader(in)
	child.Stderr = os.Stderr
	out, err := child.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&all); err != nil {
		t.Fatalf("%v: %.1000s", err, out)
	}
	return all
}

// rebuildProcess is the fresh process: records come by stdin, outcomes go to stdout.
func rebuildProcess(t *testing.T) {
	var records []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&records); err != nil {
		t.Fatal(err)
	}
	all := make([]rebuilt.Outcome, len(records))
	for i, text := range records {
		var err error
		if all[i], err = rebuilt.FromJSON(text, library.Codons()...); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		t.Fatal(err)
	}
}
