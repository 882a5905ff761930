package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/ribosome-agents/ribosome/wire"
)

// DialOptions configures a connection that this end opens.
type DialOptions struct {
	// TLS is for grpcs, with the same minimum as in [Options]; with grpc it is an error. Nil
	// means the system's roots, and no client certificate.
	TLS *tls.Config
	// Token is a bearer token, without the word Bearer, which authenticates the
	// connection. Over grpc it is sent unencrypted. Empty means none.
	Token string
	// Limits are those of the session. Dial uses Frame and FrameTime; FrameTime also
	// bounds the time of dialling.
	Limits wire.Limits
}

// linger is the time for which a client waits, after its last frame, for the server to end
// the stream. Cancelling the stream would drop frames that are not on the network yet.
const linger = time.Second

// Dial opens a connection to grpc://host:port, or grpcs://host:port with TLS, for
// [wire.Connect]. It returns when the server has accepted the connection. If the server
// refuses it, the error wraps a [*performatives.Refusal]. ctx bounds the dialling only.
func Dial(ctx context.Context, target string, o DialOptions) (wire.Conn, error) {
	host, encrypted, err := parse(target, o)
	if err != nil {
		return nil, err
	}
	limits := o.Limits.WithDefaults()
	config := o.TLS
	if encrypted && config == nil {
		config = new(tls.Config)
	}
	s, hangUp, err := dial(ctx, host, fullMethod, o.Token, config, limits)
	if err != nil {
		return nil, fmt.Errorf("grpc: connect to %s: %w", host, refusalOf(err))
	}
	return clientConn(s, wire.Peer{Transport: "grpc", Addr: host, Path: fullMethod, TLS: encrypted}, limits, hangUp), nil
}

// parse splits grpc://host:port.
func parse(target string, o DialOptions) (host string, encrypted bool, err error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", false, errors.New("grpc: the address is no URL: want grpc://host:port or grpcs://host:port")
	}
	switch {
	case u.Scheme != "grpc" && u.Scheme != "grpcs", u.Port() == "", u.User != nil, u.Path != "" && u.Path != "/", u.RawQuery != "":
		return "", false, fmt.Errorf("grpc: want grpc://host:port or grpcs://host:port, got %s", u.Redacted())
	case u.Scheme == "grpc" && o.TLS != nil:
		return "", false, errors.New("grpc: DialOptions.TLS is set: want grpcs://host:port")
	}
	return u.Host, u.Scheme == "grpcs", nil
}

func clientOptions(config *tls.Config, l wire.Limits) []rpc.DialOption {
	return []rpc.DialOption{
		rpc.WithTransportCredentials(secure(config)),
		rpc.WithDefaultCallOptions(rpc.MaxCallRecvMsgSize(maxMessage(l)), rpc.ForceCodecV2(newPassing())),
		rpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingTime, Timeout: pingTime}),
		rpc.WithMaxHeaderListSize(maxHeader),
		rpc.WithDisableServiceConfig(),
	}
}

// dial opens a stream by a connection of its own, within FrameTime of the limits. hangUp ends both.
func dial(ctx context.Context, host, method, token string, config *tls.Config, l wire.Limits) (s rpc.ClientStream, hangUp func(), err error) {
	cc, err := rpc.NewClient("passthrough:///"+host, clientOptions(config, l)...)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancelDial := context.WithTimeout(ctx, l.FrameTime)
	defer cancelDial()
	streaming, cancel := context.WithCancel(context.WithoutCancel(ctx))
	hangUp = func() {
		cancel()
		_ = cc.Close() // the connection has ended in any case
	}
	if token != "" {
		streaming = metadata.AppendToOutgoingContext(streaming, "authorization", "Bearer "+token)
	}
	stop := context.AfterFunc(ctx, cancel)
	s, err = cc.NewStream(streaming, &rpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err == nil {
		err = accepted(s)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		hangUp()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, nil, err
	}
	return s, hangUp, nil
}

// accepted waits until the server accepts the stream.
func accepted(s rpc.ClientStream) error {
	header, err := s.Header()
	if err != nil || header != nil {
		return err
	}
	var c carrier
	if err := s.RecvMsg(&c); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return errors.New("the server has ended the stream")
}

// clientConn is the connection of a client, which hangUp ends.
func clientConn(s rpc.ClientStream, p wire.Peer, l wire.Limits, hangUp func()) *conn {
	c := newConn(s, p, l)
	c.abort = hangUp
	c.closing = func(said bool) {
		if said {
			time.AfterFunc(linger, hangUp)
			return
		}
		hangUp()
	}
	c.lost = func(err error) error {
		hangUp()
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		return fmt.Errorf("grpc: read: %w", err)
	}
	return c
}
