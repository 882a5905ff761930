package main

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
)

// newRetrievalAgent returns the agent that has the index.
func newRetrievalAgent(x *index) actors.Agent {
	return worker{"retrieval", map[string]task{
		taskIngestion: performs("Indexes chunks of a document.", func(_ context.Context, _ delegation.Task, m ingestion) (any, string, error) {
			return ingested{m.ID, len(m.Chunks)}, fmt.Sprintf("%d chunks of %s indexed", len(m.Chunks), m.ID), x.add(m)
		}),
		taskRetrieval: performs("Searches the index for a question.", func(ctx context.Context, _ delegation.Task, m retrieval) (any, string, error) {
			found, err := x.search(ctx, m)
			return found, fmt.Sprintf("%d chunks found", len(found.Hits)), err
		}),
		taskDocuments: performs("Lists the indexed documents.", func(ctx context.Context, _ delegation.Task, _ nothing) (any, string, error) {
			all, err := x.documents(ctx)
			return documents{all}, fmt.Sprintf("%d documents", len(all)), err
		}),
		taskRemoval: performs("Removes documents from the index.", func(_ context.Context, _ delegation.Task, m removal) (any, string, error) {
			return documents{}, fmt.Sprintf("%d documents removed", len(m.IDs)), x.remove(m.IDs)
		}),
	}}
}
