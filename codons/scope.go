package codons

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// MaxChildren is how many conversations the work in one conversation may have under
// way at a time.
const MaxChildren = 1024

// memberParent is the member of the envelope that names the conversation in whose
// work another was begun.
const memberParent = "parent_conversation_id"

// scope is the work in one conversation: what it may use, and the conversations that
// it has begun, its children. A handler's ctx leads to it, so that a conversation
// that is begun with that ctx is a child: its deadline is no later, its budget is
// leased from the parent's, it has the parent's band and trace unless it is given
// others, it is withdrawn when the handler's ctx ends, and the handler's
// conversation does not say its last word before the child has ended.
type scope struct {
	depth    int64 // levels that may still be below
	account  bool  // the request has a budget, so the last word says what was used
	deciding bool  // nothing may begin, because it is not decided yet whether the work does
	ledger   ledger

	mu       sync.Mutex
	request  *performatives.Message // of the round
	deadline time.Time
	ctx      context.Context //nolint:containedctx // the handler's, which owns the scope; nil without one
	cancel   context.CancelCauseFunc
	children int
	closed   bool
	loose    bool          // a child that was withdrawn has perhaps not stopped, in whichever round
	idle     chan struct{} // closed when the last child of a closed scope has ended; nil without any
}

type scopeKey struct{}

// scopeOf returns the scope that ctx belongs to, or nil.
func scopeOf(ctx context.Context) *scope {
	s, _ := ctx.Value(scopeKey{}).(*scope)
	return s
}

// openScope returns the scope of the work on a request. The error says that its budget
// makes no sense.
func openScope(request *performatives.Message) (*scope, error) {
	b, err := budgetOf(request)
	if err != nil {
		return nil, err
	}
	s := &scope{depth: DefaultDepth}
	if depth, limited := b[Depth]; limited {
		s.depth = depth
	}
	if b != nil {
		s.account = true
		s.ledger.limit(b)
	}
	return s, nil
}

// work begins a round of the work, and returns the context of its handler. Code of an
// earlier round may still hold on to the scope.
func (s *scope) work(request *performatives.Message, deadline time.Time) (context.Context, context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.request, s.deadline, s.closed, s.idle = request, deadline, false, nil
	s.ctx, s.cancel = working(s, deadline)
	if err := s.ledger.shortfall(); err != nil {
		s.cancel(err) // code of the earlier round spent more since
	}
	return s.ctx, s.cancel
}

// overspent ends the work.
func (s *scope) overspent(err error) {
	s.mu.Lock()
	cancel := s.cancel
	s.mu.Unlock()
	cancel(err)
}

// enter begins a child, and returns what it may use.
func (s *scope) enter(asked Budget, frugal bool) (Budget, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.deciding:
		return nil, ErrDeciding
	case s.closed:
		return nil, ErrEnded
	case s.depth <= 0:
		return nil, &performatives.Refusal{
			Code: performatives.CodeBudget, Field: string(Depth), Text: "depth: no conversation may be begun below this one",
		}
	case s.children == MaxChildren:
		return nil, &performatives.Refusal{
			Code: performatives.CodeBudget, Text: fmt.Sprintf("%d conversations are under way below this one, which is the limit", MaxChildren),
		}
	}
	granted, err := s.ledger.lease(asked, frugal)
	if err != nil {
		return nil, err
	}
	s.children++
	granted[Depth] = s.depth - 1
	if depth, named := asked[Depth]; named {
		granted[Depth] = min(granted[Depth], depth)
	}
	return granted, nil
}

// leave ends a child. stopped says that nothing of it runs any more, withdrawn that it
// was to stop: one that was not, and has let its time pass, keeps the same deadline.
func (s *scope) leave(stopped, withdrawn bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.children--
	s.loose = s.loose || !stopped && (withdrawn || s.ctx.Err() != nil)
	if s.children == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// close lets no child begin any more, and waits for those under way: the caller has
// ended their ctx. It reports whether all that were withdrawn have stopped.
func (s *scope) close(self actors.Self) (stopped bool) {
	s.mu.Lock()
	s.closed = true
	if s.children > 0 {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	if idle != nil {
		awaitEnd(self, idle)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.loose
}

// child is a conversation's place in the scope in which it was begun; zero for one
// that was begun outside of any.
type child struct {
	scope   *scope
	granted Budget
}

// adopt makes the conversation that e opens a child of the scope of ctx, if it has
// one.
func adopt(ctx context.Context, e *performatives.Envelope, o *options) (child, error) {
	asked := o.budget
	if err := asked.Validate(); err != nil {
		return child{}, err
	}
	s := scopeOf(ctx)
	if s == nil {
		if asked != nil {
			e.Budget = performatives.ContentOf(asked)
		}
		return child{granted: asked}, nil
	}
	granted, err := s.enter(asked, o.frugal)
	if err != nil {
		return child{}, err
	}
	s.passOn(e, detached(ctx))
	e.Budget = performatives.ContentOf(granted)
	return child{s, granted}, nil
}

// passOn gives a child what it has of its parent. A detached one may outlive the
// deadline.
func (s *scope) passOn(e *performatives.Envelope, detached bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !detached && (e.ReplyBy.IsZero() || e.ReplyBy.After(s.deadline)) {
		e.ReplyBy = s.deadline
	}
	if e.Trace == "" {
		e.Trace = s.request.Trace()
	}
	if e.Priority == performatives.Normal {
		e.Priority = s.request.Priority()
	}
	name, _ := json.Marshal(string(s.request.ConversationID())) // a string always has a JSON form
	e.Metadata = performatives.Members{memberParent: name}
}

// parentOf returns the conversation in whose work that of m was begun, if it says so.
func parentOf(m *performatives.Message) performatives.ConversationID {
	raw, ok := m.Metadata(memberParent)
	if !ok {
		return ""
	}
	var id string
	if json.Unmarshal(raw, &id) != nil {
		return ""
	}
	return performatives.ConversationID(id)
}

// settle gives back what the conversation did not use; nil means that it was never
// begun. It comes before anybody learns of the end, so that whoever does can use it.
func (p child) settle(used Budget) {
	if p.scope != nil {
		p.scope.ledger.settle(p.granted, used)
	}
}

// leave lets the conversation in whose work this one was begun end: see [scope.leave].
func (p child) leave(stopped, withdrawn bool) {
	if p.scope != nil {
		p.scope.leave(stopped, withdrawn)
	}
}

// castOff is settle and leave for a conversation that was never begun.
func (p child) castOff() {
	p.settle(nil)
	p.leave(true, false)
}

// used is what a conversation used that last has ended, if a message did. One that
// says nothing about that may have used all of it, and one that says that the work
// was not taken on none.
func (p child) used(last *performatives.Message) Budget {
	if last == nil {
		return p.limits()
	}
	if used, err := budgetOf(last); err == nil && used != nil {
		return used
	}
	switch last.Performative() { //nolint:exhaustive // the acts of a peer that did not begin
	case performatives.ActTaskReject, performatives.ActRefuse, performatives.ActNotUnderstood:
		return Budget{}
	}
	return p.limits()
}

// limits is all that the conversation may have used.
func (p child) limits() Budget {
	if len(p.granted) == 0 {
		return nil
	}
	all := Budget{}
	for r, n := range p.granted {
		if r != Depth {
			all[r] = n
		}
	}
	return all
}

type detachedKey struct{}

// Detach returns a context for work that must go on when ctx has ended, such as
// undoing what was done: a conversation that is begun with it still belongs to the
// one that ctx belongs to, and is paid for by it, but does not end with it, nor by
// its deadline. Give it a deadline of its own.
func Detach(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), detachedKey{}, true)
}

func detached(ctx context.Context) bool {
	d, _ := ctx.Value(detachedKey{}).(bool)
	return d
}
