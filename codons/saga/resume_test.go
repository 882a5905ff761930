package saga_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/saga"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	"github.com/ribosome-agents/ribosome/performatives"
)

// journalled runs a saga and returns the records that its journal was given.
func journalled(t *testing.T, w *kit.World, s saga.Saga) (records []codons.Record) {
	t.Helper()
	s.Journal = func(_ context.Context, r codons.Record) error {
		records = append(records, r)
		return nil
	}
	_, err := s.Run(t.Context(), w.Eddy)
	_ = failureOf(t, err)
	return records
}

// asJSON returns what another process reads of a record.
func asJSON(t *testing.T, r codons.Record) codons.Record {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	_, r, err = codons.ReadRecord(text, library.Codons()...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// room is the result of a step.
type room struct {
	Number int `json:"number"`
}

// crashing returns the steps of a saga whose fifth step fails. The results of the first two are
// of type room, and those of the others strings.
func crashing(d *deeds) []saga.Step {
	steps := []saga.Step{d.step("a"), d.step("b"), d.step("c"), d.step("d"), d.failing("e", errors.New("no"))}
	for i := range steps {
		steps[i].Result = ""
	}
	for i := range 2 {
		steps[i].Result = room{}
		steps[i].Do = func(context.Context, map[string]any) (any, error) { return room{i + 1}, nil }
	}
	return steps
}

// TestResume resumes a saga of more steps than the documented one from each record that the
// journal was given, as it is and as JSON: the same steps are undone with results of the same
// types.
func TestResume(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var d deeds
		records := journalled(t, w, saga.Saga{Steps: crashing(&d)})
		ended, cancel := context.WithDeadline(t.Context(), time.Now()) // it ends no undoing
		defer cancel()
		want := []struct {
			at     machine.State
			undone []string
		}{
			{"doing_1", []string{"undo <nil>"}},
			{"doing_2", []string{"undo <nil>", "undo {1}"}},
			{"doing_3", []string{"undo <nil>", "undo {2}", "undo {1}"}},
			{"doing_4", []string{"undo <nil>", "undo c's", "undo {2}", "undo {1}"}},
			{"doing_5", []string{"undo <nil>", "undo d's", "undo c's", "undo {2}", "undo {1}"}},
			{"undoing_4", []string{"undo d's", "undo c's", "undo {2}", "undo {1}"}},
			{"undoing_3", []string{"undo c's", "undo {2}", "undo {1}"}},
			{"undoing_2", []string{"undo {2}", "undo {1}"}},
			{"undoing_1", []string{"undo {1}"}},
			{"undone", nil},
		}
		if len(records) != len(want) {
			t.Fatalf("the journal was called %d times, want %d", len(records), len(want))
		}
		for i, r := range records {
			for name, r := range map[string]codons.Record{"as it is": r, "as JSON": asJSON(t, r)} {
				if at := stateOf(t, r); at != want[i].at || r.ID != records[0].ID || len(r.Events) != i+1 {
					t.Errorf("record %d %s: %s of %s after %d events, want %s of %s", i, name, at, r.ID, len(r.Events), want[i].at, records[0].ID)
				}
				var again deeds
				err := saga.Saga{Steps: crashing(&again)}.Resume(ended, w.Eddy, r)
				if ended := want[i].undone == nil; err == nil || errors.Is(err, saga.ErrResumed) == ended {
					t.Errorf("from %s %s: %v", want[i].at, name, err)
				}
				again.want(t, want[i].undone...)
			}
		}
	})
}

// TestResumeTwice crashes a saga that has lost a step, and the saga that resumes it. The last
// one names all steps that were undone and lost, and the first failure.
func TestResumeTwice(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		var d deeds
		steps := []saga.Step{d.step("a"), d.step("b"), d.step("c"), d.failing("d", errors.New("no room"))}
		lost := steps[2]
		lost.Retry = codons.Retry{First: codons.Never}
		lost.Undo = func(context.Context, any) error { return errors.New("stuck") }
		steps[2] = lost
		var done any
		undo := steps[1].Undo
		steps[1].Undo = func(ctx context.Context, result any) error {
			done = result
			return undo(ctx, result)
		}
		first := journalled(t, w, saga.Saga{Steps: steps})
		if at := stateOf(t, first[5]); at != "undoing_2_lossy" {
			t.Fatalf("the state is %s", at)
		}
		var second []codons.Record
		resumed := saga.Saga{Steps: steps, Journal: func(_ context.Context, r codons.Record) error {
			second = append(second, r)
			return nil
		}}
		if err := resumed.Resume(t.Context(), w.Eddy, asJSON(t, first[5])); !errors.Is(err, saga.ErrResumed) {
			t.Error(err)
		}
		if raw, ok := done.(performatives.Raw); !ok || string(raw) != `"b's"` {
			t.Errorf("Undo of a step without Result got %T %s", done, done)
		}
		if at := stateOf(t, second[1]); at != "undoing_1_lossy" || second[1].ID != first[0].ID {
			t.Fatalf("the state of %s is %s", second[1].ID, at)
		}
		err := saga.Saga{Steps: steps}.Resume(t.Context(), w.Eddy, asJSON(t, second[1]))
		failure := failureOf(t, err)
		if failure.Step != "d" || !errors.Is(err, saga.ErrResumed) || !slices.Equal(failure.Undone, []string{"b", "a"}) {
			t.Errorf("got %+v", failure)
		}
		if len(failure.Lost) != 1 || failure.Lost[0].Step != "c" {
			t.Errorf("lost: %+v", failure.Lost)
		}
		for _, text := range []string{"no room", "NOT undone: c: stuck"} {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%q is not in %q", text, err)
			}
		}
	})
}

// TestResumeRefuses a record of other steps, one of another codon, and one whose result does not
// fit the step.
func TestResumeRefuses(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var d deeds
		record := asJSON(t, journalled(t, w, saga.Saga{Steps: crashing(&d)})[3])
		other := record
		other.Protocol = "task-delegation"
		mistyped := crashing(&d)
		mistyped[2].Result = room{}
		renamed := crashing(&d)
		renamed[1].Name = "another"
		for name, c := range map[string]struct {
			steps  []saga.Step
			record codons.Record
			want   string
		}{
			"other steps":   {crashing(&d)[:4], record, "of the steps"},
			"other names":   {renamed, record, "of the steps"},
			"another codon": {crashing(&d), other, "task-delegation"},
			"another type":  {mistyped, record, "the result of step c"},
			"no events":     {crashing(&d), codons.Record{Protocol: "saga"}, "no events"},
		} {
			if err := (saga.Saga{Steps: c.steps}).Resume(t.Context(), w.Eddy, c.record); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q in it", name, err, c.want)
			}
		}
	})
}

// TestResultOfAnotherType undoes a step whose result is not of the type of Result: Resume could
// not read it.
func TestResultOfAnotherType(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var d deeds
		a := d.step("a")
		a.Result = room{}
		_, err := saga.Saga{Steps: []saga.Step{a}}.Run(t.Context(), w.Eddy)
		if failure := failureOf(t, err); failure.Step != "a" || !strings.Contains(err.Error(), "want a saga_test.room") {
			t.Errorf("got %+v", failure)
		}
		d.want(t, "a after 0", "undo <nil>")
	})
}

// TestRecorded publishes the record of a saga at its end, also without a journal.
func TestRecorded(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		records := kit.Recording(&w.Events, codons.KindRecorded)
		var d deeds
		if _, err := (saga.Saga{Steps: []saga.Step{d.step("a"), d.step("b")}}).Run(t.Context(), w.Eddy); err != nil {
			t.Fatal(err)
		}
		all := kit.Published[codons.Recorded](t, records)
		if len(all) != 1 || all[0].State != standard.StateCompleted || all[0].Record.Agent != "Eddy" || len(all[0].Record.Events) != 3 {
			t.Fatalf("got %+v", all)
		}
		data, err := json.Marshal(all[0].Data)
		if want := `{"steps":["a","b"],"results":{"a":"a's","b":"b's"}}`; err != nil || string(data) != want {
			t.Errorf("the data is %s, %v, want %s", data, err, want)
		}
	})
}
