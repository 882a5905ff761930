package ws

import (
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

// DialOptions configures the client's end. The zero value shows no credentials.
type DialOptions struct {
	// TLS is for wss, with the same minimum as in [Options]; with ws it is an error. Nil means
	// the system's roots, and no certificate of one's own.
	TLS *tls.Config
	// Token is a bearer token that is shown with the request. Empty means none.
	Token string
	// Header is sent with the request. What the upgrade itself needs must not be in it.
	Header http.Header
	// Compression offers permessage-deflate (RFC 7692).
	Compression bool
	// Limits are those of the session to come. FrameTime bounds the handshake, too.
	Limits wire.Limits
}

// Dial opens a connection to a URL such as ws://127.0.0.1:8443/mcp or wss://…, for
// [wire.Connect]. A URL without a path means [DefaultPath]. It uses no proxy. The error is a [*RefusedError] when the server does
// not want the connection. No error holds a token.
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
	var r *RefusedError
	switch {
	case err == nil || errors.As(err, &r):
		return connOf(c), err
	case errors.Is(err, os.ErrDeadlineExceeded):
		<-ctx.Done() // the socket's deadline was that of ctx
		fallthrough
	case ctx.Err() != nil:
		err = context.Cause(ctx) // rather than what became of the socket by it
	}
	return nil, fmt.Errorf("ws: connect to %s: %w", u.Host, err)
}

// connOf keeps a nil pointer from becoming an interface.
func connOf(c *conn) wire.Conn {
	if c == nil {
		return nil
	}
	return c
}

// parse reads a URL. Its errors do not show it, as there may be a password in it.
func parse(rawURL string) (*url.URL, error) {
	u, err := url.Parse(rawURL)
	var bad *url.Error
	switch {
	case errors.As(err, &bad):
		return nil, fmt.Errorf("ws: the URL is wrong: %w", bad.Err)
	case err != nil:
		return nil, errors.New("ws: the URL is wrong")
	case u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "":
		return nil, errors.New("ws: want a URL such as ws://host:port/mcp or wss://host/mcp")
	case u.User != nil:
		return nil, errors.New("ws: the URL holds a user or a password: credentials are shown by DialOptions.Token")
	}
	if u.Path == "" {
		u.Path = DefaultPath
	}
	return u, nil
}

func (o DialOptions) dial(ctx context.Context, u *url.URL) (*conn, error) {
	network, err := o.connect(ctx, u)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw(network).Close() })
	c, err := o.upgrade(ctx, u, network)
	if !stop() && err == nil {
		return nil, context.Cause(ctx)
	}
	return c, err
}

// connect opens the connection below.
func (o DialOptions) connect(ctx context.Context, u *url.URL) (net.Conn, error) {
	var d net.Dialer
	network, err := d.DialContext(ctx, "tcp", hostPort(u))
	if err != nil || u.Scheme == "ws" {
		return network, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.TLS != nil {
		config = o.TLS
	}
	config = onlyHTTP1(config)
	if config.ServerName == "" {
		config.ServerName = u.Hostname()
	}
	encrypted := tls.Client(network, config)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = network.Close()
		return nil, err
	}
	return encrypted, nil
}

// hostPort is where to connect to.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"ws": "80", "wss": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// upgrade makes a connection of the one below, which is closed when that fails.
func (o DialOptions) upgrade(ctx context.Context, u *url.URL, network net.Conn) (*conn, error) {
	s := &socket{Conn: network, frameTime: o.Limits.FrameTime, allowance: maxHandshake}
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
		_ = raw(network).Close() // gorilla has, unless it failed before it took it
		return nil, s.strange(err)
	}
	s.deflates = o.Compression && strings.Contains(answer.Header.Get("Sec-Websocket-Extensions"), "permessage-deflate")
	peer := wire.Peer{Transport: "ws", Addr: network.RemoteAddr().String(), Path: u.Path, TLS: u.Scheme == "wss"}
	return newConn(gorilla, s, peer, o.Limits, true), nil
}

// strange is an answer that is no HTTP, or too much of it. What is wrong with it may be
// as long as the answer.
func (s *socket) strange(err error) error {
	switch {
	case s.allowance <= 0:
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
