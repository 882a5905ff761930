package sockets

import (
	"context"
	"crypto/tls"
	"net"
)

// Dial opens a TCP connection, and with a configuration one of TLS over it.
func Dial(ctx context.Context, addr string, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", addr) // TCP_NODELAY and keep-alive are on by default
	}
	return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", addr)
}

// Raw returns the connection below TLS, and any other connection as it is. Closing it sends no
// farewell of TLS, which could block.
func Raw(conn net.Conn) net.Conn {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		return secure.NetConn()
	}
	return conn
}
