package wire_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// distant is a connection from an address.
type distant struct {
	wire.Conn
	addr string
}

// Peer names the address.
func (d distant) Peer() wire.Peer { return wire.Peer{Transport: "test", Addr: d.addr} }

// crowd is a server whose peers come from anywhere.
type crowd struct {
	*wire.Server
	t *testing.T
}

func newCrowd(t *testing.T, o wire.Options) crowd {
	t.Helper()
	if o.Handler == nil {
		o.Handler = &wiretest.Recorder{}
	}
	o.Anonymous, o.Dialects = true, []wire.Dialect{wiretest.Dialect{}}
	s, err := wire.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	return crowd{s, t}
}

// come opens a session from an address, or says why there is none. end ends it, and
// returns when the server has done with it.
func (c crowd) come(addr string) (end func(), err error) {
	near, far := wiretest.Pipe()
	served := make(chan error, 1)
	go func() { served <- c.Serve(distant{far, addr}, nil) }()
	go func() {
		for err := error(nil); err == nil; _, err = near.Read(func(wire.Frame) {}) { // what a peer is told as it is turned away
		}
	}()
	synctest.Wait()
	select {
	case err := <-served:
		return nil, err
	default:
		return func() {
			_ = near.Close()
			if err := <-served; errors.Is(err, wire.ErrTooMany) {
				c.t.Error(err)
			}
		}, nil
	}
}

// fill opens as many sessions from an address as the server takes, up to a number, and
// returns how many, what ends them, and why there is not one more.
func (c crowd) fill(addr string, most int) (n int, end func(), why error) {
	var ends []func()
	for ; n < most; n++ {
		stop, err := c.come(addr)
		if admitted := c.Admit(wire.Peer{Addr: addr}); err != nil && !errors.Is(admitted, err) {
			c.t.Errorf("%s: %v, and before it connected %v", addr, err, admitted)
		}
		if err != nil {
			why = err
			break
		}
		ends = append(ends, stop)
	}
	return n, func() {
		for _, stop := range ends {
			stop()
		}
	}, why
}

// One host has a part of the places: without a word a quarter, but this machine all.
func TestMaxPerHost(t *testing.T) {
	const places = 8
	for name, tt := range map[string]struct {
		most int
		addr string
		want int
		why  error
	}{
		"a host":              {0, "192.0.2.1:80", 2, wire.ErrTooManyOfHost},
		"a network of IPv6":   {0, "[2001:db8::1]:80", 2, wire.ErrTooManyOfHost},
		"this machine":        {0, "127.0.0.1:80", places, wire.ErrTooMany},
		"this machine, mixed": {0, "[::ffff:127.0.0.1]:80", places, wire.ErrTooMany},
		"this machine, IPv6":  {0, "[::1]:80", places, wire.ErrTooMany},
		"no address of IP":    {0, "@", places, wire.ErrTooMany},
		"a bound":             {3, "192.0.2.1:80", 3, wire.ErrTooManyOfHost},
		"a bound for all":     {3, "127.0.0.1:80", 3, wire.ErrTooManyOfHost},
		"a bound too high":    {99, "192.0.2.1:80", places, wire.ErrTooMany},
		"no bound":            {-1, "192.0.2.1:80", places, wire.ErrTooMany},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, wire.Options{MaxConnections: places, MaxPerHost: tt.most})
				n, end, why := c.fill(tt.addr, places+1)
				if n != tt.want || !errors.Is(why, tt.why) || !errors.Is(why, wire.ErrTooMany) {
					t.Errorf("%d sessions, and then %v; want %d and %v", n, why, tt.want, tt.why)
				}
				other, err := c.come("198.51.100.1:80")
				if (err == nil) != (tt.want < places) {
					t.Errorf("another host: %v", err)
				}
				if err == nil {
					other()
				}
				end()
			})
		})
	}
}

// However few places there are, one host may have one of them.
func TestMaxPerHostOfFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, wire.Options{MaxConnections: 3})
		n, end, why := c.fill("192.0.2.1:80", 2)
		if n != 1 || !errors.Is(why, wire.ErrTooManyOfHost) {
			t.Errorf("%d sessions, and then %v", n, why)
		}
		end()
	})
}

// The count of a host is that of its sessions, in whatever order they come and go.
func TestHostsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places, most = 7, 3
		addrs := []string{"192.0.2.1:1", "192.0.2.2:1", "[2001:db8::1]:1", "192.0.2.2:2"}
		hosts := []int{0, 1, 2, 1}
		c := newCrowd(t, wire.Options{MaxConnections: places, MaxPerHost: most})
		var open [3][]func()
		total := 0
		chance := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // it decides a test
		for step := range 2000 {
			at := chance.IntN(len(addrs))
			host := hosts[at]
			if n := len(open[host]); n > 0 && chance.IntN(2) == 0 {
				i := chance.IntN(n)
				open[host][i]()
				open[host][i] = open[host][n-1]
				open[host] = open[host][:n-1]
				total--
				continue
			}
			full, crowded := total == places, len(open[host]) == most
			end, err := c.come(addrs[at])
			if errors.Is(err, wire.ErrTooMany) != (full || crowded) || errors.Is(err, wire.ErrTooManyOfHost) != (crowded && !full) {
				t.Fatalf("step %d, %d sessions of the host and %d in all: %v", step, len(open[host]), total, err)
			}
			if err == nil {
				open[host] = append(open[host], end)
				total++
			}
		}
		for _, ends := range open {
			for _, end := range ends {
				end()
			}
		}
	})
}

// counting sees how many sessions are open at a time.
type counting struct {
	wiretest.Recorder
	open, most atomic.Int64
}

// Opened counts one more.
func (c *counting) Opened(*wire.Session) {
	for n := c.open.Add(1); ; {
		if most := c.most.Load(); n <= most || c.most.CompareAndSwap(most, n) {
			return
		}
	}
}

// Closed counts one less.
func (c *counting) Closed(*wire.Session, error) { c.open.Add(-1) }

// Many that come at the same time do not get in together, and what they leave is all there.
func TestHostsComeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 4
		handler := &counting{}
		c := newCrowd(t, wire.Options{Handler: handler, MaxPerHost: most})
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for range 50 {
					near, far := wiretest.Pipe()
					go func() { _ = near.Close() }()
					_ = c.Serve(distant{far, "192.0.2.1:80"}, nil) // it ends, or there is no room
				}
			})
		}
		all.Wait()
		if got := handler.most.Load(); got > most {
			t.Errorf("%d sessions at a time, want %d at most", got, most)
		}
		n, end, _ := c.fill("192.0.2.1:80", most+1)
		if n != most {
			t.Errorf("%d sessions have room afterwards, want %d", n, most)
		}
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		end()
	})
}
