package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// oneToken is an authenticator that accepts one token for the agent a.
type oneToken string

// Authenticate compares the token.
func (o oneToken) Authenticate(_ context.Context, c wire.Credentials) (wire.Identity, error) {
	switch c.Token {
	case "":
		return wire.Identity{}, wire.ErrNoCredentials
	case string(o):
		return wire.Identity{Name: "a", Method: "test"}, nil
	}
	return wire.Identity{}, &performatives.Refusal{Code: performatives.CodeUnauthorized}
}

// serverStops checks that messages sent before the stop arrive, and that both ends end in
// order.
func serverStops(t *testing.T, tr transport) {
	h := serve(t, tr, nil)
	g := connect(t, tr, h.addr, nil)
	send(t, g.Session, wiretest.Message(t, "a", "b", "hello"))
	h.Await(t, 1)
	const n = 200
	for i := range n {
		send(t, h.Session(t, 0), wiretest.Message(t, "b", "a", fmt.Sprint(i)))
	}
	h.stop(t)
	wantEnd(t, h.AwaitEnd(t, 1)[0], nil)
	wantEnd(t, g.AwaitEnd(t, 1)[0], nil)
	inOrder(t, g.Await(t, n))
	if err := h.Session(t, 0).Send(wiretest.Message(t, "b", "a", "late")); !errors.Is(err, performatives.CodeStopped) {
		t.Errorf("Send after the end: %v", err)
	}
	refused(t, tr, h.addr)
}

func clientStops(t *testing.T, tr transport) {
	h := serve(t, tr, nil)
	g := connect(t, tr, h.addr, nil)
	const n = 200
	for i := range n {
		send(t, g.Session, wiretest.Message(t, "a", "b", fmt.Sprint(i)))
	}
	g.stop(t)
	wantEnd(t, g.Err(), nil)
	wantEnd(t, h.AwaitEnd(t, 1)[0], nil)
	inOrder(t, h.Await(t, n))
}

func clientCloses(t *testing.T, tr transport) {
	h := serve(t, tr, nil)
	conn := dial(t, tr, h.addr, wire.Limits{})
	h.Session(t, 0)
	_ = conn.Close()
	if h.AwaitEnd(t, 1)[0] == nil && !tr.noCloseFrame {
		t.Error("the session ended in order without a close frame")
	}
}

func sessionStops(t *testing.T, tr transport) {
	h := serve(t, tr, nil)
	g := connect(t, tr, h.addr, nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
	defer cancel()
	if err := h.Session(t, 0).Stop(ctx); err != nil {
		t.Fatal(err)
	}
	wantEnd(t, g.AwaitEnd(t, 1)[0], nil)
}

// keepAlive checks that an idle server pings and receives pongs.
func keepAlive(t *testing.T, tr transport) {
	often := func(o *wire.Options) {
		o.KeepAlive = wire.KeepAlive{Interval: 5 * time.Millisecond, Timeout: patience.Time}
	}
	h := serve(t, tr, often)
	conn := dial(t, tr, h.addr, wire.Limits{})
	h.Session(t, 0)
	if err := conn.Write([]wire.Frame{{Kind: wire.KindPing}}); err != nil { // the first frame tells a server the form of the peer's frames
		t.Fatal(err)
	}
	pings := make(chan wire.Frame)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = conn.Read(func(f wire.Frame) {
			if f.Kind == wire.KindPing {
				if err := conn.Write([]wire.Frame{{Kind: wire.KindPong, Data: f.Data}}); err == nil {
					pings <- f
				}
			}
		})
	}()
	for range 3 {
		select {
		case <-pings:
		case <-time.After(patience.Time):
			t.Fatal("no ping")
		}
	}
	_ = conn.Close()
	for reading := true; reading; {
		select {
		case <-pings:
		case <-done:
			reading = false
		}
	}
}

// silentPeer checks that the session of a peer that does not answer pings ends with ErrDead.
func silentPeer(t *testing.T, tr transport) {
	h := serve(t, tr, func(o *wire.Options) {
		o.KeepAlive = wire.KeepAlive{Interval: 5 * time.Millisecond, Timeout: 50 * time.Millisecond}
	})
	if conn, err := tr.dial(t.Context(), h.addr, wire.Limits{}); err == nil { // the session may have ended before a slow client has negotiated the version
		t.Cleanup(func() { _ = conn.Close() })
	}
	wantEnd(t, h.AwaitEnd(t, 1)[0], wire.ErrDead)
}

// silentConnections checks that unauthenticated connections free their slots after AuthTime.
func silentConnections(t *testing.T, tr transport) {
	const slots = 3
	h := serve(t, tr, func(o *wire.Options) {
		o.Anonymous, o.Auth, o.AuthTime, o.MaxConnections = false, oneToken("secret"), time.Second, slots
	})
	received := make(chan struct{}, 1)
	h.Answer = func(*wire.Session, *performatives.Message) error {
		select {
		case received <- struct{}{}:
		default: // one message is enough
		}
		return nil
	}
	for i := range slots {
		dial(t, tr, h.addr, wire.Limits{})
		h.Session(t, i)
	}
	for _, err := range h.AwaitEnd(t, slots) {
		wantEnd(t, err, performatives.CodeUnauthorized)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
	defer cancel()
	for !canConnect(ctx, t, tr, h.addr, received) { // retried, because the transport may have slots of its own and a slow machine may miss AuthTime
		if ctx.Err() != nil {
			t.Fatal("the unauthenticated connections still occupy all slots")
		}
	}
}

// canConnect reports whether an authenticated client gets a session.
func canConnect(ctx context.Context, t *testing.T, tr transport, addr string, received <-chan struct{}) bool {
	conn, err := tr.dial(ctx, addr, wire.Limits{})
	if err != nil {
		return false
	}
	s, err := wire.Connect(conn, wire.Options{Handler: &wiretest.Recorder{}, Dialects: []wire.Dialect{wiretest.Dialect{}}, Token: func() string { return "secret" }})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Send(wiretest.Message(t, "a", "b", "here I am")) // fails if the session has already ended
	select {
	case <-received:
		_ = s.Stop(ctx)
		return true
	case <-s.Done():
		return false
	}
}

// neverReads checks a peer that does not read: its outbox fills up, further messages are refused,
// another peer is served, and each message is written or returned.
func neverReads(t *testing.T, tr transport) {
	const capacity = 64
	h := serve(t, tr, func(o *wire.Options) {
		o.Limits.Outbox = capacity
		o.Limits.CloseTime = 20 * time.Millisecond
	})
	var answers atomic.Uint64
	h.Answer = func(s *wire.Session, m *performatives.Message) error {
		err := echo(t)(s, m)
		if err == nil {
			answers.Add(1)
		}
		return err
	}
	idle := dial(t, tr, h.addr, wire.Limits{})
	session := h.Session(t, 0)
	if _, speaks := idle.(wire.DialectConn); !speaks {
		if err := idle.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(`{"act":"INFORM","ID":"1","From":"a","To":"b","Time":1,"Payload":{}}`)}}); err != nil {
			t.Fatal(err)
		}
	}
	sent := 0
	for ; ; sent++ {
		err := session.Send(wiretest.Message(t, "b", "a", wiretest.Long(64<<10)))
		if errors.Is(err, performatives.CodeBusy) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if sent > 100_000 {
			t.Fatal("the outbox accepts every message")
		}
	}
	other := connect(t, tr, h.addr, nil)
	send(t, other.Session, wiretest.Ask(t, "c", "d", "are you there?"))
	other.Await(t, 1)
	_ = idle.Close()
	h.AwaitEnd(t, 1)
	h.stop(t)
	all := uint64(sent) + answers.Load()
	if c := h.Counts(); c.Sent+c.Undelivered != all || c.Undelivered != uint64(len(h.Undeliverable())) {
		t.Errorf("of %d messages, %d were written and %d returned", all, c.Sent, c.Undelivered)
	}
}

// stress opens, uses and ends sessions concurrently in every way.
func stress(t *testing.T, tr transport) {
	h := serve(t, tr, nil)
	h.Answer = echo(t)
	var running sync.WaitGroup
	for i := range 20 {
		conn := dial(t, tr, h.addr, wire.Limits{})
		running.Go(func() {
			var r wiretest.Recorder
			s, err := wire.Connect(conn, wire.Options{Handler: &r, Dialects: []wire.Dialect{wiretest.Dialect{}}})
			if err != nil {
				t.Error(err)
				return
			}
			for j := range i {
				_ = s.Send(wiretest.Ask(t, "a", "b", fmt.Sprint(j)))
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
			defer cancel()
			if i%3 == 0 {
				cancel()
			}
			_ = s.Stop(ctx)
		})
	}
	running.Wait()
	h.stop(t)
	if len(h.Sessions()) != 0 {
		t.Error("sessions are left")
	}
}
