package sockets

import (
	"context"
	"crypto/tls"
	"net"
)

// Dial opens a TCP connection, and with a configuration one of TLS over it.
func Dial(ctx context.Context, addr string, config *tls.Config) (net.Conn, error) {
	var d net.Dialer // TCP_NODELAY and keep-alive are on by default
	network, err := d.DialContext(ctx, "tcp", addr)
	if err != nil || config == nil {
		return network, err
	}
	secure := tls.Client(network, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = network.Close() // err is the cause
		return nil, err
	}
	return secure, nil
}

// Raw returns the connection below TLS, and any other connection as it is. Closing it sends no
// farewell of TLS, which could block.
func Raw(conn net.Conn) net.Conn {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		return secure.NetConn()
	}
	return conn
}
