package codontest

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
)

// DefaultSeeds is the number of seeds that [Conform] tries.
const DefaultSeeds = 24

// Option changes one thing about [Explore], [Mutate] or [Conform].
type Option func(*options)

type options struct {
	unexercised []string
	unused      []machine.Pair
	survivors   map[string]string // the reasons, by mistake
	allMistakes bool
	contents    map[string][]any
	seeds       []uint64
	asking      []codons.Option
	agents      []agents
	call        func(context.Context, *Script) error // nil: [codons.Codon.Start] opens the conversations
}

// agents are those of one option [Agents].
type agents struct {
	n      int
	create func(*Script) actors.Agent
	roles  []*codons.Service
}

func newOptions(opts []Option) options {
	o := options{contents: map[string][]any{}}
	for _, opt := range opts {
		opt(&o)
	}
	if o.seeds == nil {
		Seeds(DefaultSeeds)(&o)
	}
	return o
}

// Unexercised names steps that no conversation takes over the worst network, such as
//
//	initiator in working on receive TASK_REJECT
//
// They are steps of the definition's own rows that only a peer takes which breaks the protocol.
// [Explore] fails for a step that it takes all the same.
func Unexercised(steps ...string) Option {
	return func(o *options) { o.unexercised = append(o.unexercised, steps...) }
}

// Unused names a pair of terminal states of the table's Agree in which no conversation
// ends over the worst network. [Explore] fails where one does.
func Unused(initiator, responder machine.State) Option {
	return func(o *options) {
		o.unused = append(o.unused, machine.Pair{Initiator: initiator, Responder: responder})
	}
}

// Content gives the contents of the act that a command makes the table send, one of which
// the seed chooses each time. The command of the opening act is [machine.CommandStart].
// Without it the content is the zero value of the message type, or of the codon's
// Payloads.
func Content(command string, contents ...any) Option {
	return func(o *options) { o.contents[command] = contents }
}

// Seeds has [Conform] try the seeds from 0 up to n. Without it they are [DefaultSeeds].
func Seeds(n int) Option {
	return func(o *options) {
		o.seeds = make([]uint64, n)
		for i := range o.seeds {
			o.seeds[i] = uint64(i)
		}
	}
}

// Seed has [Conform] try one seed, that of a failure.
func Seed(seed uint64) Option { return func(o *options) { o.seeds = []uint64{seed} } }

// Agent has [Conform] test an agent of the application, which answers by role. Otherwise it tests
// an agent whose jobs end as the seed chooses. create is called once for each seed.
func Agent(role *codons.Service, create func() actors.Agent) Option {
	return Agents(1, func(*Script) actors.Agent { return create() }, role)
}

// Agents has [Conform] test n agents of the application in place of an agent whose jobs end as the
// seed chooses. They answer by those roles, of which one may be of another codon: conversations of
// it that the agents or the call open are checked against its own table. create is called once for
// each agent of each seed. Several options give agents of several kinds.
func Agents(n int, create func(*Script) actors.Agent, roles ...*codons.Service) Option {
	return func(o *options) { o.agents = append(o.agents, agents{n, create, roles}) }
}

// Calling has [Conform] open conversations by call, in place of [codons.Codon.Start]: by the
// function of a package that has an initiator of its own, such as delegation.Delegate. It has to
// pass ctx on, by whose end the seed withdraws the conversations, and has to return when they have
// ended, at the latest an hour after the last event. It runs on a goroutine of its own. Its error
// is shown where no conversation began; [Content] and [Asking] have no effect on it.
func Calling(call func(ctx context.Context, s *Script) error) Option {
	return func(o *options) { o.call = call }
}

// Asking gives options of all conversations that [Conform] opens, such as [codons.On] for
// a job of the initiator. The other jobs of the initiator end as the seed chooses.
func Asking(opts ...codons.Option) Option {
	return func(o *options) { o.asking = append(o.asking, opts...) }
}
