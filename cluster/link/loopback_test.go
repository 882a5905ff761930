package link

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/grpc"
)

// await waits for a channel.
func await(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience.Time):
		t.Fatal("no end of: " + what)
	}
}

// node is a node on the loopback.
type node struct {
	links    *Links
	recorder *recorder
	listener *grpc.Listener
	wrap     func(Stream) Stream // the streams that it accepts; nil: not at all
}

// newNode returns a node that expects that many messages.
func newNode(t testing.TB, self cluster.Incarnation, config *tls.Config, expects int, change func(*LinksOptions)) *node {
	t.Helper()
	n := &node{recorder: &recorder{await: int64(expects), reached: make(chan struct{})}}
	o := LinksOptions{
		Self: self, Handler: n.recorder, Dialect: grpc.Dialect{}, Stamper: stamper{}, Timeout: time.Hour,
		Backoff: func(int) time.Duration { return time.Millisecond },
		Dial: func(ctx context.Context, m cluster.Member) (Stream, error) {
			return grpc.DialLink(ctx, m.Links, m.Name, config, patience.Time)
		},
	}
	if change != nil {
		change(&o)
	}
	var err error
	if n.links, err = NewLinks(o); err != nil {
		t.Fatal(err)
	}
	n.listener, err = grpc.ListenNodes(grpc.Options{
		Addr: "127.0.0.1:0", TLS: config, Links: func(s *grpc.LinkStream) {
			var accepted Stream = s
			if n.wrap != nil {
				accepted = n.wrap(s)
			}
			_ = n.links.Accept(accepted) // the other end sees the error
		},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
		defer cancel()
		if err := n.links.Stop(ctx); err != nil {
			t.Error(err)
		}
		if err := n.listener.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return n
}

func (n *node) member(self cluster.Incarnation) cluster.Member {
	return cluster.Member{Incarnation: self, Links: n.listener.Addr().String()}
}

// proxy cuts each connection after some bytes of one direction.
type proxy struct {
	net.Listener
	to      string
	least   int64
	running sync.WaitGroup
	over    chan struct{}
	cuts    atomic.Int64
}

func newProxy(t testing.TB, to string, least int64) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, to: to, least: least, over: make(chan struct{})}
	p.running.Go(p.serve)
	t.Cleanup(func() {
		_ = p.Close()
		close(p.over)
		p.running.Wait()
	})
	return p
}

func (p *proxy) serve() {
	for {
		near, err := p.Accept()
		if err != nil {
			return
		}
		p.cuts.Add(1)
		far, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = near.Close()
			continue
		}
		done := make(chan struct{}, 2)
		p.running.Go(func() {
			select {
			case <-done:
			case <-p.over:
			}
			_ = near.Close()
			_ = far.Close()
		})
		for _, c := range [][2]net.Conn{{near, far}, {far, near}} {
			p.running.Go(func() {
				defer func() { done <- struct{}{} }()
				_, _ = io.CopyN(c[0], c[1], p.least+mathrand.Int64N(2*p.least))
			})
		}
	}
}

// priorityOf is that of the message with a number.
func priorityOf(number int) performatives.Priority { return performatives.Priority(number%4 - 1) }

// checkOnce checks that all numbers were received once, in order within a band.
func checkOnce(t *testing.T, r *recorder, many int) {
	t.Helper()
	var last [performatives.Bands]int
	for _, m := range r.received {
		number, err := strconv.Atoi(string(m.ConversationID()))
		if err != nil {
			t.Fatal(err)
		}
		band := m.Priority().Band()
		if m.Priority() != priorityOf(number) || number <= last[band] {
			t.Fatalf("message %d of band %d came after %d", number, band, last[band])
		}
		last[band] = number
	}
	if len(r.received) != many || len(r.returned) > 0 {
		t.Fatalf("%d of %d messages arrived, and %d came back", len(r.received), many, len(r.returned))
	}
}

// Connections break all the time, and every message arrives once.
func TestLoopbackBrokenConnections(t *testing.T) {
	many := 20_000
	if racetest.Enabled {
		many /= 2 // with fewer, too few connections break
	}
	ca := newAuthority(t)
	// A frame that no connection is long enough for would never arrive.
	short := func(o *LinksOptions) { o.Link = Options{Batch: 8 << 10, Window: 64 << 10} }
	a := newNode(t, nodeA, ca.config(t, "a"), many, short)
	b := newNode(t, nodeB, ca.config(t, "b"), many, short)
	p := newProxy(t, b.listener.Addr().String(), 40<<10)
	a.links.Add(cluster.Member{Incarnation: nodeB, Links: p.Addr().String()})
	b.links.Add(a.member(nodeA))
	var senders sync.WaitGroup
	for _, s := range []struct {
		from *Links
		to   cluster.Incarnation
	}{{a.links, nodeB}, {b.links, nodeA}} {
		senders.Go(func() {
			for i := range many {
				if err := s.from.Send(s.to, numbered(t, i+1, priorityOf(i+1))); err != nil {
					t.Errorf("message %d: %v", i, err)
				}
			}
		})
	}
	senders.Wait()
	await(t, "the messages of a", b.recorder.reached)
	await(t, "the messages of b", a.recorder.reached)
	checkOnce(t, a.recorder, many)
	checkOnce(t, b.recorder, many)
	_ = p.Close()
	if got := p.cuts.Load(); got < 5 {
		t.Errorf("only %d connections", got)
	}
	for _, e := range append(a.recorder.seen(), b.recorder.seen()...) {
		if strings.HasPrefix(e, "lost") {
			t.Error(e)
		}
	}
}

// The longest message arrives. One byte more is refused to its sender at once, and the stream and
// the messages around it are as they were.
func TestLoopbackLongestMessage(t *testing.T) {
	racetest.Skip(t)
	var dialled atomic.Int64
	a := newNode(t, nodeA, nil, 0, func(o *LinksOptions) {
		dial := o.Dial
		o.Dial = func(ctx context.Context, m cluster.Member) (Stream, error) {
			dialled.Add(1)
			return dial(ctx, m)
		}
	})
	b := newNode(t, nodeB, nil, 3, nil)
	b.links.Add(a.member(nodeA)) // first: a dials at once, and b would refuse the first stream
	a.links.Add(b.member(nodeB))
	empty := sized(t, 0)
	longest := sized(t, MaxMessage-len(mustEncode(t, a.links, sized(t, 1<<22)))+1<<22) // lengths of as many digits
	if n := len(mustEncode(t, a.links, longest)); n != MaxMessage {
		t.Fatalf("the message has %d bytes", n)
	}
	tooLong := sized(t, len(longest.Payload().(performatives.Raw))-len(empty.Payload().(performatives.Raw))+1)

	mustSend(t, a.links, nodeB, empty)
	mustSend(t, a.links, nodeB, longest)
	err := a.links.Send(nodeB, tooLong)
	if codeOf(err) != performatives.CodeInvalidPayload || !strings.Contains(err.Error(), "has 16777217 bytes, and a link takes 16777216") {
		t.Errorf("got %v", err)
	}
	mustSend(t, a.links, nodeB, empty)
	await(t, "the messages", b.recorder.reached)
	for i, want := range []*performatives.Message{empty, longest, empty} {
		if got := b.recorder.received[i]; len(mustEncode(t, b.links, got)) != len(mustEncode(t, a.links, want)) {
			t.Errorf("message %d has changed", i)
		}
	}
	if n := dialled.Load(); n != 1 || len(b.recorder.received) != 3 || len(a.recorder.returned) > 0 {
		t.Errorf("%d streams; %d messages arrived, and %d came back", n, len(b.recorder.received), len(a.recorder.returned))
	}
}

// An urgent message overtakes more than 100,000 messages of low priority that wait for the same
// node, as many as a band takes. Only those that were on their way precede it: a window of them,
// and the frame that the other node was handling. The messages that wait, and those on their way,
// are within the bounds of the link, and their memory is given back.
func TestLoopbackUrgentOvertakes(t *testing.T) {
	a, b := newNode(t, nodeA, nil, 0, nil), newNode(t, nodeB, nil, 0, nil)
	reached, all, overtook := make(chan struct{}), 0, -1
	sent := math.MaxInt - 1
	hold := make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	defer release()
	b.recorder.hold = hold
	b.recorder.onReceive = func(m *performatives.Message) { // one call at a time, and none before hold is closed
		if m.Priority() == performatives.Urgent {
			overtook = all
		}
		if all++; all == sent+1 {
			close(reached)
		}
	}
	a.links.Add(b.member(nodeB))
	b.links.Add(a.member(nodeA))
	low := numbered(t, 1, performatives.Low)
	size := len(mustEncode(t, a.links, low))
	ahead := (DefaultWindow + DefaultBatch) / size
	n := 0
	for ; ; n++ {
		err := a.links.Send(nodeB, low)
		if err != nil {
			if codeOf(err) != performatives.CodeBusy {
				t.Fatal(err)
			}
			break
		}
		if n > DefaultCapacity+ahead {
			t.Fatalf("%d messages are taken", n)
		}
	}
	sent = n
	mustSend(t, a.links, nodeB, numbered(t, 2, performatives.Urgent))
	e := a.links.find(nodeB)
	e.mu.Lock()
	waiting, bytes, weight := e.link.bands[performatives.Low.Band()].len(), e.link.bytes, e.link.weight
	e.mu.Unlock()
	if waiting < 100_000 || waiting > DefaultCapacity || bytes > DefaultBytes || weight > DefaultWindow {
		t.Errorf("%d messages wait; %d bytes wait, and %d are on their way", waiting, bytes, weight)
	}
	release()
	await(t, "the messages", reached)
	if overtook < 0 || overtook > ahead {
		t.Errorf("of %d messages of low priority, %d arrive before the urgent one, want %d at most", sent, overtook, ahead)
	}
	t.Logf("of %d messages of low priority, %d arrive before the urgent one", sent, overtook)
	e.mu.Lock()
	defer e.mu.Unlock()
	for band := range e.link.bands {
		if q := e.link.bands[band]; cap(q.items) > maxIdle {
			t.Errorf("band %d keeps memory for %d messages", band, cap(q.items))
		}
	}
}

// sized returns a message with a text of so many letters.
func sized(t testing.TB, letters int) *performatives.Message {
	t.Helper()
	m, err := performatives.New(performatives.Envelope{
		ID: "1", Performative: performatives.ActInform, Sender: "x", Receiver: "y", ConversationID: "1", Timestamp: time.Unix(1, 0),
		Payload: performatives.Raw(`{"x":"` + strings.Repeat("x", letters) + `"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A node with the certificate of another one is refused by both ends.
func TestLoopbackWrongCertificate(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	for name, c := range map[string]struct{ a, b *tls.Config }{
		"the caller has another name":      {ca.config(t, "mallory"), ca.config(t, "b")},
		"the other end has another name":   {ca.config(t, "a"), ca.config(t, "mallory")},
		"the caller has another authority": {other.config(t, "a"), ca.config(t, "b")},
		"the caller has no certificate":    {&tls.Config{RootCAs: ca.pool}, ca.config(t, "b")},
	} {
		t.Run(name, func(t *testing.T) {
			attempts := make(chan struct{})
			a := newDialler(t, c.a, attempts)
			b := newNode(t, nodeB, c.b, 1, nil)
			a.Add(b.member(nodeB))
			b.links.Add(cluster.Member{Incarnation: nodeA})
			for range 3 {
				await(t, "attempts", attempts)
			}
			stop(t, a)
			if got := b.recorder.seen(); got != nil {
				t.Errorf("got %q", got)
			}
		})
	}
}

// newDialler returns the links of the node a without a listener. It sends a value for each attempt
// to dial.
func newDialler(t *testing.T, config *tls.Config, attempts chan struct{}) *Links {
	t.Helper()
	ls, err := NewLinks(LinksOptions{
		Self: nodeA, Handler: &recorder{}, Dialect: grpc.Dialect{}, Stamper: stamper{}, Timeout: time.Hour,
		Backoff: func(int) time.Duration { return time.Millisecond },
		Dial: func(ctx context.Context, m cluster.Member) (Stream, error) {
			select {
			case attempts <- struct{}{}:
			case <-ctx.Done():
			}
			s, err := grpc.DialLink(ctx, m.Links, m.Name, config, patience.Time)
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return ls
}

func stop(t testing.TB, ls *Links) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	if err := ls.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// A node that stops while the other one does not read, ends all the same.
func TestLoopbackStopWhileTheOtherIsSlow(t *testing.T) {
	a := newNode(t, nodeA, nil, 1, nil)
	b := newNode(t, nodeB, nil, 1, nil)
	b.recorder.hold = make(chan struct{})
	a.links.Add(b.member(nodeB))
	b.links.Add(a.member(nodeA))
	for i := range 20_000 {
		mustSend(t, a.links, nodeB, numbered(t, i, performatives.Normal))
	}
	b.recorder.hold <- struct{}{} // b has the first message: Stop waits only for nodes that have met
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := a.links.Stop(ctx); err == nil {
		t.Error("Stop has no error")
	}
	close(b.recorder.hold)
	stop(t, b.links)
	if got := len(a.recorder.returned) + len(b.recorder.received); got < 20_000 {
		t.Errorf("%d of 20000 are accounted for", got)
	}
}

// ending is a stream that calls ends when its last frame is written, and when it is closed.
type ending struct {
	Stream
	ends func()
}

func (e *ending) Send(parts ...[]byte) error {
	f, err := readFrame(slices.Concat(parts...))
	if err != nil {
		return err
	}
	err = e.Stream.Send(parts...)
	if f.bye != "" {
		e.ends()
	}
	return err
}

func (e *ending) Close() {
	e.Stream.Close()
	e.ends()
}

// The last acknowledgement of a node that stops arrives at one that is busy until the other one has
// nothing more to say.
func TestLoopbackStopAcknowledges(t *testing.T) {
	for _, dials := range []bool{true, false} {
		t.Run(fmt.Sprintf("the node that dials stops: %t", dials), func(t *testing.T) {
			for range 10 { // without the last frame, gRPC drops an acknowledgement now and then
				over := make(chan struct{})
				ends := sync.OnceFunc(func() { close(over) }) // the node that stays may dial again: one for all streams
				a := newNode(t, nodeA, nil, 1, func(o *LinksOptions) {
					dial := o.Dial
					o.Dial = func(ctx context.Context, m cluster.Member) (Stream, error) {
						s, err := dial(ctx, m)
						if err == nil && dials {
							s = &ending{s, ends}
						}
						return s, err
					}
				})
				b := newNode(t, nodeB, nil, 1, nil)
				stops, stays, stopsID, staysID := a, b, nodeA, nodeB
				if !dials {
					stops, stays, stopsID, staysID = b, a, nodeB, nodeA
					b.wrap = func(s Stream) Stream { return &ending{s, ends} }
				}
				stays.recorder.hold = make(chan struct{})
				b.links.Add(a.member(nodeA))
				a.links.Add(b.member(nodeB))
				mustSend(t, stops.links, staysID, numbered(t, 1, performatives.Normal))
				mustSend(t, stays.links, stopsID, numbered(t, 2, performatives.Normal))
				await(t, "the message", stops.recorder.reached)
				stopped := make(chan struct{})
				go func() {
					stop(t, stops.links)
					close(stopped)
				}()
				await(t, "what the node says", over)
				close(stays.recorder.hold)
				await(t, "Stop", stopped)
				stays.links.Remove(stopsID)
				if all := stays.recorder.undelivered(); len(all) > 0 {
					t.Fatalf("returned: %q", all)
				}
			}
		})
	}
}

// authority is a certificate authority of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{key: newKey(t), pool: x509.NewCertPool()}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var err error
	if a.cert, err = x509.ParseCertificate(a.sign(t, a.cert, a.key)); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) sign(t testing.TB, c *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// config returns the configuration of the node of that name, for both directions.
func (a *authority) config(t testing.TB, name string) *tls.Config {
	t.Helper()
	key := newKey(t)
	der := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, key)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		RootCAs:      a.pool, ClientCAs: a.pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}
}
