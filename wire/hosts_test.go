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

// addrConn is a connection with a given remote address.
type addrConn struct {
	wire.Conn
	addr string
}

// Peer returns the address.
func (d addrConn) Peer() wire.Peer { return wire.Peer{Transport: "test", Addr: d.addr} }

// hostServer is a server whose peers have arbitrary addresses.
type hostServer struct {
	*wire.Server
	t *testing.T
}

func newHostServer(t *testing.T, o wire.Options) hostServer {
	t.Helper()
	if o.Handler == nil {
		o.Handler = &wiretest.Recorder{}
	}
	o.Anonymous, o.Dialects = true, []wire.Dialect{wiretest.Dialect{}}
	s, err := wire.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	return hostServer{s, t}
}

// open opens a session from an address, or returns the refusal. end closes it and returns
// after the server has removed it.
func (c hostServer) open(addr string) (end func(), err error) {
	near, far := wiretest.Pipe()
	served := make(chan error, 1)
	go func() { served <- c.Serve(addrConn{far, addr}, nil) }()
	go func() {
		for err := error(nil); err == nil; _, err = near.Read(func(wire.Frame) {}) { // reads the refusal
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

// fill opens up to most sessions from an address. It returns their number, a function that
// ends them, and why one more is refused.
func (c hostServer) fill(addr string, most int) (n int, end func(), why error) {
	var ends []func()
	for ; n < most; n++ {
		stop, err := c.open(addr)
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

// One host may have a quarter of the sessions by default, this machine all of them.
func TestMaxPerHost(t *testing.T) {
	const capacity = 8
	for name, tt := range map[string]struct {
		most int
		addr string
		want int
		why  error
	}{
		"a host":              {0, "192.0.2.1:80", 2, wire.ErrTooManyOfHost},
		"a network of IPv6":   {0, "[2001:db8::1]:80", 2, wire.ErrTooManyOfHost},
		"this machine":        {0, "127.0.0.1:80", capacity, wire.ErrTooMany},
		"this machine, mixed": {0, "[::ffff:127.0.0.1]:80", capacity, wire.ErrTooMany},
		"this machine, IPv6":  {0, "[::1]:80", capacity, wire.ErrTooMany},
		"no address of IP":    {0, "@", capacity, wire.ErrTooMany},
		"a bound":             {3, "192.0.2.1:80", 3, wire.ErrTooManyOfHost},
		"a bound for all":     {3, "127.0.0.1:80", 3, wire.ErrTooManyOfHost},
		"a bound too high":    {99, "192.0.2.1:80", capacity, wire.ErrTooMany},
		"no bound":            {-1, "192.0.2.1:80", capacity, wire.ErrTooMany},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newHostServer(t, wire.Options{MaxConnections: capacity, MaxPerHost: tt.most})
				n, end, why := c.fill(tt.addr, capacity+1)
				if n != tt.want || !errors.Is(why, tt.why) || !errors.Is(why, wire.ErrTooMany) {
					t.Errorf("%d sessions, and then %v; want %d and %v", n, why, tt.want, tt.why)
				}
				other, err := c.open("198.51.100.1:80")
				if (err == nil) != (tt.want < capacity) {
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

// One host may have at least one session, however small MaxConnections is.
func TestMaxPerHostIsAtLeastOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newHostServer(t, wire.Options{MaxConnections: 3})
		n, end, why := c.fill("192.0.2.1:80", 2)
		if n != 1 || !errors.Is(why, wire.ErrTooManyOfHost) {
			t.Errorf("%d sessions, and then %v", n, why)
		}
		end()
	})
}

// The count of a host equals the number of its sessions, in any order of opening and closing.
func TestHostCountMatchesSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity, most = 7, 3
		addrs := []string{"192.0.2.1:1", "192.0.2.2:1", "[2001:db8::1]:1", "192.0.2.2:2"}
		hosts := []int{0, 1, 2, 1}
		c := newHostServer(t, wire.Options{MaxConnections: capacity, MaxPerHost: most})
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
			full, crowded := total == capacity, len(open[host]) == most
			end, err := c.open(addrs[at])
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

// sessionCounter is a handler that records the largest number of concurrent sessions.
type sessionCounter struct {
	wiretest.Recorder
	open, most atomic.Int64
}

// Opened counts up.
func (c *sessionCounter) Opened(*wire.Session) {
	for n := c.open.Add(1); ; {
		if most := c.most.Load(); n <= most || c.most.CompareAndSwap(most, n) {
			return
		}
	}
}

// Closed counts down.
func (c *sessionCounter) Closed(*wire.Session, error) { c.open.Add(-1) }

// Concurrent connections do not exceed the limit, and their slots are free again afterwards.
func TestConcurrentConnectionsOfOneHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 4
		handler := &sessionCounter{}
		c := newHostServer(t, wire.Options{Handler: handler, MaxPerHost: most})
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for range 50 {
					near, far := wiretest.Pipe()
					go func() { _ = near.Close() }()
					_ = c.Serve(addrConn{far, "192.0.2.1:80"}, nil) // the session ends or is refused
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
