package main

import (
	"io"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// output shows what happens, as it happens, and then how it ended.
type output interface {
	observe(actors.Event) // called concurrently
	// end is called last. The error says that something could not be shown.
	end(performatives.InformResult, error) error
}

func (o *options) output(w io.Writer) output {
	if o.json {
		return newJSONLines(w)
	}
	return newTranscript(w, o)
}
