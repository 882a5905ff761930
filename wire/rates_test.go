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

// To be told to wait costs nothing, however many are told at the same time.
func TestRefusalsCostNothing(t *testing.T) {
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
						t.Error("a message over the rate is let in")
					}
				}
			})
		}
		all.Wait()
		time.Sleep(time.Second)
		if err := r.allow("CRM"); err != nil {
			t.Errorf("after the time that it takes: %v", err)
		}
	})
}

// Whoever has many addresses or ports is one host.
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

// A host that has left takes no room.
func TestHostsForget(t *testing.T) {
	h := make(hosts)
	h.add("192.0.2.1")
	h.add("192.0.2.1")
	h.remove("192.0.2.1")
	if len(h) != 1 {
		t.Error("a host is forgotten that is there")
	}
	if h.remove("192.0.2.1"); len(h) != 0 {
		t.Errorf("%d hosts are remembered", len(h))
	}
}

// A flood of names takes bounded room, and most new ones find it without a look at all.
func TestRatesForget(t *testing.T) {
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
			t.Errorf("%d names are remembered after one too many, want room for more", n)
		}
		flood(maxLimiters / 4)
		if n := len(r.by); n > maxLimiters {
			t.Errorf("%d names are remembered, want at most %d", n, maxLimiters)
		}
		time.Sleep(time.Second)
		flood(maxLimiters - len(r.by) + 1)
		if n := len(r.by); n > maxLimiters/4+1 {
			t.Errorf("%d names are remembered, want those forgotten that have used nothing lately", n)
		}
	})
}

// Who is remembered keeps nothing of the message that it was named in.
func TestRatesKeepNoMessage(t *testing.T) {
	text := strings.Repeat("x", 100)
	r := newRates(Rate{Messages: 1, Window: time.Second})
	if err := r.count(text[:5]); err != nil {
		t.Fatal(err)
	}
	for who := range r.by {
		if unsafe.StringData(who) == unsafe.StringData(text) {
			t.Error("it keeps the text that it was given a part of")
		}
	}
}
