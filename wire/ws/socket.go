package ws

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"time"
)

// socket is the net.Conn that gorilla uses. During the handshake it bounds the bytes that the
// peer may send. Afterwards the reader owns it: it bounds the time for each message, reads
// ahead under load, and discards what gorilla writes on its own.
type socket struct {
	net.Conn
	frameTime time.Duration

	// Used during the handshake.
	handshakeLeft int  // bytes that the peer may still send
	upgraded      bool // the handshake is complete
	deflates      bool // compression was negotiated

	// Used by the reader.
	idle         bool      // no byte of the next message has arrived
	since        time.Time // when the message began; zero if it is not known yet
	deadlineSet  bool      // a read deadline is set
	full         bool      // the last read filled its buffer, so that more data may be available
	ahead        []byte    // read and not yet returned to gorilla
	buffer       *[readAhead]byte
	networkErr   error  // error of the network
	guard        *guard // nil on a client's end, where it would miss the bytes that gorilla has buffered after the handshake
	found        error  // violation that the guard has found; gorilla has not reached it yet
	broken       error  // found, once gorilla has reached it
	gorillaWrote bool   // gorilla tried to write, because the peer violated the protocol
}

const (
	maxHandshake = 64 << 10 // bytes of an HTTP answer
	readAhead    = 32 << 10 // bytes of one read under load
)

var errLongHandshake = errors.New("the answer to the upgrade is too long")

var readAheads = sync.Pool{New: func() any { return new([readAhead]byte) }}

// Read returns available data. It waits without a deadline for the first byte of a message,
// and until the message's deadline for the rest.
func (s *socket) Read(p []byte) (int, error) {
	switch {
	case !s.upgraded:
		return s.readHandshake(p)
	case s.guard == nil:
		return s.read(p)
	case s.found != nil:
		s.broken = s.found
		return 0, s.broken
	}
	n, err := s.read(p)
	if n, s.found = s.guard.check(p[:n]); s.found != nil && n == 0 {
		s.broken = s.found
		return 0, s.broken
	} else if s.found != nil {
		return n, nil //nolint:nilerr // the fault is told when these bytes have been read
	}
	return n, err
}

// read returns data that is available or was read ahead.
func (s *socket) read(p []byte) (int, error) {
	if len(s.ahead) == 0 {
		if err := s.arm(); err != nil {
			return 0, s.noteError(err)
		}
		if !s.full || len(p) >= readAhead {
			n, err := s.Conn.Read(p)
			s.arrived(n, len(p))
			return n, s.noteError(err)
		}
		if err := s.readAhead(); err != nil {
			return 0, err
		}
	}
	return s.copyAhead(p), nil
}

func (s *socket) readHandshake(p []byte) (int, error) {
	if s.handshakeLeft <= 0 {
		return 0, errLongHandshake
	}
	n, err := s.Conn.Read(p[:min(len(p), s.handshakeLeft)])
	s.handshakeLeft -= n
	return n, err
}

// readAhead reads more than the caller asked for into a pooled buffer.
func (s *socket) readAhead() error {
	s.buffer = readAheads.Get().(*[readAhead]byte)
	n, err := s.Conn.Read(s.buffer[:])
	s.arrived(n, readAhead)
	s.ahead = s.buffer[:n]
	if n == 0 {
		s.release()
		return s.noteError(err)
	}
	return nil // the next read returns err again
}

// copyAhead returns data that was read ahead.
func (s *socket) copyAhead(p []byte) int {
	s.idle = false
	n := copy(p, s.ahead)
	if s.ahead = s.ahead[n:]; len(s.ahead) == 0 {
		s.release()
	}
	return n
}

func (s *socket) release() {
	if s.buffer != nil {
		readAheads.Put(s.buffer)
	}
	s.buffer, s.ahead = nil, nil
}

// arrived records the result of a read of n bytes into a buffer of size room.
func (s *socket) arrived(n, room int) {
	s.full = n == room
	if n > 0 && s.idle {
		s.idle, s.since = false, time.Now()
	}
}

// next records that a message or a control frame has ended, so that the connection counts as
// idle. Limitation: a header whose first bytes arrived together with the end of the last
// message is not noticed, and gets no deadline until more bytes arrive.
func (s *socket) next() { s.idle, s.since = true, time.Time{} }

// arm sets or clears the read deadline. There is none between messages. It is set only when a
// message needs a second read, because most messages arrive in one.
func (s *socket) arm() error {
	switch {
	case s.idle && s.deadlineSet:
		s.deadlineSet = false
		return s.Conn.SetReadDeadline(time.Time{})
	case s.idle || s.deadlineSet && !s.since.IsZero():
		return nil
	case s.since.IsZero():
		s.since = time.Now()
	}
	s.deadlineSet = true
	return s.Conn.SetReadDeadline(s.since.Add(s.frameTime))
}

// noteError records an error of the network.
func (s *socket) noteError(err error) error {
	if err != nil {
		s.networkErr = err
	}
	return err
}

// Write writes the handshake. Afterwards it discards the data: gorilla writes a close frame
// when the peer violates the protocol, and the session must do that instead.
func (s *socket) Write(p []byte) (int, error) {
	if s.upgraded {
		s.gorillaWrote = true
		return len(p), nil
	}
	s.deflates = bytes.Contains(p, []byte("Sec-WebSocket-Extensions: permessage-deflate"))
	return s.Conn.Write(p)
}

// SetWriteDeadline sets the deadline of the handshake. Afterwards it has no effect, because
// output sets the deadline of the network connection.
func (s *socket) SetWriteDeadline(t time.Time) error {
	if s.upgraded {
		return nil
	}
	return s.Conn.SetWriteDeadline(t)
}
