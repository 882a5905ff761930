package sockets

import (
	"net"
	"time"
)

// How long [Linger] waits at most, and how much it reads.
const (
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// Linger lets the peer read why a connection ends, before that is closed. A connection
// that is closed while something has arrived that nobody read is reset, and then what was
// sent last may be lost; so this says that nothing more comes, and reads a little of what
// the peer still says. It takes no longer than most, or a second. Closing the connection
// ends it.
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
