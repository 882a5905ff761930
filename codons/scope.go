package codons

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// MaxChildren is the largest number of conversations that the work in one conversation may
// have under way at a time. A further one is refused with [performatives.CodeBudget].
const MaxChildren = 1024

// memberParent is the member of the envelope's metadata that names the parent conversation.
const memberParent = "parent_conversation_id"

// scope is the work in one conversation: its budget and its children. A handler's ctx carries it,
// so that a conversation that is begun with that ctx becomes a child. The deadline of a child is no
// later than the parent's. Its budget is leased from the parent's. It has the parent's priority,
// and the trace of its job, unless the caller sets others. It is withdrawn when the handler's ctx
// ends. Invariant: a conversation sends its last act after all its children have ended.
type scope struct {
	depth    int64 // the number of levels that may be below this one
	limited  bool  // the request has a budget, so the last act carries the usage
	deciding bool  // no child may begin, because the request has not been taken on yet
	account  account

	mu        sync.Mutex
	handler   *Handler        // of the current round; nil before it
	job       *lifecycle.Span // of the handler; nil without tracing
	deadline  time.Time
	ctx       context.Context //nolint:containedctx // of the handler, which owns the scope; nil without one
	cancel    context.CancelCauseFunc
	children  int
	closed    bool
	unstopped bool          // an ended child has perhaps not stopped, in any round
	idle      chan struct{} // closed when the last child of a closed scope has ended; nil without a child
}

type scopeKey struct{}

// scopeOf returns the scope that ctx belongs to, or nil.
func scopeOf(ctx context.Context) *scope {
	s, _ := ctx.Value(scopeKey{}).(*scope)
	return s
}

// openScope returns the scope of the work on a request, which is at most deepest levels deep. The
// error says that the request's budget is not valid.
func openScope(request *performatives.Message, deepest int64) (*scope, error) {
	b, err := budgetIn(request)
	if err != nil {
		return nil, err
	}
	s := &scope{depth: deepest}
	if depth, limited := b[Depth]; limited {
		s.depth = min(depth, deepest)
	}
	if b != nil {
		s.limited = true
		s.account.limit(b)
	}
	return s, nil
}

// work begins a round of the work, and returns the context of its handler, and the function that
// ends it. Only the first cause counts. Code of an earlier round may still use the scope. job is
// the span of the handler, nil without tracing.
func (s *scope) work(h *Handler, deadline time.Time, job *lifecycle.Span) (context.Context, context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler, s.deadline, s.job, s.closed, s.idle = h, deadline, job, false, nil
	root, cancel := context.WithCancelCause(context.Background()) //nolint:forbidigo // the root: no context is above it
	s.ctx, s.cancel = taskContext{root, h}, cancel
	if err := s.account.shortfall(); err != nil {
		s.cancel(err) // code of an earlier round has overspent since
	}
	return s.ctx, s.cancel
}

// extend sets the deadline of the work while its handler runs.
func (s *scope) extend(deadline time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = deadline
}

// overspent ends the context of the work.
func (s *scope) overspent(err error) {
	s.mu.Lock()
	cancel := s.cancel
	s.mu.Unlock()
	cancel(err)
}

// addChild adds a child, and returns its budget.
func (s *scope) addChild(asked Budget, frugal bool) (Budget, error) {
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
	granted, err := s.account.lease(asked, frugal)
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

// removeChild removes a child that has ended. stopped says that nothing of it runs any more, and
// running that something of it perhaps does. With neither, the child ended by a command of this
// side, such as the rejection of a proposal, and counts as running only when the work has ended.
func (s *scope) removeChild(stopped, running bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.children--
	s.unstopped = s.unstopped || !stopped && (running || s.ctx.Err() != nil)
	if s.children == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// close refuses further children and waits for those under way, whose ctx the caller has
// ended. It reports whether all children have stopped.
func (s *scope) close(self actors.Self) (stopped bool) {
	s.mu.Lock()
	s.closed = true
	if s.children > 0 {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	if idle != nil {
		AwaitEnd(self, idle)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.unstopped
}

// quiet returns the last command of [standard.JobChildren]. s is nil for a conversation without a
// handler so far. The children of a closed scope have ended.
func (s *scope) quiet() string {
	if s == nil {
		return standard.CommandStopped
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unstopped {
		return standard.CommandUnstopped
	}
	return standard.CommandStopped
}

// child is the lease of a conversation in the scope in which it was begun. Zero means a
// conversation outside of a scope.
type child struct {
	scope   *scope
	granted Budget
}

// openChild makes the conversation that e opens a child of the scope of ctx, if ctx has one.
func openChild(ctx context.Context, e *performatives.Envelope, o *Options) (child, error) {
	asked, s := o.budget, scopeOf(ctx)
	if asked == nil && s == nil {
		return child{}, nil
	}
	if err := asked.Validate(); err != nil {
		return child{}, err
	}
	if s == nil {
		e.Budget = performatives.ContentOf(asked)
		return child{granted: asked}, nil
	}
	granted, err := s.addChild(asked, o.frugal)
	if err != nil {
		return child{}, err
	}
	s.inherit(e, detached(ctx), o.reserve)
	e.Budget = performatives.ContentOf(granted)
	return child{s, granted}, nil
}

// inherit sets the deadline, the trace, the priority and the parent of a child. A detached child
// may outlive the parent's deadline. Any other child ends before it, by the deadline reserve.
func (s *scope) inherit(e *performatives.Envelope, detached bool, reserve time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if by := s.childDeadline(e.Timestamp, reserve); !detached && (e.ReplyBy.IsZero() || e.ReplyBy.After(by)) {
		e.ReplyBy = by
	}
	if e.Trace == "" || s.job != nil && e.Trace == s.handler.request.Trace() { // the request's names its initiator, which is further up
		e.Trace = cmp.Or(s.span().Traceparent(), s.handler.request.Trace())
	}
	if e.Priority == performatives.Normal {
		e.Priority = s.handler.request.Priority()
	}
	name, _ := json.Marshal(string(s.handler.request.ConversationID())) // a string always has a JSON form
	e.Metadata = performatives.Members{memberParent: name}
}

// The default deadline reserve is one reservePart-th of the remaining time, at most maxReserve.
const (
	reservePart = 8
	maxReserve  = time.Second
)

// childDeadline returns the deadline of a child that begins now: see [WithDeadlineReserve].
func (s *scope) childDeadline(now time.Time, reserve time.Duration) time.Time {
	switch {
	case reserve < 0:
		return s.deadline
	case reserve == 0:
		reserve = min(max(s.deadline.Sub(now), 0)/reservePart, maxReserve)
	}
	return s.deadline.Add(-reserve)
}

// ParentOf returns the conversation in whose work the conversation that m opens was begun, as m
// names it; empty for none, and for a name that is longer than an id may be.
func ParentOf(m *performatives.Message) performatives.ConversationID {
	const longest = len(`\u0000`)*performatives.MaxIDLength + len(`""`) // of the JSON of an id
	raw, ok := m.Metadata(memberParent)
	if !ok || len(raw) > longest {
		return ""
	}
	var id string
	if json.Unmarshal(raw, &id) != nil || len(id) > performatives.MaxIDLength {
		return ""
	}
	return performatives.ConversationID(id)
}

// release returns the lease of a conversation that never began.
func (p child) release() {
	if p.scope != nil {
		p.scope.account.settle(p.granted, nil)
		p.scope.removeChild(true, false)
	}
}

// used returns the usage of a conversation that the message last has ended; nil when no message
// did. A message without usage means that the peer may have used the whole allowance, unless it
// says that the work was not taken on.
func (p child) used(last *performatives.Message) Budget {
	if last == nil {
		return p.limits()
	}
	if used, err := budgetIn(last); err == nil && used != nil {
		return used
	}
	switch last.Performative() { //nolint:exhaustive // the acts of a peer that did not begin the work
	case performatives.ActTaskReject, performatives.ActRefuse, performatives.ActNotUnderstood:
		return Budget{}
	}
	return p.limits()
}

// limits returns the whole allowance of the conversation.
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

// Detach returns a context for work that must go on after ctx has ended, such as the undoing of
// a step. A conversation that is begun with it is still a child of the conversation of ctx and
// leases its budget from it. But it ends neither with ctx nor by its deadline. Give the context
// a deadline of its own.
func Detach(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), detachedKey{}, true)
}

func detached(ctx context.Context) bool {
	d, _ := ctx.Value(detachedKey{}).(bool)
	return d
}

// IdempotencyKey returns a key for what a handler does outside, such as the key of a payment: the
// same for each run of the same step, and another for any other step. A step is one request in one
// conversation: its first task, or a further round. A request that is repeated on the same node
// does not run twice. It can after the node has died or the agent has moved, and then has the same
// key.
//
// ctx is that of the handler. For any other, the key is empty.
func IdempotencyKey(ctx context.Context) string {
	s := scopeOf(ctx)
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handler == nil {
		return ""
	}
	h := sha256.New()
	for _, part := range []string{string(s.handler.request.Sender().Fold()), string(s.handler.request.ConversationID()), string(s.handler.request.ID())} {
		_, _ = fmt.Fprintf(h, "%d %s\n", len(part), part) // a hash returns no error
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
