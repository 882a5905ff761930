package subscribe

import (
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Subscription is the content of SUBSCRIBE and REQUEST_WHENEVER: the topic that the initiator
// wants to be informed of.
type Subscription struct {
	Topic      string                `json:"topic"` // required: the publisher's name for it
	Parameters performatives.Content `json:"parameters,omitzero"`
	// Since is the position after which the events are wanted, as far as the publisher
	// remembers them. Nil means from now on. The first event says whether any is missing.
	Since *Position `json:"since,omitempty"`

	// The terms that the initiator keeps. [Subscribe] sets them. A peer that leaves them
	// out has no heartbeat and confirms nothing.

	HeartbeatMillis int64 `json:"heartbeat_ms,omitempty"` // the period of the heartbeat; 0 for none
	Window          int   `json:"window,omitempty"`       // the largest number of unconfirmed events; unused without a heartbeat
}

// Validate reports an empty topic and negative terms.
func (s Subscription) Validate() error {
	switch {
	case s.Topic == "":
		return invalidContent("topic", "a non-empty string", "nothing")
	case s.HeartbeatMillis < 0:
		return invalidContent("heartbeat_ms", "0 or more", fmt.Sprint(s.HeartbeatMillis))
	case s.Window < 0:
		return invalidContent("window", "0 or more", fmt.Sprint(s.Window))
	}
	return nil
}

func invalidContent(field, want, got string) error {
	return &performatives.Refusal{
		Code: performatives.CodeInvalidPayload, Field: field, Text: fmt.Sprintf("%s: want %s, got %s", field, want, got),
	}
}

// heartbeat returns the period of the heartbeat; zero for none.
func (s Subscription) heartbeat() time.Duration {
	return time.Duration(min(s.HeartbeatMillis, longestHeartbeat.Milliseconds())) * time.Millisecond
}

// longestHeartbeat is the longest period that either side accepts.
const longestHeartbeat = 24 * time.Hour

// window returns the largest number of unconfirmed events; zero is any number. Without a heartbeat
// there is no window: after a lost CONFIRM nothing would make the publisher continue.
func (s Subscription) window() uint64 {
	if s.HeartbeatMillis == 0 {
		return 0
	}
	return uint64(s.Window)
}

// Position is the place of an event in its topic. The zero value is before all events.
type Position struct {
	Epoch string `json:"epoch"` // identifies the topic; after a restart of the publisher it is another
	Seq   uint64 `json:"seq"`   // the number of the event in the topic, from 1
}

// Agreed is the content of the AGREE of a stream.
type Agreed struct {
	Stream   string   `json:"stream"`            // identifies the run of events; a publisher that begins again has another
	From     Position `json:"from"`              // the events after this position come
	Resumed  bool     `json:"resumed,omitempty"` // the run continues at Since
	Buffered int      `json:"buffer"`            // the capacity of the subscriber's queue, in events
}

// Published is the content of the INFORM of a stream: one event.
type Published struct {
	Position
	Stream string `json:"stream"`
	// Number counts the events for this subscriber in this run, from 1, including lost
	// ones. A gap between two events is the number of events that did not arrive.
	Number uint64 `json:"number"`
	// Lost is the number of events that the full queue at the publisher has dropped between the
	// event sent before and this one.
	Lost uint64 `json:"lost,omitempty"`
	// Resumed says of the whole run that it continues at Since: every event after Since is
	// in the run or counted in Number.
	Resumed bool                  `json:"resumed,omitempty"`
	Confirm bool                  `json:"confirm,omitempty"` // the publisher asks for a CONFIRM
	Value   performatives.Content `json:"value"`
}

// Confirmed is the content of CONFIRM: the Number of the latest event that was read, or after
// which the subscriber has room for another window.
type Confirmed struct {
	Number uint64 `json:"number"`
}

// Act returns ActConfirm.
func (Confirmed) Act() performatives.Performative { return performatives.ActConfirm }
