package main

import (
	"io"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
)

// output prints the events of a run while they happen, and then the outcome.
type output interface {
	observe(events.Record) // called for one event after the other
	// end prints the outcome. It is called last, and returns the first error of the
	// output.
	end(performatives.InformResult, error) error
}

func (o *options) output(w io.Writer) output {
	if o.messages {
		return newMessages(w)
	}
	return newTranscript(w, o)
}
