package codons_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// recordOf returns the record of the worker's side of a delegation.
func recordOf(t *testing.T) (record codons.Record) {
	t.Helper()
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		records := kit.Recording(&w.Events, codons.KindRecorded)
		w.Add("Jules", &kit.Worker{})
		if _, err := w.Delegate(t.Context(), codons.WithBudget(codons.Budget{codons.Tokens: 7})); err != nil {
			t.Error(err)
		}
		w.Settled(0)
		for _, e := range kit.Published[codons.Recorded](t, records) {
			if e.Record.Role == machine.Responder {
				record = e.Record
			}
		}
	})
	return record
}

// TestRecordAsJSON: what is read is what was written, with the registered types.
func TestRecordAsJSON(t *testing.T) {
	record := recordOf(t)
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	c, got, err := codons.ReadRecord(text, library.Codons()...)
	if err != nil || c != delegation.Codon {
		t.Fatalf("got %v, %v", c, err)
	}
	again, err := json.Marshal(got)
	if err != nil || string(again) != string(text) {
		t.Errorf("got %v\n%s\nwant\n%s", err, again, text)
	}
	last := got.Events[len(got.Events)-1]
	if _, ok := last.Data.(p.InformResult); !ok || !last.Final || last.Used == nil || len(last.Stamps) != 1 {
		t.Errorf("the last event is %+v", last)
	}
	if _, ok := got.First.Payload().(p.TaskRequest); !ok || got.First != got.Events[0].Message {
		t.Errorf("the first message has %T", got.First.Payload())
	}
}

// TestRecordsThatMakeNoSense names what is wrong with a record.
func TestRecordsThatMakeNoSense(t *testing.T) {
	text, err := json.Marshal(recordOf(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"no JSON":       {`{"protocol"`, `{protocol`, "a record"},
		"another codon": {`"protocol":"task-delegation","role"`, `"protocol":"x","role"`, `is of "x"`},
		"a kind":        {`"kind":"receive"`, `"kind":"any other notice"`, "event 0 of the record"},
		"an act":        {`"act":"TASK_REQUEST"`, `"act":"TASK"`, "TASK"},
		"a message":     {`"sender":"Eddy"`, `"sender":""`, "sender"},
		"a payload":     {`"payload":{`, `"payload":3,"x":{`, "performatives.TaskRequest"},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := strings.Replace(string(text), c.old, c.new, 1)
			if _, _, err := codons.ReadRecord([]byte(wrong), library.Codons()...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

// TestRebuildRefuses a record of another codon, one without events, one without a first message,
// and an event that the table does not take.
func TestRebuildRefuses(t *testing.T) {
	record := recordOf(t)
	empty, wrong, unopened := record, record, record
	empty.Events = nil
	unopened.First = nil
	wrong.Events = record.Events[1:]
	for name, c := range map[string]struct {
		codon  *codons.Codon
		record codons.Record
		want   string
	}{
		"another codon": {library.Codons()[2], record, "not of"},
		"no events":     {delegation.Codon, empty, "no events"},
		"no opening":    {delegation.Codon, unopened, "no first message"},
		"no row":        {delegation.Codon, wrong, "event 0"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := codons.Rebuild(c.codon, c.record); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

// TestCommandWithAnotherContent: a job's command whose content is not of the registered
// type fails the conversation, and the log names both types.
func TestCommandWithAnotherContent(t *testing.T) {
	var log bytes.Buffer // written on the conversation's actor, read after the end
	kit.InWorldWith(t, codons.Times{}, actors.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		w.Add("Jules", &kit.Worker{Consider: func(context.Context, delegation.Task) delegation.Decision {
			return delegation.Decision{Name: standard.CommandAccept, Data: p.TaskReject{}}
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := w.Delegate(ctx)
		kit.WantEnd(t, err, standard.StateFailed, p.CodeInternal)
		w.Settled(0)
	})
	if text := log.String(); !strings.Contains(text, "want performatives.TaskAccept as the content of the command accept, got performatives.TaskReject") {
		t.Errorf("logged %q", text)
	}
}

// TestCommandsAreOfTheTable: a codon registers contents of its own commands only.
func TestCommandsAreOfTheTable(t *testing.T) {
	d := delegation.Codon.Definition
	d.Complete, d.Commands = true, map[string]any{"appprove": nil}
	if _, err := codons.Define(d); err == nil || !strings.Contains(err.Error(), `"appprove"`) {
		t.Errorf("got %v", err)
	}
}
