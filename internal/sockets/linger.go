package sockets

import (
	"net"
	"time"
)

// The bounds of [Linger].
const (
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// Linger half-closes a connection and discards incoming data, so that the peer can read the
// last frames. Without it, closing a connection with unread data sends a TCP reset, which may
// discard the sent data. Linger blocks until the peer closes, at most for the shorter of most
// and one second, or until 1 MiB was read. The caller closes the connection afterwards. A
// concurrent Close ends Linger.
func Linger(network net.Conn, most time.Duration) {
	half, ok := network.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	if network.SetReadDeadline(time.Now().Add(min(lingerTime, most))) != nil {
		return
	}
	buf := make([]byte, 4<<10)
	for left := lingerBytes; left > 0; {
		n, err := network.Read(buf)
		if err != nil {
			return
		}
		left -= n
	}
}
