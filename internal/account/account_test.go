package account_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/account"
)

func TestMessages(t *testing.T) {
	var l account.Messages[string]
	var counting sync.WaitGroup
	for message, counts := range map[string][]account.Outcome{
		"a": {account.Accepted, account.Handled},
		"b": {account.Accepted, account.Accepted, account.Refused, account.Dead},
		"c": {account.Accepted},
		"d": {account.Accepted, account.Handled, account.Dead},
		"e": {account.Refused},
	} {
		counting.Go(func() {
			for _, o := range counts {
				l.Count(message, o)
			}
		})
	}
	counting.Wait()
	want := []string{
		"c: accepted 1, handled 0, refused 0, dead letters 0",
		"d: accepted 1, handled 1, refused 0, dead letters 1",
		"e: accepted 0, handled 0, refused 1, dead letters 0",
	}
	if got := l.Wrong(nil); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := l.Wrong(func(m string, c account.Counts) bool { return m > "c" || c.Settled() }); !slices.Equal(got, want[:1]) {
		t.Errorf("with two excused: %q", got)
	}
	if got, want := l.Totals(), (account.Counts{5, 2, 2, 2}); got != want {
		t.Errorf("in all %v, want %v", got, want)
	}
	if got := l.Of("b").Ended(); got != 2 || l.Of("f") != (account.Counts{}) {
		t.Errorf("b ended %d times, f has %v", got, l.Of("f"))
	}
}
