package ws

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// unreadTime is the time for which a stream is kept without a reader.
const unreadTime = time.Minute

// stream is the [wire.Conn] of a client that posts its messages. It answers the pings of the
// session itself.
type stream struct {
	token    string
	id       *wire.Identity
	peer     wire.Peer
	dialect  wire.Dialect
	patience time.Duration // for a reader, when most bytes are unread
	most     int           // bytes that may be unread
	limit    atomic.Int64  // of a message, in bytes

	frames  chan posted
	control chan wire.Frame
	noting  chan<- taken // of the frame that is decoded; of the session's reader

	changed, room chan struct{} // signals: there is another answer, there is room for one
	gone          chan struct{} // closed when the client has not read for unreadTime
	done          chan struct{} // closed by Close
	forget        func()        // called by Close
	goneOnce      sync.Once
	doneOnce      sync.Once

	turn      chan struct{} // has room for the reader that writes
	mu        sync.Mutex
	answers   [][]byte
	bytes     int
	reader    chan struct{} // closed when another reader replaces it; nil without one
	interrupt func()        // ends what the reader writes
	unread    *time.Timer
}

// posted is a message of the client.
type posted struct {
	frame []byte
	taken chan<- taken
}

// taken is what the dialect makes of a message.
type taken struct {
	id  performatives.MessageID
	err error
}

var _ wire.DialectConn = (*stream)(nil)

// Dialect returns the dialect of the option Posts.
func (s *stream) Dialect() wire.Dialect { return s.dialect }

// Peer describes the client.
func (s *stream) Peer() wire.Peer { return s.peer }

// SetLimit sets the largest length of a message in bytes.
func (s *stream) SetLimit(bytes int) { s.limit.Store(int64(bytes)) }

// Close ends the stream. See [wire.Conn].
func (s *stream) Close() error {
	s.doneOnce.Do(func() {
		close(s.done)
		s.forget()
	})
	s.unread.Stop()
	return nil
}

func (s *stream) expire() { s.goneOnce.Do(func() { close(s.gone) }) }

// Read returns the next message of the client. See [wire.Conn].
func (s *stream) Read(control func(wire.Frame)) ([]byte, error) {
	for {
		select {
		case f := <-s.control:
			control(f)
		case p := <-s.frames:
			s.noting = p.taken
			return p.frame, nil
		case <-s.gone:
			return nil, io.EOF
		case <-s.done:
			return nil, net.ErrClosed
		}
	}
}

// Write stores frames for the reader. See [wire.Conn].
func (s *stream) Write(frames []wire.Frame) error {
	for _, f := range frames {
		switch f.Kind {
		case wire.KindData:
			if err := s.put(bytes.Clone(f.Data)); err != nil {
				return err
			}
		case wire.KindPing:
			s.reply(wire.Frame{Kind: wire.KindPong, Data: bytes.Clone(f.Data)})
		case wire.KindClose:
			s.reply(wire.Frame{Kind: wire.KindClose})
		case wire.KindPong, wire.KindError: // the end of the stream of events tells
		}
	}
	return nil
}

// reply stores a frame of the client's end.
func (s *stream) reply(f wire.Frame) {
	select {
	case s.control <- f:
	default: // the session has stopped to read
	}
}

// put stores an answer. It waits for room.
func (s *stream) put(frame []byte) error {
	for late := time.After(s.patience); ; {
		s.mu.Lock()
		if len(s.answers) == 0 || s.bytes+len(frame) <= s.most {
			s.answers, s.bytes = append(s.answers, frame), s.bytes+len(frame)
			s.mu.Unlock()
			signal(s.changed)
			return nil
		}
		s.mu.Unlock()
		select {
		case <-s.room:
		case <-s.done:
			return net.ErrClosed
		case <-late:
			return wire.ErrSlow
		}
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// offer passes a message to the session, and returns its id.
func (s *stream) offer(r *http.Request, frame []byte) (performatives.MessageID, error) {
	s.mu.Lock()
	if s.reader == nil {
		s.unread.Reset(unreadTime)
	}
	s.mu.Unlock()
	result := make(chan taken, 1)
	select {
	case s.frames <- posted{frame, result}:
	case <-s.done:
		return "", errEnded
	case <-r.Context().Done():
		return "", r.Context().Err()
	}
	select {
	case t := <-result:
		return t.id, t.err
	case <-s.done:
		return "", errEnded
	}
}

// attach makes the caller the reader, in place of any other, and returns a channel that is closed
// when it is replaced. interrupt is called after that, and ends what it writes.
func (s *stream) attach(interrupt func()) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != nil {
		close(s.reader)
		s.interrupt()
	}
	s.reader, s.interrupt = make(chan struct{}), interrupt
	s.unread.Stop()
	signal(s.changed) // there may be answers
	return s.reader
}

// detach ends what attach began.
func (s *stream) detach(reader chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == reader {
		s.reader = nil
		s.unread.Reset(unreadTime)
	}
}

// pop removes the answer that the reader whose turn it is has written.
func (s *stream) pop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes -= len(s.answers[0])
	s.answers[0], s.answers = nil, s.answers[1:]
	signal(s.room)
}

// next waits for what a reader writes next: an answer, or a sign of life. Nil means that it ends.
func (s *stream) next(r *http.Request, reader chan struct{}, beat <-chan time.Time) []byte {
	for {
		s.mu.Lock()
		replaced, more := s.reader != reader, len(s.answers) > 0
		var frame []byte
		if more {
			frame = s.answers[0]
		}
		s.mu.Unlock()
		if replaced {
			return nil
		}
		if more {
			return event(frame)
		}
		select {
		case <-s.changed:
		case <-beat:
			return []byte(": alive\n\n")
		case <-reader:
			return nil
		case <-r.Context().Done():
			return nil
		case <-s.done:
			s.mu.Lock()
			over := len(s.answers) == 0
			s.mu.Unlock()
			if over {
				return nil
			}
		}
	}
}

// noting is the dialect of a stream. It tells the stream what becomes of a message.
type noting struct {
	wire.Dialect
	stream *stream
}

// Open returns the codec of the session.
func (n noting) Open(o wire.CodecOptions) (wire.Codec, error) {
	codec, err := n.Dialect.Open(o)
	return notingCodec{codec, n.stream}, err
}

type notingCodec struct {
	wire.Codec
	stream *stream
}

// Decode parses a message, and tells its id or its error.
func (c notingCodec) Decode(frame []byte, take func(wire.Inbound)) {
	var t taken
	c.Codec.Decode(frame, func(in wire.Inbound) {
		switch {
		case in.Message != nil:
			t.id = in.Message.ID()
		case in.Err != nil:
			t.err = &handshakeError{http.StatusBadRequest, in.Err}
		}
		take(in)
	})
	c.stream.noting <- t
}
