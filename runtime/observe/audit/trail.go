package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/DeRuina/timberjack"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Counts says how much a [Trail] has written and lost.
type Counts struct {
	Written uint64 `json:"written"` // lines
	Lost    uint64 `json:"lost"`    // events that found the queue full
	Failed  uint64 `json:"failed"`  // lines that could not be written
}

// Trail is the audit trail of a node. Its owner must call Close.
type Trail struct {
	options Options
	file    *timberjack.Logger
	events  *actors.Subscription
	handler *actors.EventHandler

	closing chan struct{} // closed by Close
	idle    chan struct{} // closed when the goroutine of keepAlive has ended

	mu      sync.Mutex
	counts  Counts
	last    time.Time // when the last line was written
	noted   uint64    // of the lost events: those that a line has
	failing bool      // the last line could not be written
	closed  error
	close   sync.Once
}

// Open begins the trail of a node: events that are published from now on are written. The error says which option is wrong, or why the
// file cannot be written.
func Open(node *runtime.Node, o Options) (*Trail, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &Trail{options: o, closing: make(chan struct{}), idle: make(chan struct{}), file: &timberjack.Logger{
		Filename: o.File, MaxSize: o.Megabytes, MaxAge: o.days(), RotationInterval: day, FileMode: 0o600,
	}}
	opened := struct {
		Kind  string        `json:"kind"`
		Time  string        `json:"time"`
		Node  string        `json:"node"`
		Kinds []actors.Kind `json:"kinds"`
	}{"audit.opened", now(), node.Name(), o.Kinds}
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := t.line(opened); err != nil {
		_ = t.file.Close() // err is the reason
		return nil, err
	}
	t.events = node.Events().Subscribe(actors.SubscribeOptions{Capacity: o.Queue, Kinds: o.Kinds})
	t.handler = t.events.Handle(t.event)
	go t.keepAlive()
	return t, nil
}

// keepAlive writes a line when none was written for a day, so that the file of a node without events is rotated, and old files are deleted, as those of any other.
func (t *Trail) keepAlive() {
	defer close(t.idle)
	check := time.NewTicker(time.Hour)
	defer check.Stop()
	for {
		select {
		case <-t.closing:
			return
		case <-check.C:
		}
		t.mu.Lock()
		silent := time.Since(t.last) >= day
		t.mu.Unlock()
		if silent {
			_ = t.line(struct { // it is counted and logged
				Kind string `json:"kind"`
				Time string `json:"time"`
			}{"audit.alive", now()})
		}
	}
}

// check returns an error for a file that cannot be written. It does not create the folder, as timberjack would.
func (t *Trail) check() error {
	f, err := os.OpenFile(t.options.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return f.Close()
}

func now() string { return time.Now().UTC().Format(time.RFC3339Nano) }

// Counts returns how much was written and lost.
func (t *Trail) Counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.counts
	c.Lost = t.events.Lost()
	return c
}

// Close writes the events that are queued, until ctx ends, and closes the file. The error says that lines are missing. Closing again returns the same.
func (t *Trail) Close(ctx context.Context) error {
	t.close.Do(func() {
		close(t.closing)
		<-t.idle
		err := t.handler.Stop(ctx)
		t.noteLost()
		if closed := t.file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			t.closed = fmt.Errorf("audit: close: %w", err)
		}
	})
	return t.closed
}

// event writes one event, if it belongs to the trail.
func (t *Trail) event(r actors.Record) {
	t.noteLost()
	switch e := r.Event.(type) {
	case actors.MessageSent:
		if act := e.Message.Performative(); !act.ExpectsReply() && !act.IsReply() {
			return
		}
	case codons.Transition:
		if !e.Ended {
			return
		}
	}
	_ = t.line(r) // it is counted and logged
}

// noteLost writes how many events were lost since it last did.
func (t *Trail) noteLost() {
	lost := t.events.Lost()
	t.mu.Lock()
	n := lost - t.noted
	t.noted = lost
	t.mu.Unlock()
	if n > 0 {
		_ = t.line(struct {
			Kind string `json:"kind"`
			Time string `json:"time"`
			Lost uint64 `json:"lost"`
		}{"audit.lost", now(), n})
	}
}

// line writes one line.
func (t *Trail) line(value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		_, err = t.file.Write(append(text, '\n'))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.counts.Written++
		t.failing, t.last = false, time.Now()
		return nil
	}
	t.counts.Failed++
	if !t.failing {
		t.options.Logger.Error("a line of the audit trail is missing", "file", t.options.File, "err", err)
	}
	t.failing = true
	return fmt.Errorf("audit: %w", err)
}
