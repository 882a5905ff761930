package membership

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

// maxStreams is the number of streams that other nodes may have open to this one. A stream above it
// is closed at once. Strangers can open streams: memberlist keeps each for the time-out of its
// profile, with up to 20 MiB.
const maxStreams = 128

// transport is memberlist's, with what it lacks: an end of the streams when the node stops, a bound
// on their number, and one on the time for which a peer can hold them without reading.
type transport struct {
	*memberlist.NetTransport
	cut    func(to string) bool
	ctx    context.Context // ends with Shutdown
	cancel context.CancelFunc
	limit  time.Duration // of one stream
	sent   atomic.Uint64 // bytes, without the heads of IP, UDP and TCP

	refused  func(from net.Addr)     // is called for each packet that the guard has changed
	packets  chan *memberlist.Packet // nil: those of NetTransport, which are encrypted
	accepted chan net.Conn
	ends     chan struct{} // closed when packets and streams are taken no more
	done     sync.WaitGroup

	mu      sync.Mutex
	streams map[*stream]bool // true: accepted
	inbound int
	closed  bool
}

func newTransport(config *memberlist.NetTransportConfig, streamTimeout time.Duration, cut func(string) bool, clear bool, refused func(net.Addr)) (*transport, error) {
	inner, err := memberlist.NewNetTransport(config)
	if err != nil {
		return nil, err
	}
	t := &transport{
		NetTransport: inner, cut: cut, limit: 4 * streamTimeout,
		accepted: make(chan net.Conn), streams: map[*stream]bool{}, refused: refused, ends: make(chan struct{}),
	}
	t.ctx, t.cancel = context.WithCancel(context.Background()) //nolint:forbidigo // the transport is the owner of its streams, until Shutdown
	t.done.Go(t.accept)
	if clear {
		t.packets = make(chan *memberlist.Packet)
		t.done.Go(t.guard)
	}
	return t, nil
}

// guard passes on the packets that have come, without claims that cannot be contradicted.
func (t *transport) guard() {
	for {
		select {
		case p := <-t.NetTransport.PacketCh():
			if defuse(p.Buf) {
				t.refused(p.From)
			}
			select {
			case t.packets <- p:
			case <-t.ends:
			}
		case <-t.ctx.Done():
			return
		}
	}
}

// PacketCh returns the packets that have come.
func (t *transport) PacketCh() <-chan *memberlist.Packet {
	if t.packets == nil {
		return t.NetTransport.PacketCh()
	}
	return t.packets
}

// lent is the transport for one run of memberlist, which does not end with the run.
type lent struct{ *transport }

var _ memberlist.NodeAwareTransport = lent{} // memberlist calls no other method that sends

// Shutdown does nothing.
func (lent) Shutdown() error { return nil }

// accept passes on the streams that the listener accepts.
func (t *transport) accept() {
	for {
		select {
		case conn := <-t.NetTransport.StreamCh():
			s := t.track(conn, true)
			if s == nil {
				continue
			}
			select {
			case t.accepted <- s:
			case <-t.ends:
				_ = s.Close()
			}
		case <-t.ctx.Done():
			return
		}
	}
}

// track returns the connection as a stream that Shutdown closes, or nil when there are too many, or
// no more are wanted.
func (t *transport) track(conn net.Conn, inbound bool) *stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || inbound && t.inbound >= maxStreams {
		_ = conn.Close()
		return nil
	}
	s := &stream{Conn: conn, transport: t}
	t.streams[s] = inbound
	if inbound {
		t.inbound++
	}
	return s
}

// StreamCh returns the accepted streams.
func (t *transport) StreamCh() <-chan net.Conn { return t.accepted }

// WriteToAddress sends a packet.
func (t *transport) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	if t.cut != nil && t.cut(to.Addr) {
		return time.Now(), nil
	}
	t.sent.Add(uint64(len(b)))
	return t.NetTransport.WriteToAddress(b, to)
}

// DialAddressTimeout opens a stream.
func (t *transport) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	if t.cut != nil && t.cut(to.Addr) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errCut}
	}
	conn, err := (&net.Dialer{Timeout: timeout}).DialContext(t.ctx, "tcp", to.Addr)
	if err != nil {
		return nil, err
	}
	// memberlist sets no deadline where it sends a user message.
	if err := conn.SetDeadline(time.Now().Add(t.limit)); err != nil {
		_ = conn.Close()
		return nil, err
	}
	if s := t.track(conn, false); s != nil {
		return s, nil
	}
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: net.ErrClosed}
}

var errCut = errors.New("cut by a test")

// Shutdown ends the listeners and all streams.
func (t *transport) Shutdown() error {
	t.mu.Lock()
	t.closed = true
	close(t.ends)
	open := make([]*stream, 0, len(t.streams))
	for s := range t.streams {
		open = append(open, s)
	}
	t.mu.Unlock()
	for _, s := range open {
		_ = s.Close()
	}
	// accept and guard still take what the listeners have, else the listeners would not end.
	err := t.NetTransport.Shutdown()
	t.cancel()
	t.done.Wait()
	return err
}

// stream is a connection that its transport can close.
type stream struct {
	net.Conn
	transport *transport
	once      sync.Once
}

// Write writes to the connection.
func (s *stream) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	s.transport.sent.Add(uint64(n))
	return n, err
}

// Close closes the connection.
func (s *stream) Close() error {
	s.once.Do(func() {
		t := s.transport
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.streams[s] {
			t.inbound--
		}
		delete(t.streams, s)
	})
	return s.Conn.Close()
}
