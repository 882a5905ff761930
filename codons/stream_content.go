package codons

import (
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Subscription is the content of SUBSCRIBE and REQUEST_WHENEVER: of what someone
// wants to be informed.
type Subscription struct {
	Topic      string                `json:"topic"` // required: of what, in the publisher's words
	Parameters performatives.Content `json:"parameters,omitzero"`
	// Since is the position after which the events are wanted, where the publisher
	// still has them; nil is from now on. Whether they all came, the first event says.
	Since *Position `json:"since,omitempty"`

	// What the asking side keeps to; [Subscribe] fills it in. A peer that leaves it
	// out has no heartbeat and confirms nothing.

	HeartbeatMillis int64 `json:"heartbeat_ms,omitempty"` // the act is repeated at least this often
	Window          int   `json:"window,omitempty"`       // how many events may be under way until one is confirmed; means nothing without a heartbeat
}

// Validate checks that there is a topic.
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

// heartbeat is how often the subscriber says that it lives; zero is never.
func (s Subscription) heartbeat() time.Duration {
	return time.Duration(min(s.HeartbeatMillis, longestHeartbeat.Milliseconds())) * time.Millisecond
}

// longestHeartbeat is the longest that either side keeps to.
const longestHeartbeat = 24 * time.Hour

// window is how many events may be under way; zero is any number, as for a subscriber
// without a heartbeat: nothing would get it going again if one were lost.
func (s Subscription) window() uint64 {
	if s.HeartbeatMillis == 0 {
		return 0
	}
	return uint64(s.Window)
}

// Position is a place in what a topic publishes. Its zero value is before all.
type Position struct {
	Epoch string `json:"epoch"` // which topic: one that begins anew, as after a restart, has another
	Seq   uint64 `json:"seq"`   // counts what the topic has published, from 1
}

// Agreed is the content of the AGREE of a stream.
type Agreed struct {
	Stream   string   `json:"stream"` // names this run of events; a publisher that begins anew has another
	From     Position `json:"from"`   // events come from after here
	Resumed  bool     `json:"resumed,omitempty"`
	Buffered int      `json:"buffer"` // how many events wait for this subscriber at most
}

// Published is the content of the INFORM of a stream: one event.
type Published struct {
	Position
	Stream string `json:"stream"`
	// Number counts the events for this subscriber in this run, from 1, those that
	// were lost included. A gap is what did not come.
	Number uint64 `json:"number"`
	// Lost is how many of those were lost at the publisher, before this one and since
	// the one that it sent before: there was no room for them.
	Lost uint64 `json:"lost,omitempty"`
	// Resumed says of the whole run that it goes on where Since was: whatever came
	// between is in it, or in Number.
	Resumed bool                  `json:"resumed,omitempty"`
	Confirm bool                  `json:"confirm,omitempty"` // the publisher waits for CONFIRM
	Value   performatives.Content `json:"value"`
}

// Confirmed is the content of CONFIRM: how far the events have come.
type Confirmed struct {
	Number uint64 `json:"number"`
}

// Act returns ActConfirm.
func (Confirmed) Act() performatives.Performative { return performatives.ActConfirm }
