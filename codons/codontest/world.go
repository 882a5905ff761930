package codontest

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	goruntime "runtime"
	"slices"
	"strconv"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The ids of the two agents of a world.
const (
	askerID     performatives.AgentID = "Asker"
	responderID performatives.AgentID = "Responder"
)

const (
	eventQueue    = 1 << 14
	conversations = 6  // of one seed
	moments       = 30 // of one seed, at each of which something may be done to a conversation
)

// world is the system of one seed, in a bubble of its own.
type world struct {
	script
	options
	system  *actors.System
	pool    *actors.Pool
	asker   actors.Self
	log     errorLog
	events  *actors.Subscription
	started []*codons.Asked
	cancels []context.CancelFunc
	faults  []string
	about   map[performatives.ConversationID]bool // conversations with faults

	answered map[performatives.ConversationID]bool // those in which the runtime has answered a request
	unjudged int                                   // conversations whose pair of ends was not checked
}

// newWorld starts the system and both agents. It records the events from the beginning.
func newWorld(ctx context.Context, c *codons.Codon, o options, seed uint64) (*world, error) {
	w := &world{script: script{c, o.contents, dice{seed}}, options: o, about: map[performatives.ConversationID]bool{}, answered: map[performatives.ConversationID]bool{}}
	role, agent, err := w.agents(o)
	if err != nil {
		return nil, err
	}
	net := &network{dice: w.dice, machine: c.Machine()}
	w.pool = actors.NewPool(actors.PoolOptions{Workers: max(4, goruntime.GOMAXPROCS(0))}) // a worker that waits must not stop the clock
	w.system, err = actors.NewSystem(actors.Options{
		Protocols: []actors.Protocol{role}, Router: net, Dispatcher: w.pool, Stamper: &stamper{}, Logger: slog.New(&w.log),
	})
	if err != nil {
		_ = w.pool.Close(ctx) // it runs nothing yet
		return nil, err
	}
	net.system = w.system
	w.events = w.system.Events.Subscribe(actors.SubscribeOptions{Capacity: eventQueue, Kinds: []actors.Kind{
		codons.KindTransition, codons.KindRecorded, codons.KindPayload, codons.KindJobPanicked, actors.KindMessageRefused,
	}})
	if w.asker, err = w.spawn(ctx, askerID, client{}); err != nil {
		return w, err
	}
	_, err = w.spawn(ctx, responderID, agent)
	return w, err
}

// client is the agent that asks.
type client struct{}

// Describe returns no capabilities.
func (client) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (w *world) spawn(ctx context.Context, id performatives.AgentID, agent actors.Agent) (actors.Self, error) {
	return w.system.Spawn(ctx, actors.Spec{ID: id, New: func() actors.Agent { return agent }, Hidden: true})
}

func (w *world) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// faultOf is a fault of one conversation, whose transitions the failure lists.
func (w *world) faultOf(id performatives.ConversationID, format string, args ...any) {
	w.about[id] = true
	w.fault("%s: "+format, append([]any{id}, args...)...)
}

// play opens the conversations, disturbs them, and waits until nothing is under way.
func (w *world) play(ctx context.Context) {
	chance := w.dice.of("play")
	stops := -1
	if chance.IntN(3) == 0 {
		stops = chance.IntN(moments)
	}
	for i := 0; i < moments && len(w.faults) == 0; i++ {
		time.Sleep(upTo(chance, time.Minute)) //nolint:forbidigo // the clock of a synctest bubble
		synctest.Wait()
		switch {
		case i == stops:
			w.stopAgent(ctx, chance)
		case len(w.started) < conversations && chance.IntN(2) == 0:
			w.begin(ctx, chance)
		case chance.IntN(3) == 0:
			w.withdraw(chance)
		default:
			w.tell(chance)
		}
		synctest.Wait()
	}
	w.settle()
}

// begin opens a conversation, mostly with a deadline.
func (w *world) begin(ctx context.Context, chance *rand.Rand) {
	var cancel context.CancelFunc
	if deadline := chance.IntN(4); deadline > 0 {
		ctx, cancel = context.WithTimeout(ctx, upTo(chance, 4*time.Minute)+time.Second)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	opts := append(w.script.asking(), w.options.asking...)
	if n := len(w.started); n%2 == 1 { // its id is not that of its first request
		opts = append(opts, codons.WithConversation(performatives.ConversationID("named "+strconv.Itoa(n))))
	}
	asked, err := w.codon.Start(ctx, w.asker, responderID, w.content(chance, machine.Initiator, codons.CommandStart), opts...)
	if err != nil {
		cancel()
		if _, runs := w.system.Lookup(askerID); runs {
			w.fault("the conversation %d did not begin: %v", len(w.started), err)
		}
		return
	}
	w.started, w.cancels = append(w.started, asked), append(w.cancels, cancel)
}

// withdraw cancels a conversation that is under way.
func (w *world) withdraw(chance *rand.Rand) {
	if live := w.live(); len(live) > 0 {
		w.cancels[live[chance.IntN(len(live))].index]()
	}
}

// tell has a conversation take a command that is not of a job, if its state has one.
func (w *world) tell(chance *rand.Rand) {
	live := w.live()
	if len(live) == 0 {
		return
	}
	one := live[chance.IntN(len(live))]
	if commands := w.commands(one.state); len(commands) > 0 {
		command := commands[chance.IntN(len(commands))]
		w.started[one.index].Tell(command, w.content(chance, machine.Initiator, command))
	}
}

// conversation is one that has not ended for the initiator.
type conversation struct {
	index int
	state machine.State
}

// live returns the conversations that have not ended for the initiator.
func (w *world) live() (all []conversation) {
	for _, info := range codons.Conversations(w.system) {
		i := slices.IndexFunc(w.started, func(a *codons.Asked) bool { return a.Conversation() == info.ID })
		if i >= 0 && info.Role == machine.Initiator {
			all = append(all, conversation{i, info.State})
		}
	}
	return all
}

// stopAgent stops one of the two.
func (w *world) stopAgent(ctx context.Context, chance *rand.Rand) {
	id := []performatives.AgentID{askerID, responderID}[chance.IntN(2)]
	if err := w.system.StopAgent(ctx, id); err != nil {
		w.fault("the agent %s did not stop: %v", id, err)
	}
}

// settle waits until all conversations have ended, and what the network holds back has
// arrived.
func (w *world) settle() {
	for range 60 {
		time.Sleep(time.Minute) //nolint:forbidigo // the clock of a synctest bubble
		synctest.Wait()
		if n := w.system.Counts(); n.Open == 0 && n.Working == 0 {
			break
		}
	}
	time.Sleep(2 * longWay) //nolint:forbidigo // the clock of a synctest bubble
	synctest.Wait()
	for _, info := range codons.Conversations(w.system) {
		w.faultOf(info.ID, "the %s is still %s, an hour after the last event", info.Role, info.State)
	}
	if n := w.system.Counts(); n.Open > 0 || n.Working > 0 {
		w.fault("%d conversations and %d jobs are under way at the end", n.Open, n.Working)
	}
}

// stop stops the system, whatever is under way.
func (w *world) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, cancel := range w.cancels {
		cancel()
	}
	if err := w.system.Stop(ctx); err != nil {
		w.fault("the system did not stop: %v", err)
	}
	if err := w.pool.Close(ctx); err != nil {
		w.fault("the workers did not stop: %v", err)
	}
	w.events.Close()
	time.Sleep(time.Minute) //nolint:forbidigo // the clock of a synctest bubble; the engine has a goroutine that waits for a timer
}
