package watch

import (
	"cmp"
	"fmt"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
)

// Defaults of [Options].
const (
	DefaultConversations = 1024
	DefaultMessages      = 16
	DefaultQueue         = 4096
)

// MaxMessages is the largest [Options.Messages].
const MaxMessages = 64

// Options configures a [Watch]. Codons is required.
type Options struct {
	// Codons are the codons to check. A message of any other protocol is ignored. A codon
	// that is composed of others has no table and is ignored, too. Two codons with one name
	// are an error.
	Codons []*codons.Codon

	// Conversations is the largest number of conversations that are watched at a time. Zero
	// means [DefaultConversations]. When one more begins, the conversation without a
	// message for the longest time is given up: most likely it has ended.
	Conversations int

	// Messages is the number of messages of one conversation that are checked, at most
	// [MaxMessages]. Zero means [DefaultMessages]. The rest of a longer conversation is not
	// checked: each further message costs more, because more orders of arrival are possible.
	Messages int

	// Queue is the largest number of messages that wait to be checked. Zero means
	// [DefaultQueue]. A message that finds the queue full is dropped and counted, and its
	// conversation is given up.
	Queue int
}

func (o Options) withDefaults() Options {
	o.Conversations = cmp.Or(o.Conversations, DefaultConversations)
	o.Messages = cmp.Or(o.Messages, DefaultMessages)
	o.Queue = cmp.Or(o.Queue, DefaultQueue)
	return o
}

func (o Options) validate() error {
	switch {
	case len(o.Codons) == 0:
		return fmt.Errorf("watch: Options.Codons is empty: there is no table to check messages against")
	case o.Conversations < 0:
		return fmt.Errorf("watch: Options.Conversations is %d, want 0 or more", o.Conversations)
	case o.Messages < 0 || o.Messages > MaxMessages:
		return fmt.Errorf("watch: Options.Messages is %d, want 0 to %d", o.Messages, MaxMessages)
	case o.Queue < 0:
		return fmt.Errorf("watch: Options.Queue is %d, want 0 or more", o.Queue)
	}
	return nil
}

// protocols returns the codons that have a table, by name.
func (o Options) protocols() (map[string]*protocol, error) {
	all := make(map[string]*protocol, len(o.Codons))
	for i, c := range o.Codons {
		switch {
		case c == nil:
			return nil, fmt.Errorf("watch: Options.Codons[%d] is nil", i)
		case c.Machine() == nil:
			continue
		case all[c.Name()] != nil && all[c.Name()].Codon != c:
			return nil, fmt.Errorf("watch: Options.Codons has two codons with the name %q", c.Name())
		}
		all[c.Name()] = &protocol{c, machine.NewProgress(c.Machine())}
	}
	return all, nil
}
