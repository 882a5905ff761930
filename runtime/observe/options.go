package observe

import "fmt"

// The bounds of a [Recorder] whose options name none.
const (
	DefaultConversations = 1000
	DefaultMessages      = 500
	DefaultBytes         = 64 << 20
	DefaultPayloadBytes  = 16 << 10
	DefaultQueue         = 8192
	DefaultRefusals      = 1000
	DefaultFailures      = 500
)

// Options configures a [Recorder]. The zero value works: every bound that is zero has its default.
type Options struct {
	// Conversations is how many conversations are kept. When there are more, the one without an
	// event for the longest time is forgotten. Zero means [DefaultConversations].
	Conversations int

	// Messages is how many messages of one conversation are kept: the last ones. Zero means
	// [DefaultMessages].
	Messages int

	// Bytes bounds the memory of all that is kept, in bytes, estimated. It is obeyed as
	// Conversations is; of a conversation that is alone, the oldest messages are forgotten. Zero
	// means [DefaultBytes].
	Bytes int

	// PayloadBytes is the size of the largest payload that is kept, in bytes of its masked JSON. A
	// larger one is left out, and its message says so. Zero means [DefaultPayloadBytes].
	PayloadBytes int

	// Queue is how many events may wait for the recorder. An event that finds the queue full is
	// lost and counted. Zero means [DefaultQueue].
	Queue int

	// Refusals is how many refusals and dead letters are kept: the last ones. Zero means
	// [DefaultRefusals].
	Refusals int

	// Failures is how many failures of agents are kept, each with up to 10 KiB of text and stack:
	// the last ones. Zero means [DefaultFailures].
	Failures int

	// Mask are the names and the paths of the members of payloads whose values are not shown: see
	// [Mask]. Nil means [DefaultMask]; an empty list that is not nil masks nothing.
	Mask []string
}

func (o Options) withDefaults() (Options, error) {
	for _, f := range []struct {
		name  string
		value *int
		zero  int
	}{
		{"Conversations", &o.Conversations, DefaultConversations},
		{"Messages", &o.Messages, DefaultMessages},
		{"Bytes", &o.Bytes, DefaultBytes},
		{"PayloadBytes", &o.PayloadBytes, DefaultPayloadBytes},
		{"Queue", &o.Queue, DefaultQueue},
		{"Refusals", &o.Refusals, DefaultRefusals},
		{"Failures", &o.Failures, DefaultFailures},
	} {
		switch {
		case *f.value < 0:
			return o, fmt.Errorf("observe: Options.%s is %d: it must not be negative", f.name, *f.value)
		case *f.value == 0:
			*f.value = f.zero
		}
	}
	if o.Mask == nil {
		o.Mask = DefaultMask()
	}
	return o, nil
}
