package expiring

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// kept is how long the entries of the tests are kept.
const kept = 5 * time.Minute

func TestAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[int](10)
		defer m.Close()
		k := m.Key("a", "b")
		now := time.Now()
		if v, r := m.Add(k, NoOwner, 1, now, now.Add(kept)); v != 1 || r != Added {
			t.Errorf("first: %d, %d", v, r)
		}
		if v, r := m.Add(k, NoOwner, 2, now, now.Add(time.Second)); v != 1 || r != Known {
			t.Errorf("second: %d, %d", v, r)
		}
		if _, ok := m.Get(m.Key("ab"), now); ok {
			t.Error("the parts of a key run together")
		}
		time.Sleep(kept - 1)
		if v, ok := m.Get(k, time.Now()); v != 1 || !ok {
			t.Errorf("before the end: %d, %v", v, ok)
		}
		m.Delete(k, NoOwner)
		if _, ok := m.Get(k, time.Now()); ok || m.Len() != 0 {
			t.Errorf("deleted: %d entries", m.Len())
		}
	})
}

// TestExpiry has entries of all durations expire, none early and none much too late.
func TestExpiry(t *testing.T) {
	for d := time.Millisecond; d <= time.Hour; d = d*3/2 + time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			m := New[int](10)
			defer m.Close()
			time.Sleep(d / 7)
			now := time.Now()
			k := m.Key("k")
			m.Add(k, m.Owner("o"), 0, now, now.Add(d))
			time.Sleep(d - 1)
			if _, ok := m.Get(k, time.Now()); !ok {
				t.Errorf("%v: expired early", d)
			}
			time.Sleep(d/2 + time.Second + 1)
			if _, ok := m.Get(k, time.Now()); ok {
				t.Errorf("%v: kept too long", d)
			}
		})
	}
}

// TestIdle checks that an unused map drops its entries.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[int](10)
		defer m.Close()
		now := time.Now()
		for i := range 5 {
			m.Add(m.Key(fmt.Sprint(i)), NoOwner, 0, now, now.Add(time.Duration(i)*time.Minute))
		}
		time.Sleep(4*time.Minute + 4*time.Minute/2)
		synctest.Wait()
		if m.Len() != 0 {
			t.Errorf("%d entries are left", m.Len())
		}
	})
}

// TestGenerations checks that entries that are kept equally long make few generations.
func TestGenerations(t *testing.T) {
	for _, d := range []time.Duration{time.Second, 30 * time.Second, kept, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			m := New[int](10_000)
			defer m.Close()
			for i := range 1000 {
				now := time.Now()
				m.Add(m.Key(fmt.Sprint(i)), NoOwner, 0, now, now.Add(d))
				time.Sleep(d / 100)
				m.mu.Lock()
				n := len(m.generations)
				m.mu.Unlock()
				if n > 6 {
					t.Fatalf("%v: %d generations", d, n)
				}
				if n := m.Len(); n > 100*3/2+200 {
					t.Fatalf("%v: %d entries", d, n)
				}
			}
		})
	}
}

// TestShares fills a map by floods of one owner after another.
func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity = 1000
		m := New[int](capacity)
		defer m.Close()
		n := 0
		flood := func(o Owner) (added int) {
			now := time.Now()
			for range 2 * capacity {
				n++
				if _, r := m.Add(m.Key(fmt.Sprint(n)), o, 0, now, now.Add(time.Duration(n%60)*time.Minute)); r == Added {
					added++
				}
			}
			return added
		}
		for i, want := range []int{capacity / 2, capacity / 4} {
			if got := flood(m.Owner(fmt.Sprint(i))); got != want {
				t.Errorf("owner %d has %d entries, want %d", i, got, want)
			}
		}
		now := time.Now()
		first := m.Key("1") // of the first owner
		m.Delete(first, m.Owner("0"))
		if _, r := m.Add(first, m.Owner("0"), 0, now, now.Add(kept)); r != Full {
			t.Errorf("the first owner has more than its share: %d", r)
		}
		if got := flood(NoOwner); got != capacity/4+1 {
			t.Errorf("%d entries without an owner, want %d", got, capacity/4+1)
		}
		time.Sleep(2 * time.Hour)
		if got := flood(m.Owner("0")); got != capacity/2 {
			t.Errorf("after the expiry: %d entries, want %d", got, capacity/2)
		}
	})
}

func TestWidthOfTheLongestTime(t *testing.T) {
	if w := width(math.MaxInt64); w < math.MaxInt64/8 {
		t.Errorf("the width is %v", w)
	}
}
