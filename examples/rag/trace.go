package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// Of many conversations, the first ones are written, which are of the documents, and the last ones,
// which are of the question.
const firstWritten, lastWritten = 8, 2

// writeTrace writes the recorded conversations as those of one thread (Trace Correlation).
func writeTrace(w io.Writer, r *observe.Recorder, root string) error {
	all := r.Conversations()
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b observe.Conversation) int { return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.ID, b.ID)) })
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nTrace:\n%s\n", root)
	for i, c := range all {
		branch, asker := "├── ", c.Sides[0]
		switch {
		case i == len(all)-1:
			branch = "└── "
		case i == firstWritten && i < len(all)-lastWritten:
			fmt.Fprintf(table, "├── … and %d more\t\t\t\n", len(all)-firstWritten-lastWritten)
		}
		if i < firstWritten || i >= len(all)-lastWritten {
			fmt.Fprintf(table, "%s%s\t%s → %s\t%s\t%s\n", branch, c.ID, asker.Agent, asker.Peer, asker.State, asker.Since.Sub(asker.Began).Round(100*time.Microsecond))
		}
	}
	return table.Flush()
}
