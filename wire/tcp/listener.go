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

// Listener accepts connections for a [wire.Server]. Its methods are safe for concurrent use.
type Listener struct {
	server *wire.Server
	opts   Options
	net    net.Listener

	ctx        context.Context //nolint:containedctx // ends with the listener
	cancel     context.CancelFunc
	handshakes chan struct{}  // semaphore of the handshakes
	running    sync.WaitGroup // goroutines that Stop joins
}

// Listen listens on o.Addr and serves connections with server until Stop. The error names the
// invalid option or the reason why the address cannot be used.
func Listen(server *wire.Server, o Options) (*Listener, error) {
	if server == nil {
		return nil, errors.New("tcp: the server is nil")
	}
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
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // a listener outlives the call that started it
	l := &Listener{
		server: server, opts: o, net: nl, ctx: ctx, cancel: cancel,
		handshakes: make(chan struct{}, server.Options().MaxConnections),
	}
	l.running.Go(l.accept)
	return l, nil
}

// Addr returns the address of the port.
func (l *Listener) Addr() net.Addr { return l.net.Addr() }

// Stop stops accepting and closes the connections that are in their handshake. It blocks
// until all goroutines of the listener have ended; when ctx ends first, it returns the cause.
// Sessions continue until [wire.Server.Stop]. Stop is idempotent.
func (l *Listener) Stop(ctx context.Context) error {
	l.cancel()
	_ = l.net.Close() // makes accept return
	if err := sockets.Join(ctx, l.running.Wait); err != nil {
		return fmt.Errorf("tcp: stop: %w", err)
	}
	return nil
}

// accept accepts connections until the listener stops.
func (l *Listener) accept() {
	for {
		raw, err := l.net.Accept()
		if err != nil {
			return
		}
		l.take(raw)
	}
}

// take starts the handshake of a connection, or refuses it.
func (l *Listener) take(raw net.Conn) {
	if err := l.server.Admit(peerOf(raw, l.opts.TLS != nil)); err != nil {
		l.refuse(raw, err)
		return
	}
	select {
	case l.handshakes <- struct{}{}:
	default:
		l.refuse(raw, wire.ErrTooMany)
		return
	}
	l.running.Add(1)
	go l.open(raw)
}

// refuse closes a connection before anything is read from it. Without TLS it sends the
// reason; with TLS that would need a handshake.
func (l *Listener) refuse(raw net.Conn, why error) {
	logger(l.server).Debug("connection refused", "peer", raw.RemoteAddr().String(), "err", why)
	if l.opts.TLS == nil {
		l.conn(raw, raw).sendRefusal(why) // does not block, because the send buffer of a new connection is empty
	}
	_ = raw.Close() // the connection ends regardless of the error
}

// open performs the handshake and starts the session.
func (l *Listener) open(raw net.Conn) {
	defer l.running.Done()
	conn, id, err := l.handshake(raw)
	<-l.handshakes
	if err != nil {
		logger(l.server).Debug("connection refused", "peer", raw.RemoteAddr().String(), "err", err)
		_ = raw.Close() // the connection ends regardless of the error
		return
	}
	_ = l.server.Start(conn, id) // the peer has been told
}

// handshake encrypts a connection and authenticates its peer.
func (l *Listener) handshake(raw net.Conn) (*conn, *wire.Identity, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.server.Options().AuthTime)
	defer cancel()
	stream, cred, err := l.encrypt(ctx, raw)
	if err != nil {
		return nil, nil, err
	}
	c := l.conn(raw, stream)
	cred.Peer = c.peer
	id, err := l.server.Authenticate(ctx, cred)
	if err != nil && !errors.Is(err, wire.ErrNoCredentials) {
		c.sendRefusal(err)
		return nil, nil, err
	}
	return c, id, nil
}

// encrypt performs the TLS handshake, if TLS is configured.
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
	return newConn(raw, stream, connOptions{server: true, noCompression: l.opts.NoCompression, limits: l.server.Limits()})
}

// refusalTime bounds the write of a refusal.
const refusalTime = time.Second

// sendRefusal sends why to the peer in the form with 7-byte headers, because the peer has not
// selected another form yet.
func (c *conn) sendRefusal(why error) {
	c.timeout = refusalTime
	said := wire.Frame{Kind: wire.KindError, Data: wire.ErrorObjectOf(why).JSON()}
	_ = c.Write([]wire.Frame{said, {Kind: wire.KindClose}}) // the connection ends regardless of the error
}
