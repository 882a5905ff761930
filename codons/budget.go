package codons

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Resource is something that a [Budget] limits. Agents may have resources of their
// own; those below are known to all.
type Resource string

// The resources that all agents know.
const (
	Tokens Resource = "tokens" // of a language model
	Cost   Resource = "cost"   // in the smallest unit that the swarm accounts in, such as a thousandth of a cent
	Calls  Resource = "calls"  // conversations that the work may begin, at all depths together
	Depth  Resource = "depth"  // how many levels of conversations the work may have below it
)

// Budget is an allowance for the work of one conversation and of all that it begins.
// A resource that it does not name is not limited, but for [Depth], which is
// [DefaultDepth] then. A message carries it as a JSON object of whole numbers.
type Budget map[Resource]int64

// DefaultDepth is how many levels of conversations may be below one that was given no
// [Depth], so that no swarm delegates in circles for ever.
const DefaultDepth = 32

// Validate checks that no allowance is negative or without a name.
func (b Budget) Validate() error {
	if len(b) == 0 {
		return nil
	}
	for _, r := range slices.Sorted(maps.Keys(b)) {
		if r == "" || b[r] < 0 {
			return &performatives.Refusal{
				Code: performatives.CodeInvalidPayload, Field: "budget",
				Text: fmt.Sprintf("budget: want whole numbers from 0 under the names of resources, got %.64q: %d", r, b[r]),
			}
		}
	}
	return nil
}

// String returns the allowances in the order of their names, such as "calls 3, tokens
// 500".
func (b Budget) String() string {
	words := make([]string, 0, len(b))
	for _, r := range slices.Sorted(maps.Keys(b)) {
		words = append(words, fmt.Sprintf("%s %d", r, b[r]))
	}
	return strings.Join(words, ", ")
}

// budgetOf reads the budget that a message carries; nil when it carries none.
func budgetOf(m *performatives.Message) (Budget, error) {
	content := m.Budget()
	if content.IsZero() {
		return nil, nil
	}
	b, err := performatives.Decode[Budget](content)
	if err != nil {
		return nil, &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, About: m.ID(), Field: "budget", Text: "budget: want an object of whole numbers",
		}
	}
	return b, b.Validate()
}

// Spend takes what a handler has used, or is about to use, out of the budget of its
// conversation; ctx is the handler's, or one made of it. When that does not suffice,
// the error is a [*performatives.Refusal] with [performatives.CodeBudget] that names
// the shortfall, ctx ends with it, and the conversation ends in FAILURE with it,
// whatever the handler returns. Without a budget there is no limit, and outside of a
// handler, as in a decision, nothing to take from. It may be called from any goroutine.
func Spend(ctx context.Context, used Budget) error {
	if err := used.Validate(); err != nil {
		return err
	}
	s := scopeOf(ctx)
	if s == nil || s.deciding {
		return nil
	}
	err := s.ledger.spend(used)
	if err != nil {
		s.overspent(err)
	}
	return err
}

// Left returns what is left of the budget of a handler's conversation, without what
// is leased to conversations that it has begun and that go on, and to a decision, what
// there would be. It names the resources that are limited, and is nil outside of both.
// A number below 0 is what a peer has overdrawn. The map is the caller's.
func Left(ctx context.Context) Budget {
	s := scopeOf(ctx)
	if s == nil {
		return nil
	}
	left := s.ledger.remaining()
	left[Depth] = s.depth
	return left
}

// ledger keeps the account of one conversation's budget. The zero ledger has no
// limits.
type ledger struct {
	mu     sync.Mutex
	left   Budget // of what is limited
	leased Budget // to conversations that go on
	spent  Budget
	over   error // the first shortfall
}

// limit gives the ledger what b allows.
func (l *ledger) limit(b Budget) {
	l.left = maps.Clone(b)
	delete(l.left, Depth) // nobody uses it up
}

func (l *ledger) remaining() Budget {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := maps.Clone(l.left)
	if left == nil {
		left = Budget{}
	}
	return left
}

// spend takes used out of what is left, and remembers the first time that it does
// not suffice.
func (l *ledger) spend(used Budget) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.shortLocked(used)
	l.takeLocked(used)
	if l.over == nil {
		l.over = err
	}
	return err
}

func (l *ledger) takeLocked(used Budget) {
	for r, n := range used {
		if r == Depth {
			continue // nobody uses it up
		}
		if left, limited := l.left[r]; limited {
			l.left[r] = minus(left, n)
		}
		if l.spent == nil {
			l.spent = Budget{}
		}
		l.spent[r] = plus(l.spent[r], n)
	}
}

// plus and minus stop at the last number that there is: what a peer says that it
// used must not make a large debt a large allowance. n is not negative.
func plus(a, n int64) int64 {
	if a > math.MaxInt64-n {
		return math.MaxInt64
	}
	return a + n
}

func minus(a, n int64) int64 {
	if a < math.MinInt64+n {
		return math.MinInt64
	}
	return a - n
}

// shortLocked says which resource does not suffice, and by how much.
func (l *ledger) shortLocked(want Budget) error {
	for _, r := range slices.Sorted(maps.Keys(want)) {
		left, limited := l.left[r]
		if !limited || want[r] <= left {
			continue
		}
		text := fmt.Sprintf("%s: %d wanted, %d left", r, want[r], left)
		if leased := l.leased[r]; leased > 0 {
			text += fmt.Sprintf(", and %d with conversations under way", leased)
		}
		return &performatives.Refusal{Code: performatives.CodeBudget, Field: string(r), Text: text}
	}
	return nil
}

// lease takes the allowance of a conversation that is begun out of this one: what is
// asked for, and of all else that is limited, all that is left, or nothing for a
// frugal one. Beginning it is a call of this one's.
func (l *ledger) lease(asked Budget, frugal bool) (Budget, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	granted := Budget{}
	for r, n := range asked {
		if r != Depth {
			granted[r] = n
		}
	}
	if err := l.shortLocked(l.heldLocked(granted)); err != nil {
		return nil, err
	}
	for r, left := range l.left {
		if _, named := asked[r]; named {
			continue
		}
		if r == Calls {
			left--
		}
		if granted[r] = max(left, 0); frugal { // it is overdrawn where a child has used too much
			granted[r] = 0
		}
	}
	l.moveLocked(l.heldLocked(granted), 1)
	return granted, nil
}

// parted has each of n conversations that are to go on at the same time get an equal
// part of what is left now where its budget names nothing, for the first of them would
// get all of it. ctx is what they are begun with.
func parted(ctx context.Context, n int) Option {
	s := scopeOf(ctx)
	if s == nil {
		return func(*options) {}
	}
	left := s.ledger.remaining()
	return func(o *options) { o.budget = left.part(o.budget, int64(n)) }
}

// part is asked, and of all that it does not name the n-th part of b, which is less
// than 0 where a peer has overdrawn it. Beginning each of the n is a call.
func (b Budget) part(asked Budget, n int64) Budget {
	part := maps.Clone(asked)
	for r, left := range b {
		if _, named := asked[r]; named || left < 0 {
			continue
		}
		if r == Calls {
			left -= n
		}
		if part == nil {
			part = Budget{}
		}
		part[r] = max(left/n, 0)
	}
	return part
}

// settle ends a lease, of which used was used; nil when the conversation was never
// begun.
func (l *ledger) settle(granted, used Budget) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moveLocked(l.heldLocked(granted), -1)
	if used != nil {
		l.takeLocked(used)
		l.takeLocked(Budget{Calls: 1})
	}
}

// heldLocked is what a lease withholds: what was granted, and the call.
func (l *ledger) heldLocked(granted Budget) Budget {
	if _, limited := l.left[Calls]; !limited {
		return granted
	}
	held := maps.Clone(granted)
	held[Calls] = plus(held[Calls], 1)
	return held
}

// moveLocked moves an allowance from what is left to what is leased, or back.
func (l *ledger) moveLocked(b Budget, sign int64) {
	for r, n := range b {
		if _, limited := l.left[r]; !limited {
			continue
		}
		if l.leased == nil {
			l.leased = Budget{}
		}
		l.leased[r] += sign * n
		if sign > 0 {
			l.left[r] = minus(l.left[r], n)
		} else {
			l.left[r] = plus(l.left[r], n)
		}
	}
}

// account returns what was spent. What is leased to conversations that go on may be.
func (l *ledger) account() Budget {
	l.mu.Lock()
	defer l.mu.Unlock()
	used := maps.Clone(l.spent)
	if used == nil {
		used = Budget{}
	}
	for r, n := range l.leased {
		if n > 0 {
			used[r] = plus(used[r], n)
		}
	}
	return used
}

// shortfall returns the first one.
func (l *ledger) shortfall() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}
