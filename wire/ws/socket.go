package ws

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"time"
)

// socket is what gorilla takes for the network. While the two shake hands, it only bounds
// how much the peer may say. After that it belongs to the reader: it bounds how long a
// message may take, reads ahead when much has come, and keeps to itself what gorilla says
// on its own account.
type socket struct {
	net.Conn
	frameTime time.Duration

	// Of the handshake.
	allowance int  // how many bytes the peer may still say
	upgraded  bool // it is over
	deflates  bool // it agreed on compression

	// Of the reader.
	between  bool      // nothing has come of the next message
	since    time.Time // when its first bytes came; zero for just now
	timed    bool      // a deadline is set
	full     bool      // the last read filled its buffer: there may be more
	ahead    []byte    // what was read and not passed on
	buffer   *[readAhead]byte
	lost     error // of the network
	objected bool  // gorilla wanted to close
}

const (
	maxHandshake = 64 << 10 // bytes of an HTTP answer
	readAhead    = 32 << 10 // how much is read at a time when much comes
)

var errLongHandshake = errors.New("the answer to the upgrade is too long")

var readAheads = sync.Pool{New: func() any { return new([readAhead]byte) }}

// Read reads what has arrived. It waits as long as it takes for the first byte of a
// message, and until the message's deadline for the rest.
func (s *socket) Read(p []byte) (int, error) {
	if !s.upgraded {
		return s.readHandshake(p)
	}
	if len(s.ahead) == 0 {
		if err := s.arm(); err != nil {
			return 0, s.lose(err)
		}
		if !s.full || len(p) >= readAhead {
			n, err := s.Conn.Read(p)
			s.arrived(n, len(p))
			return n, s.lose(err)
		}
		if err := s.readAhead(); err != nil {
			return 0, err
		}
	}
	return s.pass(p), nil
}

func (s *socket) readHandshake(p []byte) (int, error) {
	if s.allowance <= 0 {
		return 0, errLongHandshake
	}
	n, err := s.Conn.Read(p[:min(len(p), s.allowance)])
	s.allowance -= n
	return n, err
}

// readAhead reads more than was asked for, and keeps it.
func (s *socket) readAhead() error {
	s.buffer = readAheads.Get().(*[readAhead]byte)
	n, err := s.Conn.Read(s.buffer[:])
	s.arrived(n, readAhead)
	s.ahead = s.buffer[:n]
	if n == 0 {
		s.release()
		return s.lose(err)
	}
	return nil // the next read has the error again
}

// pass passes on what was read ahead.
func (s *socket) pass(p []byte) int {
	s.between = false
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

// arrived notes that n bytes have come, where there was room for more.
func (s *socket) arrived(n, room int) {
	s.full = n == room
	if n > 0 && s.between {
		s.between, s.since = false, time.Now()
	}
}

// next says that a message is over. Nothing else tells an idle connection from one whose
// message does not come to its end, save that what came with the end of the last message
// may be the beginning of a header.
func (s *socket) next() { s.between, s.since = true, time.Time{} }

// arm sets the deadline that matters: none between messages. Most messages come whole and
// need none.
func (s *socket) arm() error {
	switch {
	case s.between && s.timed:
		s.timed = false
		return s.Conn.SetReadDeadline(time.Time{})
	case s.between || s.timed && !s.since.IsZero():
		return nil
	case s.since.IsZero():
		s.since = time.Now()
	}
	s.timed = true
	return s.Conn.SetReadDeadline(s.since.Add(s.frameTime))
}

// lose notes that the network has failed.
func (s *socket) lose(err error) error {
	if err != nil {
		s.lost = err
	}
	return err
}

// Write writes the handshake. Later it writes nothing: gorilla answers by itself, with a
// close frame, what breaks the protocol, and that is for the session to do.
func (s *socket) Write(p []byte) (int, error) {
	if s.upgraded {
		s.objected = true
		return len(p), nil
	}
	s.deflates = bytes.Contains(p, []byte("Sec-WebSocket-Extensions: permessage-deflate"))
	return s.Conn.Write(p)
}

// SetWriteDeadline sets the deadline of the handshake. Later it is the writer's affair.
func (s *socket) SetWriteDeadline(t time.Time) error {
	if s.upgraded {
		return nil
	}
	return s.Conn.SetWriteDeadline(t)
}
