package sockets

import (
	"net"
	"net/http"
	"testing"
)

// from is a connection from an address.
type from struct {
	net.Conn
	at     string
	closed bool
}

func (f *from) RemoteAddr() net.Addr {
	at, err := net.ResolveTCPAddr("tcp", f.at)
	if err != nil {
		panic(err)
	}
	return at
}

func (f *from) Close() error { f.closed = true; return nil }

// One address of another machine has a part of the connections only, and one network of IPv6 counts
// as one address. This machine has all.
func TestConnectionsPerHost(t *testing.T) {
	c := &Connections{Most: 10, PerHost: 2}
	open := func(at string) (conn *from, surplus bool) {
		conn = &from{at: at}
		surplus = Surplus(c.Context(t.Context(), conn))
		c.State(conn, http.StateNew)
		return conn, surplus
	}
	var first *from
	for i, want := range []struct {
		at      string
		surplus bool
	}{
		{"192.0.2.1:1", false},
		{"192.0.2.1:2", false},
		{"192.0.2.1:3", true},
		{"192.0.2.2:1", false},
		{"[2001:db8::1]:1", false},
		{"[2001:db8::2]:1", false},
		{"[2001:db8::3]:1", true},
		{"127.0.0.1:1", false},
		{"127.0.0.1:2", false},
		{"127.0.0.1:3", false},
		{"127.0.0.1:4", true},
	} {
		conn, got := open(want.at)
		if got != want.surplus {
			t.Errorf("%s is surplus: %v", want.at, got)
		}
		if i == 0 {
			first = conn
		}
	}
	c.State(first, http.StateClosed)
	if _, surplus := open("192.0.2.1:4"); !surplus || c.Open() != 11 {
		t.Errorf("all places are taken, and %d are open", c.Open())
	}
	if len(c.hosts) != 3 {
		t.Errorf("counts of %v", c.hosts)
	}
}

// A connection beyond the spare ones takes the place of the oldest of these that is still open.
func TestOldestSpareConnection(t *testing.T) {
	c := &Connections{Most: 1}
	var all []*from
	for range 1 + Spare {
		conn := &from{at: "127.0.0.1:1"}
		c.Context(t.Context(), conn)
		c.State(conn, http.StateNew)
		all = append(all, conn)
	}
	c.State(all[1], http.StateClosed)
	for _, want := range []bool{false, true} { // the first one takes the place of the one that has gone
		conn := &from{at: "127.0.0.1:1"}
		c.Context(t.Context(), conn)
		c.State(conn, http.StateNew)
		if all[0].closed || all[2].closed != want || all[3].closed {
			t.Errorf("closed: %v %v %v, want the second one: %v", all[0].closed, all[2].closed, all[3].closed, want)
		}
	}
}
