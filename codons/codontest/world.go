package codontest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
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
	jobs
	options
	codons map[string]*codons.Codon // those whose conversations are checked, by name
	*systemtest.World
	network network
	asker   actors.Self
	peers   []performatives.AgentID
	events  *events.Subscription
	started []*codons.Asked
	calls   []*call
	cancels []context.CancelFunc // of started, or of calls
	faults  []string
	about   map[performatives.ConversationID]bool // conversations with faults

	answered map[pairKey]bool                 // those with a message that the runtime answered
	sent     map[performatives.MessageID]bool // by a side of a conversation
	unjudged int                              // conversations whose pair of ends was not checked
}

// call is one run of the function of [Calling].
type call struct {
	done atomic.Bool
	err  error // once done
}

// newWorld starts the system and the agents. It records the events from the beginning.
func newWorld(ctx context.Context, c *codons.Codon, o options, seed uint64) (*world, error) {
	w := &world{
		jobs: jobs{c, o.contents, dice{seed}}, options: o, codons: map[string]*codons.Codon{},
		about: map[performatives.ConversationID]bool{}, answered: map[pairKey]bool{}, sent: map[performatives.MessageID]bool{},
	}
	w.World = systemtest.New(w.fault, systemtest.DeadLetter) // agents stop
	if w.agents == nil {
		Agent(w.role(), func() actors.Agent { return scripted{&w.jobs} })(&w.options)
	}
	protocols, err := w.protocols()
	if err != nil {
		return nil, err
	}
	w.network = network{dice: w.dice, codons: w.codons, garbles: w.dice.of("garbles").IntN(2) == 0}
	w.Net.Set(systemtest.Fault{Left: -1, Do: w.network.disturb})
	if err := w.Start(ctx, actors.Options{Protocols: protocols, Stamper: &stamper{}}); err != nil {
		return nil, err
	}
	w.events = w.Events.Subscribe(events.SubscribeOptions{Capacity: eventQueue, Kinds: []events.Kind{
		lifecycle.KindTransition, codons.KindRecorded, lifecycle.KindJobFailed, events.KindMessageRefused, events.KindMessageDeadLettered,
	}})
	if w.asker, err = w.spawn(ctx, askerID, client{}); err != nil {
		return w, err
	}
	err = w.spawnPeers(ctx)
	return w, err
}

// protocols returns the roles of all agents, each once, and notes their codons. The error says
// that no role is of the codon under test.
func (w *world) protocols() ([]actors.Protocol, error) {
	var all []actors.Protocol
	for _, a := range w.agents {
		for _, role := range a.roles {
			if w.codons[role.Name()] == nil {
				w.codons[role.Name()] = role.Codon()
				all = append(all, role)
			}
		}
	}
	switch {
	case w.codons[w.codon.Name()] != nil || w.codon.Machine() == nil:
	case !w.codon.Table.Has(machine.Responder): // its conversations have no peer; their records are checked
		w.codons[w.codon.Name()] = w.codon
	default:
		return nil, fmt.Errorf("codontest: the agents answer %q, and none %s: give its role to the option Agent or Agents", slices.Sorted(maps.Keys(w.codons)), w.codon.Name())
	}
	return all, nil
}

func (w *world) spawnPeers(ctx context.Context) error {
	n := 0
	for _, a := range w.agents {
		n += a.n
	}
	w.peers = ids(n)
	n = 0
	for _, a := range w.agents {
		for range a.n {
			if _, err := w.spawn(ctx, w.peers[n], a.create(&Script{dice: w.dice, peers: w.peers})); err != nil {
				return err
			}
			n++
		}
	}
	return nil
}

// client is the agent that asks.
type client struct{}

// Describe returns no capabilities.
func (client) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (w *world) spawn(ctx context.Context, id performatives.AgentID, agent actors.Agent) (actors.Self, error) {
	return w.Spawn(ctx, actors.Spec{ID: id, New: func() actors.Agent { return agent }, Hidden: true})
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
	loses := w.dice.of("loss").IntN(3 * moments) // in two of three seeds, no peer is lost
	for i := 0; i < moments && len(w.faults) == 0; i++ {
		time.Sleep(upTo(chance, time.Minute)) //nolint:forbidigo // the clock of a synctest bubble
		synctest.Wait()
		switch {
		case i == stops:
			w.stopAgent(ctx, chance)
		case i == loses:
			w.losePeer(chance)
		case len(w.cancels) < conversations && chance.IntN(2) == 0:
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
	if w.call != nil {
		w.beginCall(ctx, cancel)
		return
	}
	opts := append(w.jobs.asking(), w.options.asking...)
	if n := len(w.started); n%2 == 1 { // its id is not that of its first request
		opts = append(opts, codons.WithConversation(performatives.ConversationID("named "+strconv.Itoa(n))))
	}
	asked, err := w.codon.Start(ctx, w.asker, responderID, w.content(chance, machine.Initiator, machine.CommandStart), opts...)
	if err != nil {
		cancel()
		if _, runs := w.Lookup(askerID); runs {
			w.fault("the conversation %d did not begin: %v", len(w.started), err)
		}
		return
	}
	w.started, w.cancels = append(w.started, asked), append(w.cancels, cancel)
}

// beginCall runs the function of [Calling] on a goroutine of its own.
func (w *world) beginCall(ctx context.Context, cancel context.CancelFunc) {
	c := &call{}
	s := &Script{dice: w.dice, key: strconv.Itoa(len(w.calls)), self: w.asker, peers: w.peers}
	w.calls, w.cancels = append(w.calls, c), append(w.cancels, cancel)
	go func() {
		defer cancel()
		c.err = w.call(ctx, s)
		c.done.Store(true)
	}()
}

// withdraw cancels a conversation, or a call, that is under way.
func (w *world) withdraw(chance *rand.Rand) {
	live := w.callsUnderWay()
	for _, c := range w.live() {
		live = append(live, c.index)
	}
	if len(live) > 0 {
		w.cancels[live[chance.IntN(len(live))]]()
	}
}

// callsUnderWay returns the indexes of the calls that have not returned.
func (w *world) callsUnderWay() (all []int) {
	for i, c := range w.calls {
		if !c.done.Load() {
			all = append(all, i)
		}
	}
	return all
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
	for _, info := range codons.Conversations(w.System) {
		i := slices.IndexFunc(w.started, func(a *codons.Asked) bool { return a.Conversation() == info.ID })
		if i >= 0 && info.Role == machine.Initiator {
			all = append(all, conversation{i, info.State})
		}
	}
	return all
}

// stopAgent stops one of the agents.
func (w *world) stopAgent(ctx context.Context, chance *rand.Rand) {
	all := append([]performatives.AgentID{askerID}, w.peers...)
	id := all[chance.IntN(len(all))]
	if err := w.StopAgent(ctx, id); err != nil {
		w.fault("the agent %s did not stop: %v", id, err)
	}
}

// losePeer has the conversations with one of the agents lose it. The agent runs on, and does not
// notice.
func (w *world) losePeer(chance *rand.Rand) {
	all := append([]performatives.AgentID{askerID}, w.peers...)
	w.LosePeers(performatives.CodeDisconnected, all[chance.IntN(len(all))])
}

// settle waits until all conversations have ended, and what the network holds back has
// arrived.
func (w *world) settle() {
	for range 60 {
		time.Sleep(time.Minute) //nolint:forbidigo // the clock of a synctest bubble
		synctest.Wait()
		if n := w.Counts(); n.Open == 0 && n.Working == 0 && len(w.callsUnderWay()) == 0 {
			break
		}
	}
	time.Sleep(2 * longWay) //nolint:forbidigo // the clock of a synctest bubble
	synctest.Wait()
	for _, info := range codons.Conversations(w.System) {
		w.faultOf(info.ID, "the %s is still %s, an hour after the last event", info.Role, info.State)
	}
	for _, i := range w.callsUnderWay() {
		w.fault("call %d of the option Calling has not returned, an hour after the last event", i)
	}
	if n := w.Counts(); n.Open > 0 || n.Working > 0 {
		w.fault("%d conversations and %d jobs are under way at the end", n.Open, n.Working)
	}
}

// stop stops the system, whatever is under way, and adds its problems to the faults.
func (w *world) stop(ctx context.Context) {
	for _, cancel := range w.cancels {
		cancel()
	}
	w.End(ctx, w.Stop)
	w.events.Close()
}
