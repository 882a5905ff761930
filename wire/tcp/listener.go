package tcp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/wire"
)

// Listener takes connections for a [wire.Server]. Its methods may be called from any
// goroutine.
type Listener struct {
	server *wire.Server
	opts   Options
	net    net.Listener

	ctx     context.Context //nolint:containedctx // the listener's own: it ends with it
	cancel  context.CancelFunc
	opening chan struct{}  // a place for each handshake
	running sync.WaitGroup // what Stop joins

	stop    sync.Once
	stopped chan struct{} // closed when nothing of the listener runs
}

// Listen listens on o.Addr and gives the connections to server until Stop. The error says
// which option is wrong or why the address cannot be listened on.
func Listen(server *wire.Server, o Options) (*Listener, error) {
	if server == nil {
		return nil, errors.New("tcp: the server is nil")
	}
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.TLS != nil {
		o.TLS = sockets.Harden(o.TLS)
	}
	nl, err := sockets.Listen(o.Addr, logger(server))
	if err != nil {
		return nil, fmt.Errorf("tcp: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // a listener outlives whoever began it
	l := &Listener{
		server: server, opts: o, net: nl, ctx: ctx, cancel: cancel,
		opening: make(chan struct{}, o.MaxHandshakes), stopped: make(chan struct{}),
	}
	l.running.Go(l.accept)
	return l, nil
}

// Addr returns where the listener listens.
func (l *Listener) Addr() net.Addr { return l.net.Addr() }

// Stop takes on no connection more and closes those that are in their handshake. It
// returns when nothing of the listener is left, or with the cause when ctx ends first.
// Sessions go on until [wire.Server.Stop]. Stopping again is harmless.
func (l *Listener) Stop(ctx context.Context) error {
	l.stop.Do(func() {
		l.cancel()
		_ = l.net.Close() // nobody accepts any more
		go func() {
			l.running.Wait()
			close(l.stopped)
		}()
	})
	select {
	case <-l.stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("tcp: stop: %w", context.Cause(ctx))
	}
}

// accept takes connections until the listener stops.
func (l *Listener) accept() {
	for {
		raw, err := l.net.Accept()
		if err != nil {
			return
		}
		l.take(raw)
	}
}

// take asks the server about a connection, and begins its handshake.
func (l *Listener) take(raw net.Conn) {
	if err := l.server.Admit(peerOf(raw, l.opts.TLS != nil)); err != nil {
		l.turnAway(raw, err)
		return
	}
	select {
	case l.opening <- struct{}{}:
	default:
		l.turnAway(raw, wire.ErrTooMany)
		return
	}
	l.running.Add(1)
	go l.open(raw)
}

// turnAway closes a connection of which nothing has been read. Its peer is told why,
// unless it would take a TLS handshake to tell it.
func (l *Listener) turnAway(raw net.Conn, why error) {
	logger(l.server).Debug("connection refused", "peer", raw.RemoteAddr().String(), "err", why)
	if l.opts.TLS == nil {
		l.conn(raw, raw).giveUp(why) // finds room in a new connection, and does not wait
	}
	_ = raw.Close() // it is over either way
}

// open brings a connection to its session, and runs that.
func (l *Listener) open(raw net.Conn) {
	conn, id, err := l.handshake(raw)
	<-l.opening
	if err != nil {
		logger(l.server).Debug("connection refused", "peer", raw.RemoteAddr().String(), "err", err)
		_ = raw.Close() // it is over either way
		l.running.Done()
		return
	}
	conn.owned = l.running.Done  // which Read and Close call: the server joins it, or has turned it down
	_ = l.server.Serve(conn, id) // the session has logged it
}

// handshake encrypts a connection and finds out whose it is.
func (l *Listener) handshake(raw net.Conn) (*conn, *wire.Identity, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.opts.HandshakeTime)
	defer cancel()
	stream, cred, err := l.encrypt(ctx, raw)
	if err != nil {
		return nil, nil, err
	}
	c := l.conn(raw, stream)
	cred.Peer = c.peer
	id, err := l.server.Authenticate(ctx, cred)
	if err != nil && !errors.Is(err, wire.ErrNoCredentials) {
		c.giveUp(err)
		return nil, nil, err
	}
	return c, id, nil
}

// encrypt makes the TLS handshake, if there is to be one.
func (l *Listener) encrypt(ctx context.Context, raw net.Conn) (net.Conn, wire.Credentials, error) {
	if l.opts.TLS == nil {
		return raw, wire.Credentials{}, nil
	}
	secure := tls.Server(raw, l.opts.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, wire.Credentials{}, err
	}
	return secure, wire.Credentials{Certificates: sockets.Verified(secure.ConnectionState())}, nil
}

func (l *Listener) conn(raw, stream net.Conn) *conn {
	return newConn(raw, stream, connOptions{server: true, noZip: l.opts.NoCompression, limits: l.server.Limits()})
}

// courtesy is how long telling a peer that it is not served may take.
const courtesy = time.Second

// giveUp tells the peer that it is not served, in the form that every connection begins
// with: it has not said another.
func (c *conn) giveUp(why error) {
	c.patience = courtesy
	said := wire.Frame{Kind: wire.KindError, Data: wire.ErrorObjectOf(why).JSON()}
	_ = c.Write([]wire.Frame{said, {Kind: wire.KindClose}}) // it is over either way
}
