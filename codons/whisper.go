package codons

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Whisper asks one agent what it can do, and waits for the answer. The kinds of
// query are those of [performatives.QueryCapabilities]. The error is an
// [*EndError], or says what is wrong with the query. It must not be called on an
// agent's own actor.
func Whisper(ctx context.Context, p Party, to performatives.AgentID, q performatives.QueryCapabilities, opts ...Option) (performatives.InformCapabilities, error) {
	w, err := startWhisper(ctx, p.Self(), to, q, newOptions(opts), nil)
	if err != nil {
		return performatives.InformCapabilities{}, err
	}
	w.await()
	return w.answer, w.err
}

// Candidate is an agent that answered a query for capabilities.
type Candidate struct {
	Agent   performatives.AgentID
	Answer  performatives.InformCapabilities
	Match   bool     // it has what was asked for; of a summary, always
	Matched []string // which of the capabilities asked for, as it calls them
}

// whisperedAtOnce is how many queries of one WhisperAll are under way at a time, so
// that a large swarm does not fill the asker's mailbox.
const whisperedAtOnce = 512

// WhisperAll asks many agents at once, until ctx's deadline or else
// [DefaultDeadline], and returns those that answered: first those that match,
// then by how much they have of what was asked for, then in the order of to. An
// agent that fails, refuses or does not answer in time is no candidate; that nobody
// answered is no error. The error says what is wrong with the query, or that p has
// stopped. When ctx is cancelled, it is that, beside the candidates so far. It must
// not be called on an agent's own actor. At most 512 queries are under way at a
// time: of more agents, the later are asked as the earlier answer.
func WhisperAll(ctx context.Context, p Party, to []performatives.AgentID, q performatives.QueryCapabilities, opts ...Option) ([]Candidate, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	asked := make([]*whispered, 0, len(to))
	room := make(chan struct{}, min(len(to), whisperedAtOnce))
	for _, id := range to {
		enter(p.Self(), room)
		w, err := startWhisper(ctx, p.Self(), id, q, newOptions(opts), room)
		if err != nil && ctx.Err() != nil {
			break // there was no time left for the others
		}
		if err != nil {
			withdrawAll(asked, err)
			return nil, err
		}
		asked = append(asked, w)
	}
	var candidates []Candidate
	for _, w := range asked {
		w.await()
		if w.err == nil {
			candidates = append(candidates, candidateOf(w.request.Receiver(), w.answer))
		}
	}
	rank(candidates)
	if err := ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return candidates, endOf(ctx)
	}
	return candidates, nil
}

// withdrawAll ends the queries, and waits until they have.
func withdrawAll(asked []*whispered, cause error) {
	for _, w := range asked {
		w.conversation.withdraw(cause)
	}
	for _, w := range asked {
		w.await()
	}
}

// enter waits for room for a query, and goes on in its turn.
func enter(self actors.Self, room chan struct{}) {
	select {
	case room <- struct{}{}:
		return
	default:
	}
	turn := self.System().Turn()
	room <- struct{}{}
	turn()
}

func candidateOf(id performatives.AgentID, a performatives.InformCapabilities) Candidate {
	return Candidate{Agent: id, Answer: a, Match: a.MatchResult == nil || *a.MatchResult, Matched: a.Matched}
}

func rank(cs []Candidate) {
	slices.SortStableFunc(cs, func(a, b Candidate) int {
		if a.Match != b.Match {
			if a.Match {
				return -1
			}
			return 1
		}
		return cmp.Compare(len(b.Matched), len(a.Matched))
	})
}

// whispered is one query under way.
type whispered struct {
	asker
	answer performatives.InformCapabilities // read once done is closed
	room   chan struct{}                    // holds a token for it until it has ended; nil for one alone
}

func startWhisper(ctx context.Context, self actors.Self, to performatives.AgentID, q performatives.QueryCapabilities, o options, room chan struct{}) (*whispered, error) {
	if o.ontology == "" {
		o.ontology = performatives.OntologyCapabilityQuery
	}
	o.frugal = true // an answer out of what the agent describes costs nothing but the call
	w := &whispered{asker: asker{options: o}, room: room}
	if err := w.prepare(ctx, self, whisper, to, performatives.ActQueryCapabilities, q); err != nil {
		return nil, err
	}
	if err := w.begin(ctx, self, whisper, w); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *whispered) ended(c *conversation, last *performatives.Message) {
	w.answer, w.err = w.end(c, last)
	w.leave()
	close(w.done)
}

func (w *whispered) abandoned(c *conversation, cause error) {
	w.leave()
	w.asker.abandoned(c, cause)
}

// leave makes room for another query.
func (w *whispered) leave() {
	if w.room != nil {
		<-w.room
	}
}

func (w *whispered) end(c *conversation, last *performatives.Message) (performatives.InformCapabilities, error) {
	if c.state.State != stateAnswered {
		return performatives.InformCapabilities{}, c.endError(last)
	}
	a, err := performatives.PayloadAs[performatives.InformCapabilities](last)
	if err != nil {
		return a, c.unreadable(err)
	}
	return a, nil
}
