package swarm

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Name is the name by which a node hosts the swarm.
const Name = "rag"

// The ids of the swarm's agents, and that of the agent or peer that asks them (Standard Agent IDs).
const (
	IngestionID performatives.AgentID = "IngestionAgent"
	RetrievalID performatives.AgentID = "RetrievalAgent"
	ResponseID  performatives.AgentID = "LLMResponseAgent"
	SystemID    performatives.AgentID = "System"
)

// Options configures the swarm. The zero value answers from sample documents, by extracts.
type Options struct {
	Docs   string       // the folder that is read; empty for the sample documents, which are in the program
	Model  *Model       // writes the answers; nil for extracts
	Thread *Thread      // of the messages at the start; nil for one of its own
	Told   func(Report) // gets the report of the start; nil for the node's log

	// Progress, unless it is nil, is told of the files that are read at the start. An error ends
	// it.
	Progress func(percent float64, text string) error
}

// New returns the swarm for a node to host, by [runtime.Swarms.Host], which returns when the
// documents are indexed.
func New(o Options) runtime.Swarm {
	return runtime.Swarm{Name: Name, Purpose: "answers questions from the documents of a folder", Spawn: o.spawn}
}

func (o Options) spawn(ctx context.Context, n *runtime.Node) error {
	x, g := newIndex(), &ingester{folder: o.Docs, known: make(map[string]bool)}
	for id, agent := range map[performatives.AgentID]actors.Agent{
		IngestionID: newIngestionAgent(g), RetrievalID: newRetrievalAgent(x), ResponseID: newResponseAgent(o.Model),
	} {
		if err := n.Spawn(ctx, id, func() actors.Agent { return agent }); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	self, _ := n.System().Lookup(IngestionID)
	report, err := g.ingest(ctx, self, cmp.Or(o.Thread, NewThread(performatives.ConversationID(performatives.NewID()))), o.Progress)
	switch {
	case err != nil:
		return err
	case o.Told != nil:
		o.Told(report)
	default:
		report.log(n.System().Logger())
	}
	return nil
}

// Thread makes the trace ids of one conversation (Trace Correlation). It must not be used at once
// from several goroutines.
type Thread struct {
	base performatives.ConversationID
	n    int
}

// NewThread returns the thread of a conversation.
func NewThread(base performatives.ConversationID) *Thread { return &Thread{base: base} }

// next returns a trace id: <prefix>-<base>-<sequence>.
func (t *Thread) next(prefix string) performatives.ConversationID {
	t.n++
	return performatives.ConversationID(fmt.Sprintf("%s-%s-%03d", prefix, t.base, t.n))
}

// Ask asks a question: it has the RetrievalAgent find passages, and the LLMResponseAgent answer
// from them. When none is found, the second one is not asked, and the answer is [NothingFound].
func Ask(ctx context.Context, p codons.Party, t *Thread, q Query) (a Answer, err error) {
	a.Response = NothingFound
	if a.Retrieved, err = ask[Retrieved](ctx, p, RetrievalID, taskRetrieval, t.next("ret"), q); err != nil || len(a.Hits) == 0 {
		return a, err
	}
	request := response{Question: q.Text}
	for _, h := range a.Hits {
		request.Passages = append(request.Passages, Passage{h.Content, h.Source, h.Metadata})
	}
	a.Responded, err = ask[Responded](ctx, p, ResponseID, taskResponse, t.next("llm"), request)
	return a, err
}

// ask has an agent perform a task in a conversation of its own, and returns the details of the
// result.
func ask[R any](ctx context.Context, p codons.Party, to performatives.AgentID, kind string, id performatives.ConversationID, parameters any) (result R, err error) {
	r, err := delegation.Delegate(ctx, p, to, performatives.TaskRequest{TaskType: kind, Parameters: performatives.ContentOf(parameters)}, codons.WithConversation(id))
	if err != nil {
		return result, err
	}
	return performatives.Decode[R](r.Details)
}
