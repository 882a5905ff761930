package codons

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Definition is the input of [Define]: the parts of a codon. Define does not copy the slices
// and maps, so they must not be changed afterwards.
type Definition struct {
	// Table is the state machine of both roles. A codon that is composed of other codons has
	// no Rows, but it has a Name, Title, Purpose and Source.
	Table machine.Table

	// Standard names the groups of rows that [standard.Rows.Complete] adds to the table: cancel,
	// retry, deadline and misread messages. Zero means all of them.
	Standard standard.Rows

	// Complete says that the table has all its rows: Define adds none.
	Complete bool

	// Messages are the application's message types. Nil means that the codon has none: its
	// acts are told apart by their performatives alone.
	Messages Messages

	// Coordination documents how one agent leads several of these conversations at a time.
	// Nil for a codon between two agents.
	Coordination interface{ Markdown() string }

	// Uses are the codons of which this one opens conversations. A codon without rows needs
	// at least one.
	Uses []Use

	// Ends documents the end of a codon without rows: sentences, the last one without its
	// full stop.
	Ends string

	// Payloads documents the payloads of the acts that the table sends, at least one for each
	// act. FAILURE, REFUSE, NOT_UNDERSTOOD, CANCEL and the receipt need none: their payloads are
	// the same in all codons.
	Payloads []Payload

	// Commands has a value of the content's type for each command whose content is no payload that
	// Payloads names, by name; nil for a command without content. [machine.CommandStart],
	// [standard.CommandCancel], [standard.CommandStop], [standard.CommandRefuse],
	// [standard.CommandNotUnderstood] and [standard.CommandFail] need no entry. A command without
	// an entry takes content of any type, which is [performatives.Raw] when it was read from JSON.
	Commands map[string]any

	// Outcomes documents what the caller gets when the initiator ends in a state, where the
	// text that all codons share ([Codon.Outcome]) does not fit. Each is a sentence without
	// its full stop.
	Outcomes map[machine.State]string

	// Example is the name of the Go example whose code the documentation shows, such as
	// "ExampleDelegate". Empty for none.
	Example string

	// Tag returns the tag of a received message for [machine.ReceiveTagged], empty for none.
	// It must be pure. It need not tag the receipt for a CANCEL, which refers to the CANCEL.
	// Nil where no row of the table has a tag of its own.
	Tag func(*performatives.Message) string

	// InitiatorSide makes the initiator's side for [Rebuild] and [NewSolo], without caller or
	// jobs. Nil means an [InitiatorSide] without data of its own.
	InitiatorSide func() Side

	// ResponderSide makes the responder's side of one conversation, which embeds r. It runs on
	// the agent's actor, and for [Rebuild], where r has no agent. Nil means that r itself is
	// the side.
	ResponderSide func(r *ResponderSide) Side

	// Variant returns the codon of a record by its first event, for a codon whose table
	// depends on that: a saga's depends on the number of steps. The content of a command
	// that this codon does not have is [performatives.Raw] where the record was JSON. Nil,
	// and a nil codon, mean this codon.
	Variant func(first Input) *Codon
}

// Codon is a named protocol: a table that is ready to run, with its documentation.
// [Define] makes it. It never changes, so it is safe for concurrent use.
type Codon struct {
	Definition
	own      machine.Table                           // as in the definition, without standard rows
	machine  *machine.Machine                        // nil for a codon that is composed of others
	types    map[performatives.Performative][]string // the names of the message types of an act, sorted
	contents map[string]reflect.Type                 // of the commands with a registered content; nil for none
	repeats  func() map[repeat]bool                  // what the rows of the terminal states repeat
	paths    paths                                   // of its sides

	responderSide func(r *ResponderSide) Side // that of the definition, or r itself
}

// Define makes a codon. The error names the codon and the fields of d that are wrong. It joins the
// faults of the table, and wraps an [*standard.AmbiguityError] for each state in which the standard
// row depends on the way into the state.
func Define(d Definition) (*Codon, error) {
	if d.Table.Name == "" {
		return nil, errors.New("codons: a codon needs a name: Definition.Table.Name is empty")
	}
	c := &Codon{Definition: d, own: d.Table}
	if len(d.Table.Rows) == 0 {
		if len(d.Uses) == 0 {
			return nil, fmt.Errorf("codons: %s has neither rows nor other codons: Definition.Table.Rows and Definition.Uses are empty", d.Table.Name)
		}
		return c, nil
	}
	if performatives.CheckMessageType(d.Table.Name) != nil {
		return nil, fmt.Errorf("codons: Definition.Table.Name: want ASCII letters, digits and _ - . : / with a letter or digit first, got %q", d.Table.Name)
	}
	if err := c.define(d); err != nil {
		return nil, fmt.Errorf("codons: %s: %w", d.Table.Name, err)
	}
	return c, nil
}

// define completes and checks the codon of a definition. The errors name the fields of d.
func (c *Codon) define(d Definition) error {
	err := d.checkOwn()
	if err != nil {
		return err
	}
	if c.responderSide = d.ResponderSide; c.responderSide == nil {
		c.responderSide = func(r *ResponderSide) Side { return r }
	}
	if !d.Complete {
		if c.Table, err = cmp.Or(d.Standard, standard.All).Complete(d.Table); err != nil {
			return inDefinition(err, 0)
		}
	}
	if err := d.Messages.validate(); err != nil {
		return err
	}
	for _, name := range d.Messages.names() {
		if c.types == nil {
			c.types = make(map[performatives.Performative][]string)
		}
		act := d.Messages[name].Act
		c.types[act] = append(c.types[act], name)
	}
	if c.machine, err = c.Table.Compile(); err != nil {
		return inDefinition(err, len(d.Table.Rows))
	}
	c.repeats = sync.OnceValue(func() map[repeat]bool { return repeatsOf(c.Table) })
	if err := c.checkTimers(d.Table.Timers); err != nil {
		return err
	}
	if c.contents, err = c.contentTypes(); err != nil {
		return err
	}
	return c.checkContents()
}

// MustDefine is [Define] for codons that are part of the program. It panics on an error,
// which is a programmer's mistake.
func MustDefine(d Definition) *Codon {
	c, err := Define(d)
	if err != nil {
		panic(err)
	}
	return c
}

// Name returns the codon's name, which its messages carry as their Protocol.
func (c *Codon) Name() string { return c.Table.Name }

// Own returns the table of the definition, without the rows and pairs that [standard.Rows.Complete]
// has added. It must not be changed.
func (c *Codon) Own() machine.Table { return c.own }

// Machine returns the compiled table, nil for a codon that is composed of others.
func (c *Codon) Machine() *machine.Machine { return c.machine }

// OpenedBy reports whether m opens a conversation of the codon at the responder: it is an
// opening act, or a CANCEL that has overtaken one. A message that names no protocol opens
// one only where usual is true: the codon is the usual one for its act.
func (c *Codon) OpenedBy(m *performatives.Message, usual bool) bool {
	switch m.Protocol() {
	case c.Name():
		return m.Performative() == performatives.ActCancel || c.takesFirst(m)
	case "":
		return usual && m.MessageType() == "" && c.machine.Opens(m.Performative())
	}
	return false
}

// takesFirst reports whether the responder has a row for m as the first message of a conversation.
// A message without a message type may be of any type that opens one.
func (c *Codon) takesFirst(m *performatives.Message) bool {
	tag := c.TagOf(m)
	if tag == "" {
		return c.machine.Opens(m.Performative())
	}
	t := c.machine.Find(machine.Responder, machine.Idle, machine.ReceiveTagged(m.Performative(), tag))
	return t != nil && !t.Wildcard
}

// newSide returns a new side of a role without agent, caller or jobs, for [Rebuild].
func (c *Codon) newSide(role machine.Role) Side {
	switch {
	case role == machine.Responder:
		return c.responderSide(&ResponderSide{})
	case c.InitiatorSide != nil:
		return c.InitiatorSide()
	}
	return &asking[any]{}
}

// variant returns the codon of a record that begins with an event.
func (c *Codon) variant(first Input) *Codon {
	if c.Variant != nil {
		if v := c.Variant(first); v != nil {
			return v
		}
	}
	return c
}

// Use documents the conversations of another codon that a codon opens.
type Use struct {
	Codon string // Codon is the name of the other codon.
	For   string // For is what a conversation is for and when it begins, without a full stop.
}

// Payload documents the payload of one act of a codon.
type Payload struct {
	Act  performatives.Performative // Act is the performative that carries the payload.
	Type any                        // Type is a value of the payload's type; nil for an act without a payload of note.
	Doc  string                     // Doc is the purpose of the act in this codon, without a full stop.

	// Commands are the commands whose content it is. Their content is then checked against Type.
	Commands []string
}

// sharedPayloads returns the payloads that are the same in all codons.
func (c *Codon) sharedPayloads() []Payload {
	all := []Payload{
		{Act: performatives.ActCancel, Type: performatives.Cancel{}, Doc: "withdraws the request"},
		{Act: performatives.ActFailure, Type: performatives.Failure{}, Doc: "the request was taken on or withdrawn, and did not succeed"},
		{Act: performatives.ActRefuse, Type: performatives.Refuse{}, Doc: "the request will not be done, and why"},
		{Act: performatives.ActNotUnderstood, Type: performatives.NotUnderstood{}, Doc: "the message was not understood, and why"},
	}
	if c.tagsReceipts() {
		all = append(all, Payload{Act: performatives.ActInform, Type: performatives.Receipt{}, Doc: "the receipt for a CANCEL"})
	}
	return all
}

// Sends returns the payloads of the codon's acts, in the order in which the table first
// sends the acts: those of Definition.Payloads, else those that all codons share. The receipt comes
// after any other payload of an INFORM. The slice is the caller's.
func (c *Codon) Sends() []Payload {
	var all []Payload
	for _, act := range c.Acts() {
		own := payloadsOf(act, c.Payloads)
		if len(own) == 0 || act == performatives.ActInform {
			own = append(own, payloadsOf(act, c.sharedPayloads())...)
		}
		all = append(all, own...)
	}
	return all
}

// Acts returns the acts that rows of the table send, each once, in the order of the rows. It
// leaves out repeated messages and the refusals of unexpected messages. The slice is the
// caller's.
func (c *Codon) Acts() []performatives.Performative {
	var acts []performatives.Performative
	seen := map[performatives.Performative]bool{}
	for _, row := range c.Table.Rows {
		for _, e := range row.Do {
			if e.Kind == machine.EffectSend && !seen[e.Act] {
				seen[e.Act] = true
				acts = append(acts, e.Act)
			}
		}
	}
	return acts
}

// tagsReceipts reports whether the table tells the receipt, the INFORM that answers a CANCEL,
// from any other INFORM.
func (c *Codon) tagsReceipts() bool { return c.Table.Does(machine.Responder, standard.SendReceipt) }

// payloadsOf returns the payloads of an act among those of several acts. The slice is the caller's.
func payloadsOf(act performatives.Performative, of []Payload) []Payload {
	return slices.DeleteFunc(slices.Clone(of), func(p Payload) bool { return p.Act != act })
}

// outcomes documents the [EndError] of the terminal states that no act of the peer brings
// about. They are the same in all codons.
var outcomes = map[machine.State]string{
	standard.StateTimedOut:  "an `EndError` with the code `timeout`, which is context.DeadlineExceeded too unless the caller's context ended otherwise",
	standard.StateCancelled: "an `EndError` with the code `canceled`",
	standard.StateMisread:   "an `EndError` with what the caller's agent has said in NOT_UNDERSTOOD: the code `unexpected_act`, or `invalid_payload_structure` for an unknown message type",
	standard.StateAbandoned: "an `EndError` with the code `agent_stopped`, and the end of the caller's context if that was why",
}

// outcomeOfOwnEnd documents an end of the table's own, where [Codon.Ask] asks.
const outcomeOfOwnEnd = "no error: the `End` has this state and the last message"

// outcomeOfPeer documents the EndError of any other terminal state.
const outcomeOfPeer = "an `EndError` with the code and the text that the peer gave"

// Outcome returns the documentation of what the caller gets when the initiator ends in a
// terminal state other than the good end of the codon.
func (c *Codon) Outcome(end machine.State) string {
	if text, ok := c.Outcomes[end]; ok {
		return text
	}
	if text, ok := outcomes[end]; ok {
		return text
	}
	if !standard.IsEnd(end) && c.InitiatorSide == nil {
		return outcomeOfOwnEnd
	}
	return outcomeOfPeer
}
