package grpc

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
)

// stream is the common interface of the streams of both ends.
type stream interface {
	SendMsg(m any) error
	RecvMsg(m any) error
}

// patient writes to a stream within a time, because SendMsg has no bound.
type patient struct {
	stream stream
	to     string      // the other end, in errors
	abort  func()      // ends the stream at once
	timer  *time.Timer // nil before the first write
	late   atomic.Bool // a write took too long
}

// within bounds the time until the timer is stopped.
func (p *patient) within(d time.Duration) *time.Timer {
	if p.timer == nil {
		p.timer = time.AfterFunc(d, func() {
			p.late.Store(true)
			p.abort()
		})
	} else {
		p.timer.Reset(d)
	}
	return p.timer
}

// send sends one gRPC message.
func (p *patient) send(m any) error {
	err := p.stream.SendMsg(m)
	switch {
	case p.late.Load():
		return wire.ErrSlow
	case errors.Is(err, io.EOF):
		return fmt.Errorf("grpc: %s has ended the stream: %w", p.to, io.ErrClosedPipe)
	case err != nil:
		return fmt.Errorf("grpc: write: %w", err)
	}
	return nil
}
