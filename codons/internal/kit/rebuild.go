package kit

import (
	"testing"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/internal/rebuilt"
)

// Of the conversations of a world, the first maxRecords to end are rebuilt, but for those
// with more than maxEvents events: tests of load have many.
const (
	maxRecords = 256
	maxEvents  = 1000
)

// recordAll records the conversations of a test. Those of a benchmark are not recorded.
func (w *World) recordAll() {
	if _, ok := w.T.(*testing.T); ok {
		w.records = w.Events.Subscribe(events.SubscribeOptions{Capacity: maxRecords, Kinds: []events.Kind{codons.KindRecorded}})
	}
}

// checkRebuilt rebuilds every recorded conversation from its events and from their JSON,
// and expects the same state, data and messages.
func (w *World) checkRebuilt() {
	if w.records == nil {
		return
	}
	w.records.Close()
	if w.NoJSON.Load() {
		return
	}
	all := library.Codons()
	for len(w.records.C) > 0 {
		e, ok := (<-w.records.C).Event.(codons.Recorded)
		if !ok || len(e.Record.Events) > maxEvents {
			continue
		}
		if err := rebuilt.Check(e, all...); err != nil {
			w.T.Error(err)
		}
	}
}
