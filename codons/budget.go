package codons

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Quantity is the name of a quantity that a [Budget] limits. An application may have quantities
// of its own beside the constants of this type.
type Quantity string

// The quantities that all agents know.
const (
	Tokens Quantity = "tokens" // Tokens counts the tokens of a language model.
	Cost   Quantity = "cost"   // Cost is in the smallest unit of the swarm's accounts, such as a thousandth of a cent.
	Calls  Quantity = "calls"  // Calls counts the conversations that the work begins, at all depths together.
	Depth  Quantity = "depth"  // Depth is the number of levels of conversations below the work. The work does not use it up.
)

// Budget is an allowance for the work of one conversation and of its children. A quantity that it
// does not name has no limit, except [Depth], which a responder limits by its [Times]. Zero means
// that nothing of the quantity may be used. A message carries a budget as a JSON object of whole
// numbers. A Budget is a map: it is not safe for concurrent changes.
type Budget map[Quantity]int64

// DefaultDepth is the largest number of levels of conversations below one, unless the [Times] of
// its responder have another. It ends delegations in a circle.
const DefaultDepth = 32

// Validate returns a [*performatives.Refusal] for the field budget when an allowance is negative
// or has no name.
func (b Budget) Validate() error {
	r, found := b.first(func(r Quantity, n int64) bool { return r == "" || n < 0 })
	if !found {
		return nil
	}
	return &performatives.Refusal{
		Code: performatives.CodeInvalidPayload, Field: "budget",
		Text: fmt.Sprintf("budget: want whole numbers from 0 under the names of quantities, got %.64q: %d", r, b[r]),
	}
}

// first returns the first quantity, by name, for which is holds.
func (b Budget) first(is func(Quantity, int64) bool) (first Quantity, found bool) {
	for r, n := range b {
		if is(r, n) && (!found || r < first) {
			first, found = r, true
		}
	}
	return first, found
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

// BudgetOf returns the budget that a message carries, nil for none. The error is a
// [*performatives.Refusal] for the field budget when its content is not a valid budget. The map
// is the caller's.
func BudgetOf(m *performatives.Message) (Budget, error) {
	b, err := budgetIn(m)
	return maps.Clone(b), err
}

// budgetIn is [BudgetOf] with the map of the message itself, which must not be changed: the
// usage of many messages may be one map.
func budgetIn(m *performatives.Message) (Budget, error) {
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

// Spend takes usage of a handler out of the budget of its conversation, before or after the
// use. ctx is the handler's or derived from it. A shortfall is a [*performatives.Refusal] with
// [performatives.CodeBudget]: it ends ctx, and the conversation ends in FAILURE with it
// whatever the handler returns. Without a budget there is no limit. Outside of a handler, and
// in a decision, Spend only validates used. It does not block. Safe for concurrent use.
func Spend(ctx context.Context, used Budget) error {
	if err := used.Validate(); err != nil {
		return err
	}
	s := scopeOf(ctx)
	if s == nil || s.deciding {
		return nil
	}
	err := s.account.spend(used)
	if err != nil {
		s.overspent(err)
	}
	return err
}

// BudgetLeft returns the remaining budget of a handler's conversation, without the leases of
// children under way. In a decision it is the budget of the request. It names only the quantities
// that have a limit, and is nil where ctx belongs to neither. A number below 0 is the overdraft of
// a peer. The map is the caller's. Safe for concurrent use.
func BudgetLeft(ctx context.Context) Budget {
	s := scopeOf(ctx)
	if s == nil {
		return nil
	}
	left := s.account.remaining()
	left[Depth] = s.depth
	return left
}

// account is the account of one conversation's budget. The zero account has no limits.
type account struct {
	mu     sync.Mutex
	left   Budget // of the quantities that have a limit
	leased Budget // to children under way
	spent  Budget
	over   error // the first shortfall
}

// limit sets the limits of the account to those of b.
func (a *account) limit(b Budget) {
	a.left = maps.Clone(b)
	delete(a.left, Depth) // the work does not use it up
}

func (a *account) remaining() Budget {
	a.mu.Lock()
	defer a.mu.Unlock()
	left := maps.Clone(a.left)
	if left == nil {
		left = Budget{}
	}
	return left
}

// spend takes used out of the remaining budget, and records the first shortfall.
func (a *account) spend(used Budget) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.shortLocked(used)
	a.takeLocked(used)
	a.over = cmp.Or(a.over, err)
	return err
}

func (a *account) takeLocked(used Budget) {
	for r, n := range used {
		if r == Depth {
			continue // the work does not use it up
		}
		if left, limited := a.left[r]; limited {
			a.left[r] = minus(left, n)
		}
		if a.spent == nil {
			a.spent = Budget{}
		}
		a.spent[r] = plus(a.spent[r], n)
	}
}

// plus returns a + n without overflow: the usage that a peer reports must not turn a large debt
// into a large allowance. n is not negative.
func plus(a, n int64) int64 {
	if a > math.MaxInt64-n {
		return math.MaxInt64
	}
	return a + n
}

// minus returns a - n without overflow. n is not negative.
func minus(a, n int64) int64 {
	if a < math.MinInt64+n {
		return math.MinInt64
	}
	return a - n
}

// shortLocked returns the refusal of the first quantity that does not suffice for want, or nil.
func (a *account) shortLocked(want Budget) error {
	r, short := want.first(func(r Quantity, n int64) bool {
		left, limited := a.left[r]
		return limited && n > left
	})
	if !short {
		return nil
	}
	text := fmt.Sprintf("%s: %d wanted, %d left", r, want[r], a.left[r])
	if leased := a.leased[r]; leased > 0 {
		text += fmt.Sprintf(", and %d with conversations under way", leased)
	}
	return &performatives.Refusal{Code: performatives.CodeBudget, Field: string(r), Text: text}
}

// lease takes the allowance of a child out of the account, and one call. The allowance is asked,
// and of every other limited quantity the whole remainder, or nothing for a frugal child. The
// error is a shortfall.
func (a *account) lease(asked Budget, frugal bool) (Budget, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	granted := Budget{}
	for r, n := range asked {
		if r != Depth {
			granted[r] = n
		}
	}
	if err := a.shortLocked(a.heldLocked(granted)); err != nil {
		return nil, err
	}
	for r, left := range a.left {
		if _, named := asked[r]; named {
			continue
		}
		if r == Calls {
			left--
		}
		if granted[r] = max(left, 0); frugal { // left is below 0 after an overdraft of a child
			granted[r] = 0
		}
	}
	a.moveLocked(a.heldLocked(granted), 1)
	return granted, nil
}

// WithBudgetShare gives each of n conversations under way at the same time an n-th of the
// remaining budget of ctx, for the quantities that [WithBudget] does not name. Without it the
// first of them leases all. ctx is the context that they are begun with, and the remainder is
// that at the time of this call. Where ctx has no budget the option does nothing.
func WithBudgetShare(ctx context.Context, n int) Option {
	s := scopeOf(ctx)
	if s == nil {
		return func(*Options) {}
	}
	left := s.account.remaining()
	return func(o *Options) { o.budget = left.share(o.budget, int64(n)) }
}

// share returns asked, and an n-th of b for each quantity that asked does not name. An overdrawn
// quantity is left out. Each of the n conversations costs one call.
func (b Budget) share(asked Budget, n int64) Budget {
	share := maps.Clone(asked)
	for r, left := range b {
		if _, named := asked[r]; named || left < 0 {
			continue
		}
		if r == Calls {
			left -= n
		}
		if share == nil {
			share = Budget{}
		}
		share[r] = max(left/n, 0)
	}
	return share
}

// settle ends the lease of granted and takes the usage out of it. A nil usage means that the
// conversation never began.
func (a *account) settle(granted, used Budget) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.moveLocked(a.heldLocked(granted), -1)
	if used != nil {
		a.takeLocked(used)
		a.takeLocked(Budget{Calls: 1})
	}
}

// heldLocked returns the amount that a lease withholds: its allowance and one call.
func (a *account) heldLocked(granted Budget) Budget {
	if _, limited := a.left[Calls]; !limited {
		return granted
	}
	held := maps.Clone(granted)
	held[Calls] = plus(held[Calls], 1)
	return held
}

// moveLocked moves an allowance from left to leased for sign 1, and back for sign -1.
func (a *account) moveLocked(b Budget, sign int64) {
	for r, n := range b {
		if _, limited := a.left[r]; !limited {
			continue
		}
		if a.leased == nil {
			a.leased = Budget{}
		}
		a.leased[r] += sign * n
		if sign > 0 {
			a.left[r] = minus(a.left[r], n)
		} else {
			a.left[r] = plus(a.left[r], n)
		}
	}
}

// unused is the usage of work that has used nothing. It must not be changed.
var unused = Budget{}

// used returns the usage of the work, which the caller must not change. The leases of
// children under way count as used.
func (a *account) used() Budget {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.spent == nil && a.leased == nil {
		return unused
	}
	used := maps.Clone(a.spent)
	if used == nil {
		used = Budget{}
	}
	for r, n := range a.leased {
		if n > 0 {
			used[r] = plus(used[r], n)
		}
	}
	return used
}

// shortfall returns the first shortfall, or nil.
func (a *account) shortfall() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.over
}
