package wire

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/ribosome-agents/ribosome/performatives"
)

// A refused message does not consume tokens, also under concurrency.
func TestRefusedMessagesConsumeNoTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(Rate{Messages: 1, Window: time.Second})
		if err := r.allow("crm"); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 5000 {
					if err := r.allow("crm"); err == nil {
						t.Error("a message over the rate is allowed")
					}
				}
			})
		}
		all.Wait()
		time.Sleep(time.Second)
		if err := r.allow("CRM"); err != nil {
			t.Errorf("after one window: %v", err)
		}
	})
}

// All addresses of an IPv6 network and all ports of an address count as one host.
func TestHostOf(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1:80":           "192.0.2.1",
		"[::ffff:192.0.2.1]:81":  "192.0.2.1",
		"[2001:db8::1]:80":       "2001:db8::/64",
		"[2001:db8::ffff:2]:1":   "2001:db8::/64",
		"[2001:db8:0:1::1]:80":   "2001:db8:0:1::/64",
		"[fe80::1%eth0]:80":      "fe80::/64",
		"pipe:0":                 "pipe:0",
		"a name that is no host": "a name that is no host",
	} {
		if got := hostOf(addr); got != want {
			t.Errorf("%s is %s, want %s", addr, got, want)
		}
	}
}

// A host without sessions has no entry.
func TestHostsRemovesEmptyEntries(t *testing.T) {
	h := make(hosts)
	h.add("192.0.2.1")
	h.add("192.0.2.1")
	h.remove("192.0.2.1")
	if len(h) != 1 {
		t.Error("the entry of a host with a session was removed")
	}
	if h.remove("192.0.2.1"); len(h) != 0 {
		t.Errorf("%d entries, want 0", len(h))
	}
}

// The number of limiters is bounded, and an eviction makes room for many new ones.
func TestRatesEvictsLimiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(Rate{Messages: 2, Window: time.Second})
		next := 0
		flood := func(n int) {
			for range n {
				next++
				if err := r.allow(performatives.AgentID("agent-" + strconv.Itoa(next))); err != nil {
					t.Fatal(err)
				}
			}
		}
		flood(maxLimiters)
		flood(1)
		if n := len(r.by); n > maxLimiters*3/4+1 {
			t.Errorf("%d limiters after an eviction, want free capacity", n)
		}
		flood(maxLimiters / 4)
		if n := len(r.by); n > maxLimiters {
			t.Errorf("%d limiters, want at most %d", n, maxLimiters)
		}
		time.Sleep(time.Second)
		flood(maxLimiters - len(r.by) + 1)
		if n := len(r.by); n > maxLimiters/4+1 {
			t.Errorf("%d limiters, want the unused ones evicted", n)
		}
	})
}

// A limiter's key does not keep the buffer of a message alive.
func TestRatesDoesNotRetainMessages(t *testing.T) {
	text := strings.Repeat("x", 100)
	r := newRates(Rate{Messages: 1, Window: time.Second})
	if err := r.count(text[:5]); err != nil {
		t.Fatal(err)
	}
	for who := range r.by {
		if unsafe.StringData(who) == unsafe.StringData(text) {
			t.Error("the key shares memory with the caller's text")
		}
	}
}
