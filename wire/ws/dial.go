package ws

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/gorilla/websocket"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/wire"
)

// DialOptions configures [Dial]. The zero value sends no credentials.
type DialOptions struct {
	// TLS configures wss connections, with the same minimum as in [Options]. It must be nil
	// for ws URLs. Nil means the system's root certificates and no client certificate.
	TLS *tls.Config
	// Token is the bearer token of the request. Empty means none.
	Token string
	// Header is added to the request. It must not contain the headers of the upgrade.
	Header http.Header
	// Compression offers permessage-deflate (RFC 7692).
	Compression bool
	// Limits are the limits of the session. FrameTime also bounds the handshake.
	Limits wire.Limits
}

// Dial opens a connection for [wire.Connect] to a URL such as ws://127.0.0.1:8443/mcp or
// wss://…. An empty path means [DefaultPath]. Dial uses no proxy. It blocks until the
// handshake is complete, ctx ends, or Limits.FrameTime has passed. The error is a
// [*RefusedError] when the server answers with anything but an upgrade. Errors never contain
// the token.
func Dial(ctx context.Context, rawURL string, o DialOptions) (wire.Conn, error) {
	u, err := parse(rawURL)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme == "ws" && o.TLS != nil:
		return nil, errors.New("ws: DialOptions.TLS is set: want wss://")
	}
	o.Limits = o.Limits.WithDefaults()
	ctx, cancel := context.WithTimeout(ctx, o.Limits.FrameTime)
	defer cancel()
	c, err := o.dial(ctx, u)
	if err == nil {
		return c, nil
	}
	if _, refused := errors.AsType[*RefusedError](err); refused {
		return nil, err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		<-ctx.Done() // the socket's deadline was that of ctx
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx) // the cause explains the failure better than the socket's error
	}
	return nil, fmt.Errorf("ws: connect to %s: %w", u.Host, err)
}

// parse parses a URL. Its errors do not contain the URL, which may hold a password.
func parse(rawURL string) (*url.URL, error) {
	u, err := url.Parse(rawURL)
	var bad *url.Error
	switch {
	case errors.As(err, &bad):
		return nil, fmt.Errorf("ws: invalid URL: %w", bad.Err)
	case err != nil:
		return nil, errors.New("ws: invalid URL")
	case u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "":
		return nil, errors.New("ws: want a URL such as ws://host:port/mcp or wss://host/mcp")
	case u.User != nil:
		return nil, errors.New("ws: the URL holds a user or a password: set DialOptions.Token instead")
	}
	u.Path = cmp.Or(u.Path, DefaultPath)
	return u, nil
}

func (o DialOptions) dial(ctx context.Context, u *url.URL) (*conn, error) {
	network, err := o.connect(ctx, u)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = sockets.Raw(network).Close() })
	c, err := o.upgrade(ctx, u, network)
	if !stop() && err == nil {
		return nil, context.Cause(ctx)
	}
	return c, err
}

// connect opens the TCP or TLS connection.
func (o DialOptions) connect(ctx context.Context, u *url.URL) (net.Conn, error) {
	if u.Scheme == "ws" {
		return sockets.Dial(ctx, hostPort(u), nil)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.TLS != nil {
		config = o.TLS
	}
	config = onlyHTTP1(config)
	config.ServerName = cmp.Or(config.ServerName, u.Hostname())
	return sockets.Dial(ctx, hostPort(u), config)
}

// hostPort returns the network address of a URL.
func hostPort(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"ws": "80", "wss": "443"}[u.Scheme])
	return net.JoinHostPort(u.Hostname(), port)
}

// upgrade performs the WebSocket handshake on network. It closes network on failure.
func (o DialOptions) upgrade(ctx context.Context, u *url.URL, network net.Conn) (*conn, error) {
	s := &socket{Conn: network, frameTime: o.Limits.FrameTime, handshakeLeft: maxHandshake}
	given := func(context.Context, string, string) (net.Conn, error) { return s, nil }
	d := websocket.Dialer{
		NetDialContext: given, NetDialTLSContext: given,
		ReadBufferSize: readBuffer, WriteBufferPool: noBuffers{}, EnableCompression: o.Compression,
	}
	gorilla, answer, err := d.DialContext(ctx, u.String(), o.header())
	switch {
	case errors.Is(err, websocket.ErrBadHandshake) && answer != nil:
		return nil, refusedBy(answer)
	case err != nil:
		_ = sockets.Raw(network).Close() // gorilla leaves it open when it fails before its NetDial call
		return nil, s.handshakeFailed(err)
	}
	s.deflates = o.Compression && strings.Contains(answer.Header.Get("Sec-Websocket-Extensions"), "permessage-deflate")
	peer := wire.Peer{Transport: "ws", Addr: network.RemoteAddr().String(), Path: u.Path, TLS: u.Scheme == "wss"}
	return newConn(gorilla, s, peer, o.Limits, true), nil
}

// handshakeFailed returns the error for an answer that is too long or not HTTP. It shortens
// gorilla's error text, which may contain the whole answer.
func (s *socket) handshakeFailed(err error) error {
	switch {
	case s.handshakeLeft <= 0:
		return errLongHandshake
	case len(err.Error()) > maxText:
		return errors.New(sockets.Clean(err.Error(), maxText))
	}
	return err
}

func (o DialOptions) header() http.Header {
	h := o.Header.Clone()
	if h == nil {
		h = make(http.Header)
	}
	if o.Token != "" {
		h.Set("Authorization", "Bearer "+o.Token)
	}
	return h
}
