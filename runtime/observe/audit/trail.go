package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// Trail is the audit trail of a node. Its owner must call Close.
type Trail struct {
	file    *File
	events  *events.Subscription
	handler *events.Handler
	closed  error
	close   sync.Once
}

// Open begins the trail of a node: events that are published from now on are written. The error
// says which option is wrong, or why the file cannot be written.
func Open(node *runtime.Node, o Options) (*Trail, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	o.Lost = func(n uint64) []byte { return fmt.Appendf(nil, `{"kind":"audit.lost","time":%q,"lost":%d}`, now(), n) }
	o.Alive = func() []byte { return fmt.Appendf(nil, `{"kind":"audit.alive","time":%q}`, now()) }
	t := &Trail{}
	if t.file, err = OpenFile(o.FileOptions); err != nil {
		return nil, err
	}
	opened := struct {
		Kind  string        `json:"kind"`
		Time  string        `json:"time"`
		Node  string        `json:"node"`
		Kinds []events.Kind `json:"kinds"`
	}{"audit.opened", now(), node.Name(), o.Kinds}
	if err := t.line(opened); err != nil {
		_ = t.file.Close() // err is the reason
		return nil, err
	}
	t.events = node.Events().Subscribe(events.SubscribeOptions{Capacity: o.Queue, Kinds: o.Kinds})
	t.handler = t.events.Handle(t.event)
	return t, nil
}

func now() string { return time.Now().UTC().Format(time.RFC3339Nano) }

// Counts returns how much was written and lost.
func (t *Trail) Counts() Counts {
	c := t.file.Counts()
	c.Lost = t.events.Lost()
	return c
}

// Close writes the events that are queued, until ctx ends, and closes the file. The error says that
// lines are missing. Closing again returns the same.
func (t *Trail) Close(ctx context.Context) error {
	t.close.Do(func() {
		err := t.handler.Stop(ctx)
		t.file.missing(t.events.Lost())
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
func (t *Trail) event(r events.Record) {
	t.file.missing(t.events.Lost())
	switch e := r.Event.(type) {
	case events.MessageSent:
		if act := e.Message.Performative(); !act.ExpectsReply() && !act.IsReply() {
			return
		}
	case lifecycle.Transition:
		if !e.Ended {
			return
		}
	}
	_ = t.line(r) // it is counted and logged
}

// line writes one line.
func (t *Trail) line(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		t.file.fail(err)
		return err
	}
	return t.file.Append(text)
}

// The bounds of a [Trail] whose options name none.
const (
	DefaultMegabytes = 64
	DefaultKeep      = 90 * day
	DefaultQueue     = 1 << 14
)

const day = 24 * time.Hour

// Kinds returns the kinds of the events in a [Trail] whose options name none.
func Kinds() []events.Kind {
	return []events.Kind{
		events.KindMessageSent, events.KindMessageRefused, events.KindMessageDeadLettered, events.KindAgentStarted, events.KindAgentStopped,
		lifecycle.KindTransition, runtime.KindMemberJoined, runtime.KindMemberLost, runtime.KindAgentMoved, runtime.KindNodeDraining,
		observe.KindOperatorActed, observe.KindOperatorRefused,
	}
}

// Options configures a [Trail].
type Options struct {
	// FileOptions are those of the file, of which Path is required. Lost and Alive are the Trail's.
	FileOptions

	// Queue is how many events may wait to be written. Zero means [DefaultQueue].
	Queue int

	// Kinds are the kinds of the events that are written. Nil means those of the function [Kinds].
	Kinds []events.Kind
}

func (o Options) withDefaults() (Options, error) {
	if o.Queue < 0 {
		return o, errors.New("audit: Options.Queue must not be negative")
	}
	o.Queue = cmp.Or(o.Queue, DefaultQueue)
	if o.Kinds == nil {
		o.Kinds = Kinds()
	}
	return o, nil
}
