package membership

import (
	"bytes"
	"crypto/rand"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
)

func key(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

func TestKeysRotateWhileTheClusterRuns(t *testing.T) {
	t.Parallel()
	before, after := key(1), key(2)
	states := []*state{newState(""), newState(""), newState("")}
	a := start(t, Options{Name: "a", Gossiped: states[0], Keys: [][]byte{before}})
	b := start(t, Options{Name: "b", Gossiped: states[1], Keys: [][]byte{before}, Seeds: []string{a.Self().Gossip}})
	c := start(t, Options{Name: "c", Gossiped: states[2], Keys: [][]byte{before}, Seeds: []string{a.Self().Gossip}})
	all := []*node{a, b, c}
	for i, n := range all {
		for j, other := range all {
			if j != i {
				n.await(t, other.Self().Name, "Joined 1")
			}
		}
	}
	for _, step := range []func(*Keys) error{
		func(k *Keys) error { return k.Add(after) },
		func(k *Keys) error { return k.Use(after) },
		func(k *Keys) error { return k.Remove(before) },
	} {
		for _, n := range all {
			if err := step(n.Keys()); err != nil {
				t.Fatal(err)
			}
		}
		delta := rand.Text()
		if err := b.Broadcast([]byte(delta)); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*state{states[0], states[2]} {
			s.await(t, "a broadcast", func(received, _ []string) bool { return slices.Contains(received, delta) })
		}
	}
	for _, n := range all {
		if events, _ := n.recorder.all(); len(events) != 2 {
			t.Errorf("%s has seen %v", n.Self().Name, events)
		}
	}
	// The old key is worth nothing now.
	late := start(t, Options{Name: "late", Keys: [][]byte{before}, Seeds: []string{a.Self().Gossip}})
	late.awaitAttempts(t, 2)
	if got := names(late.Members()); got != "late" {
		t.Errorf("with the old key: %s", got)
	}
	newcomer := start(t, Options{Name: "newcomer", Keys: [][]byte{after}, Seeds: []string{a.Self().Gossip}})
	newcomer.join(t)
}

// awaitAttempts waits until a number of attempts to join have ended.
func (n *node) awaitAttempts(t *testing.T, number int) {
	t.Helper()
	for range number {
		n.joinMu.Lock()
		attempt := n.attempt
		n.joinMu.Unlock()
		select {
		case <-attempt:
		case <-time.After(patience.Time):
			t.Fatal("no attempt to join")
		}
	}
}

func TestKeysAreChecked(t *testing.T) {
	t.Parallel()
	keys, err := newKeys([][]byte{key(1), key(2)})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"add a short key":              keys.Add([]byte("short")),
		"use an unknown key":           keys.Use(key(9)),
		"remove an unknown key":        keys.Remove(key(9)),
		"remove the key that encrypts": keys.Remove(key(1)),
		"add without encryption":       (&Keys{}).Add(key(1)),
		"use without encryption":       (&Keys{}).Use(key(1)),
		"remove without encryption":    (&Keys{}).Remove(key(1)),
	} {
		if !errors.Is(err, ErrKeys) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := errors.Join(keys.Add(key(3)), keys.Remove(key(2)), keys.Use(key(3)), keys.Remove(key(1))); err != nil {
		t.Fatal(err)
	}
	if got := keys.ring.GetKeys(); len(got) != 1 || !bytes.Equal(got[0], key(3)) {
		t.Errorf("keys %v", got)
	}
}

// memberlist reads the keys without a lock, while it removes one by moving the others in place:
// under the race detector, this test fails without the order that Remove makes.
func TestKeysAreRemovedWhileTheyAreRead(t *testing.T) {
	t.Parallel()
	keys, err := newKeys([][]byte{key(0)})
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				for _, k := range keys.ring.GetKeys() {
					if len(k) != 32 {
						t.Errorf("key of %d bytes", len(k))
					}
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range 200 {
		for i := byte(1); i < 5; i++ {
			if err := keys.Add(key(i)); err != nil {
				t.Error(err)
			}
		}
		for i := byte(1); i < 5; i++ {
			if err := keys.Remove(key(i)); err != nil {
				t.Error(err)
			}
		}
	}
	close(stop)
	readers.Wait()
}

// A stranger without the key, or with another program that uses memberlist, gets nothing and hurts
// nothing.
func TestStrangersGetNothing(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"no key":      {Name: "x"},
		"another key": {Name: "x", Keys: [][]byte{key(9)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret := newState("secret")
			a := start(t, Options{Name: "a", Gossiped: secret, Keys: [][]byte{key(1)}})
			got := newState("poison")
			o.Seeds, o.Gossiped = []string{a.Self().Gossip}, got
			x := start(t, o)
			x.awaitAttempts(t, 3)
			if members := names(x.Members()); members != "x" {
				t.Errorf("the stranger knows %s", members)
			}
			x.kill(t)
			unharmed(t, a, secret)
			got.mu.Lock()
			defer got.mu.Unlock()
			if len(got.merged)+len(got.received) > 0 {
				t.Errorf("the stranger got %q, %q", got.merged, got.received)
			}
		})
	}
}

func TestGarbageHurtsNothing(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][][]byte{"encrypted": {key(1)}, "in clear": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newState("state")
			a := start(t, Options{Name: "a", Gossiped: s, Keys: keys})
			address := a.Self().Gossip
			udp, err := net.Dial("udp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = udp.Close() }()
			for _, b := range garbage() {
				if len(b) < 60_000 {
					_, _ = udp.Write(b)
				}
				tcp, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = tcp.Write(b)
				_ = tcp.(*net.TCPConn).CloseWrite()
				_ = tcp.SetReadDeadline(time.Now().Add(patience.Time))
				reply := new(bytes.Buffer)
				_, _ = reply.ReadFrom(tcp)
				_ = tcp.Close()
				if bytes.Contains(reply.Bytes(), []byte("state")) && keys != nil {
					t.Errorf("%x… got the state", b[:min(len(b), 8)])
				}
			}
			unharmed(t, a, s)
		})
	}
}

// garbage are messages of all of memberlist's types with nonsense, alone and behind its labels.
func garbage() [][]byte {
	all := [][]byte{{}, {0}, bytes.Repeat([]byte{0xff}, 100_000)}
	labelled := append([]byte{244, byte(len(label))}, label...)
	for kind := range 16 {
		for _, tail := range [][]byte{nil, {0x80}, {0xc1}, bytes.Repeat([]byte{0xdf}, 64), append([]byte{0x82, 0xa5}, "Nodes\xce\xff\xff\xff\xff"...), {0xff, 0xff, 0xff, 0xff, 0}} {
			message := append([]byte{byte(kind)}, tail...)
			all = append(all, message, append(bytes.Clone(labelled), message...))
		}
	}
	return append(all, []byte{244}, []byte{244, 255}, append(bytes.Clone(labelled), 10, 0xff, 0xff, 0xff, 0xff))
}

// unharmed reports whether a node alone has seen nothing, and still works.
func unharmed(t *testing.T, a *node, s *state) {
	t.Helper()
	if members := names(a.Members()); members != "a" {
		t.Errorf("members: %s", members)
	}
	s.mu.Lock()
	if len(s.merged)+len(s.received) > 0 {
		t.Errorf("got %q, %q", s.merged, s.received)
	}
	s.mu.Unlock()
	other := newState("")
	b := start(t, Options{Name: "b", Keys: a.options.Keys, Gossiped: other, Seeds: []string{a.Self().Gossip}})
	b.join(t)
	a.await(t, "b", "Joined 1")
	if err := a.Broadcast([]byte("delta")); err != nil {
		t.Fatal(err)
	}
	other.await(t, "a broadcast", func(received, _ []string) bool { return slices.Contains(received, "delta") })
}

// Streams that a stranger opens and leaves open are bounded, and others still get through
// afterwards.
func TestOpenStreamsAreBounded(t *testing.T) {
	t.Parallel()
	a := start(t, Options{Name: "a"})
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	closed := make(chan struct{}, 1)
	for range maxStreams + 8 {
		c, err := net.Dial("tcp", a.Self().Gossip)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	for _, c := range open {
		go func() {
			_ = c.SetReadDeadline(time.Now().Add(patience.Time))
			if _, err := c.Read(make([]byte, 1)); err != nil {
				signal(closed)
			}
		}()
	}
	<-closed
	tr := a.transport
	tr.mu.Lock()
	inbound := tr.inbound
	tr.mu.Unlock()
	if inbound > maxStreams {
		t.Errorf("%d streams", inbound)
	}
	b := start(t, Options{Name: "b", Seeds: []string{a.Self().Gossip}})
	b.join(t)
}
