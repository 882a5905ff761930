package discovery

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Whisper asks one agent for its capabilities, and waits for the answer.
// [performatives.QueryCapabilities] lists the kinds of query. The deadline is ctx's, or else
// [codons.DefaultDeadline]. The error is an [*codons.EndError], or says why the query is not
// valid. Whisper must not be called on an agent's own actor.
func Whisper(ctx context.Context, p codons.Party, to performatives.AgentID, q performatives.QueryCapabilities, opts ...codons.Option) (performatives.InformCapabilities, error) {
	self, err := codons.SelfOf(p)
	if err != nil {
		return performatives.InformCapabilities{}, err
	}
	w, err := startWhisper(ctx, self, to, q, opts, nil)
	if err != nil {
		return performatives.InformCapabilities{}, err
	}
	w.Await()
	return w.answer, w.Err()
}

// Candidate is an agent that answered a query for capabilities.
type Candidate struct {
	Agent   performatives.AgentID
	Answer  performatives.InformCapabilities
	Match   bool     // the agent has the capabilities that the query names; true for a summary
	Matched []string // the capabilities of the query that the agent has, in the agent's spelling
}

// maxOpenQueries is the largest number of open queries of one WhisperAll, so that the answers
// do not fill the initiator's mailbox.
const maxOpenQueries = 512

// WhisperAll asks many agents for their capabilities and returns those that answered: first
// those that match, then by the number of matched capabilities, then in the order of to. The
// deadline is ctx's, or else [codons.DefaultDeadline]. An agent that fails, refuses or does
// not answer in time is no candidate. It is no error if none answered. At most 512 queries
// are open at a time; the others are sent as answers arrive.
//
// The error says why the query is not valid, or that p has stopped. When ctx is cancelled,
// the error is its cause, and the candidates so far are returned with it. WhisperAll must
// not be called on an agent's own actor.
func WhisperAll(ctx context.Context, p codons.Party, to []performatives.AgentID, q performatives.QueryCapabilities, opts ...codons.Option) ([]Candidate, error) {
	self, err := codons.SelfOf(p)
	if err != nil {
		return nil, err
	}
	if err := q.Validate(); err != nil {
		return nil, err
	}
	asked := make([]*whisperInitiator, 0, len(to))
	room := make(chan struct{}, min(len(to), maxOpenQueries))
	for _, id := range to {
		enter(self, room)
		w, err := startWhisper(ctx, self, id, q, opts, room)
		if err != nil && ctx.Err() != nil {
			break // no time left for the other agents
		}
		if err != nil {
			withdrawAll(asked, err)
			return nil, err
		}
		asked = append(asked, w)
	}
	var candidates []Candidate
	for _, w := range asked {
		w.Await()
		if w.Err() == nil {
			a := w.answer
			candidates = append(candidates, Candidate{w.Request().Receiver(), a, a.MatchResult == nil || *a.MatchResult, a.Matched})
		}
	}
	rank(candidates)
	if err := ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return candidates, actors.EndOf(ctx)
	}
	return candidates, nil
}

// withdrawAll withdraws the queries and waits for their ends.
func withdrawAll(asked []*whisperInitiator, cause error) {
	for _, w := range asked {
		w.Withdraw(cause)
	}
	for _, w := range asked {
		w.Await()
	}
}

// enter waits until another query may be open. In a simulation, it continues in the order that
// the system decides ([actors.System.Turn]).
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

// rank sorts candidates: matching ones first, then by the number of matched capabilities.
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

// whisperInitiator is the initiator's side of one query.
type whisperInitiator struct {
	codons.InitiatorSide
	answer performatives.InformCapabilities // valid after Await
	room   chan struct{}                    // holds a token for each open query; nil for a single query
}

func startWhisper(ctx context.Context, self actors.Self, to performatives.AgentID, q performatives.QueryCapabilities, opts []codons.Option, room chan struct{}) (*whisperInitiator, error) {
	// The answer is the agent's description, which costs no budget but the call.
	o := codons.NewOptions(codons.WithOntology(performatives.OntologyCapabilityQuery), codons.WithFrugalBudget())
	o.Apply(opts...)
	w := &whisperInitiator{room: room}
	err := w.Start(ctx, self, codons.Opening{
		Codon: WhisperCodon, To: to, Act: performatives.ActQueryCapabilities, Payload: q, Options: o,
	}, w)
	return w, err
}

// Ended reads the answer.
func (w *whisperInitiator) Ended(c *codons.Conversation, last *performatives.Message) {
	var err error
	if c.State() == standard.StateAnswered {
		w.answer, err = codons.PayloadOf[performatives.InformCapabilities](c, last)
	} else {
		err = c.EndError(last)
	}
	w.leave()
	w.Close(err)
}

// Abandoned gives the query's token back.
func (w *whisperInitiator) Abandoned(c *codons.Conversation, cause error) {
	w.leave()
	w.InitiatorSide.Abandoned(c, cause)
}

// leave gives the query's token back.
func (w *whisperInitiator) leave() {
	if w.room != nil {
		<-w.room
	}
}

// WhisperService makes every agent answer QUERY_CAPABILITIES from its description, whatever the
// message's protocol. It guards each agent whose capabilities declare ontologies, by
// [OntologyGuard]. In a list of roles, [HandshakeService] must precede it.
var WhisperService = codons.NewService(WhisperCodon, codons.ServiceOptions{Guard: OntologyGuard, Opens: opensWhisper}, newWhisperResponder)

func opensWhisper(m *performatives.Message) bool {
	return m.Performative() == performatives.ActQueryCapabilities ||
		m.Performative() == performatives.ActCancel && m.Protocol() == WhisperName
}

func newWhisperResponder(self actors.Self, agent actors.Agent, _ codons.Times) actors.Responder {
	return codons.NewResponder(self, agent, codons.ResponderOptions{Codon: WhisperCodon})
}

// whisperResponder is the responder's side of one query. It reads the description that the
// agent gave when it started, so no agent code runs.
type whisperResponder struct{ *codons.ResponderSide }

// Run answers at once, on the conversation's actor.
func (s whisperResponder) Run(c *codons.Conversation, _ string) {
	q, err := performatives.PayloadAs[performatives.QueryCapabilities](c.Request())
	if err != nil {
		c.Happen(codons.TurnDown(err))
		return
	}
	answer, err := c.Agent().Describe().Answer(q)
	if err != nil {
		c.Happen(codons.TurnDown(err))
		return
	}
	c.Happen(codons.Command{Name: standard.CommandAnswer, Data: answer})
}

// OntologyGuard returns a guard that refuses a message in an ontology which the agent does not
// know, as [performatives.Capabilities.UnknownOntology] says: the sender gets NOT_UNDERSTOOD with
// [performatives.CodeUnknownOntology]. The capabilities are read for each message, so the guard
// follows [actors.Self.Announce]. The guard may be called from any goroutine.
func OntologyGuard(self actors.Self, _ actors.Agent) actors.Guard {
	return func(m *performatives.Message) *performatives.Refusal {
		return self.Describe().UnknownOntology(self.ID(), m)
	}
}
