package codons

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// checkOwn returns the faults of the definition that its own rows show, before
// [standard.Rows.Complete] adds others. It returns the first fault of the header or the opening
// alone, because such a fault causes many others.
func (d *Definition) checkOwn() error {
	switch {
	case len(d.Table.Terminal) == 0:
		return errors.New("Definition.Table.Terminal is empty: name the states in which the conversation has ended, the good end first")
	case d.Complete && d.Standard != 0:
		return errors.New("Definition.Complete says that the table has all its rows, and Definition.Standard names groups of rows to add: remove one of them")
	case d.Complete && len(d.Table.Live) == 0 && slices.ContainsFunc(d.Table.Rows, d.leadsOn):
		return errors.New("Definition.Complete says that the table has all its rows, and Definition.Table.Live is empty: remove Complete, or declare the live states and write all rows")
	case d.Standard&^standard.All != 0:
		return fmt.Errorf("Definition.Standard: %d is no group of rows: use some of standard.Cancel, standard.Retry, standard.Deadline and standard.Misread, or zero for all of them", d.Standard&^standard.All)
	}
	if err := d.checkOpening(); err != nil || d.Complete {
		return err
	}
	return d.checkJobs()
}

// leadsOn reports whether a row leads to a state that is not terminal.
func (d *Definition) leadsOn(r machine.Row) bool {
	return r.To != "" && !slices.Contains(d.Table.Terminal, r.To)
}

// checkOpening checks that the initiator's row for [machine.CommandStart] sends a message, and that
// the responder has a row for it. A table without a responder sends nothing.
func (d *Definition) checkOpening() error {
	start := slices.IndexFunc(d.Table.Rows, func(r machine.Row) bool {
		return r.Role == machine.Initiator && slices.Contains(r.From, machine.Idle) && slices.Contains(r.On, machine.Commanded(machine.CommandStart))
	})
	if start < 0 {
		return errors.New(`Definition.Table.Rows: no row opens the conversation: write one such as machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).Goto("waiting", machine.Send(performatives.ActRequest))`)
	}
	if !d.Table.Has(machine.Responder) {
		return nil
	}
	opening := slices.IndexFunc(d.Table.Rows[start].Do, func(f machine.Effect) bool { return f.Kind == machine.EffectSend })
	if opening < 0 {
		return fmt.Errorf("Definition.Table.Rows[%d] (%s): it opens the conversation and sends nothing: add machine.Send of the opening act", start, d.Table.Rows[start])
	}
	if !slices.ContainsFunc(d.Table.Rows, func(r machine.Row) bool { return r.Role == machine.Responder && slices.Contains(r.From, machine.Idle) }) {
		act := d.Table.Rows[start].Do[opening].Act
		return fmt.Errorf("Definition.Table.Rows: no row of the responder receives the opening %s: write one that begins with machine.Answers(machine.Idle).When(machine.Receive(…))", act)
	}
	return nil
}

// checkTimers checks the timers of the complete table: their number, and that something sets the
// duration of each that is not a standard one.
func (c *Codon) checkTimers(own []machine.Timer) error {
	var errs []error
	for i, t := range own {
		side := t.Role == machine.Responder && c.ResponderSide != nil || t.Role == machine.Initiator && c.InitiatorSide != nil
		if !c.Complete && t.After <= 0 && !side && !standard.IsTimer(t.Name) {
			errs = append(errs, fmt.Errorf("Definition.Table.Timers[%d] (%s of the %s): After is %s: want the time after which it expires", i, t.Name, t.Role, t.After))
		}
	}
	for _, role := range machine.Roles() {
		var names []string
		for _, t := range c.Table.Timers {
			if t.Role == role {
				names = append(names, t.Name)
			}
		}
		if len(names) > MaxTimers {
			errs = append(errs, fmt.Errorf("Definition.Table.Timers: the %s has %d timers with the standard ones, %q: want at most %d", role, len(names), names, MaxTimers))
		}
	}
	return errors.Join(errs...)
}

// inDefinition returns the fault of a row or table with the field of the definition in place of the
// table's name, which [Define] names once.
func inDefinition(err error, own int) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return definitionFault(err, own)
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		errs = append(errs, definitionFault(e, own))
	}
	return errors.Join(errs...)
}

func definitionFault(err error, own int) error {
	var row *machine.RowError
	var table *machine.TableError
	var ambiguous *standard.AmbiguityError
	switch {
	case errors.As(err, &row) && row.Index < own:
		return &fault{fmt.Sprintf("Definition.Table.Rows[%d] (%s): %s", row.Index, row.Row, row.Fault), err}
	case errors.As(err, &row):
		return &fault{fmt.Sprintf("Definition.Standard: its row for %s: %s", row.Row, row.Fault), err}
	case errors.As(err, &table):
		return &fault{"Definition.Table: " + table.Fault, err}
	case errors.As(err, &ambiguous):
		return &fault{"Definition.Table.Rows: " + ambiguous.Text(), err}
	}
	return err
}

// fault is a fault of a definition, which wraps that of its table.
type fault struct {
	text string
	err  error
}

func (f *fault) Error() string { return f.text }
func (f *fault) Unwrap() error { return f.err }

// checkJobs checks the jobs against the own rows: a standard row may take a command that no
// own row takes, and so hide a wrong name.
func (d *Definition) checkJobs() error {
	var errs []error
	for i, j := range d.Table.Jobs {
		if len(j.Ends) == 0 {
			errs = append(errs, fmt.Errorf("Definition.Table.Jobs[%d] (%s of the %s): Ends is empty: name the commands with which the job ends", i, j.Name, j.Role))
		}
		for _, name := range slices.Concat(j.Says, j.Ends) {
			_, standard := standardCommands[name]
			if standard || d.Table.Takes(j.Role, machine.Commanded(name)) {
				continue
			}
			errs = append(errs, fmt.Errorf("Definition.Table.Jobs[%d] (%s of the %s): no row of that role takes the command %q", i, j.Name, j.Role, name))
		}
	}
	for i, r := range d.Table.Rows {
		for _, f := range r.Do {
			declared := func(j machine.Job) bool { return j.Role == r.Role && j.Name == f.Name }
			if f.Kind == machine.EffectRun && !slices.ContainsFunc(d.Table.Jobs, declared) {
				errs = append(errs, fmt.Errorf("Definition.Table.Rows[%d] (%s): it runs %q, which Definition.Table.Jobs has not for the %s", i, r, f.Name, r.Role))
			}
		}
	}
	return errors.Join(errs...)
}

// checkContents checks the message types, commands, payloads and outcomes against the complete
// table.
func (c *Codon) checkContents() error {
	var errs []error
	for _, name := range c.Messages.names() {
		t := c.Messages[name]
		if fault := objectFault(t.Payload); fault != "" {
			errs = append(errs, fmt.Errorf("Definition.Messages[%q]: the payload type %s %s", name, t.Payload, fault))
		}
		if !c.sends(name) {
			errs = append(errs, fmt.Errorf("Definition.Messages[%q]: %s", name, c.unsent(name)))
		}
	}
	for i, r := range c.Table.Rows {
		for _, f := range r.Do {
			if f.Kind == machine.EffectSend && f.Name != "" && f.Name != standard.TagReceipt && c.Tag == nil && !slices.Contains(c.types[f.Act], f.Name) {
				errs = append(errs, fmt.Errorf("Definition.Table.Rows[%d] (%s): it sends %s as %q, which is no message type of Definition.Messages: want one of %q", i, r, f.Act, f.Name, c.types[f.Act]))
			}
			if name := c.typeOf(f); f.Kind == machine.EffectSend && name != "" {
				errs = append(errs, c.checkCommands(r, name))
			}
		}
	}
	for i, p := range c.Payloads {
		if !slices.Contains(c.Acts(), p.Act) {
			errs = append(errs, fmt.Errorf("Definition.Payloads[%d]: no row sends %s", i, p.Act))
		}
	}
	for s := range c.Outcomes {
		if !slices.Contains(c.Table.Terminal, s) {
			errs = append(errs, fmt.Errorf("Definition.Outcomes: %q is no terminal state: want one of %q", s, c.Table.Terminal))
		}
	}
	return errors.Join(errs...)
}

// sends reports whether a row sends a message type.
func (c *Codon) sends(name string) bool {
	return slices.ContainsFunc(c.Table.Rows, func(r machine.Row) bool {
		return slices.ContainsFunc(r.Do, func(f machine.Effect) bool { return f.Kind == machine.EffectSend && c.typeOf(f) == name })
	})
}

// unsent says why no row sends a message type, and what to change.
func (c *Codon) unsent(name string) string {
	act := c.Messages[name].Act
	if others := c.types[act]; len(others) > 1 && slices.Contains(c.Acts(), act) {
		return fmt.Sprintf("no row sends it: %s has the message types %q, so that each row names its own by machine.SendTagged and machine.ReceiveTagged", act, others)
	}
	return fmt.Sprintf("no row sends it: add a row with machine.Send of %s, or remove the message type", act)
}

// checkCommands checks the registered contents of a row's commands against the message type
// that the row sends.
func (c *Codon) checkCommands(r machine.Row, name string) error {
	for _, on := range r.On {
		own, ok := c.Commands[on.Name]
		if want := c.Messages[name].Payload; on.Kind == machine.KindCommand && ok && reflect.TypeOf(own) != want {
			return fmt.Errorf("Definition.Commands[%q] is %T: want %s, the payload of %s that it makes the table send", on.Name, own, want, name)
		}
	}
	return nil
}

// objectFault returns the reason why no value of t can travel as a JSON object, empty for none. It
// does not look at the members of t.
func objectFault(t reflect.Type) string {
	if t.Kind() == reflect.Pointer && objectFault(t.Elem()) == "" {
		return fmt.Sprintf("is a pointer: use %s", t.Elem())
	}
	if t.Kind() != reflect.Struct && t.Kind() != reflect.Map && t != reflect.TypeFor[performatives.Raw]() {
		return "is no JSON object: want a struct or a map"
	}
	return ""
}

// standardCommands are the contents of the commands that all tables share.
var standardCommands = map[string]any{
	machine.CommandStart:          nil,                     // the event has the opening act
	standard.CommandCancel:        performatives.Cancel{},  // none but that of Withdraw with ErrOperator
	standard.CommandStop:          performatives.Failure{}, // none but that of StopWork
	standard.CommandRefuse:        performatives.Refuse{},
	standard.CommandNotUnderstood: performatives.NotUnderstood{},
	standard.CommandMisread:       performatives.NotUnderstood{},
	standard.CommandFail:          performatives.Failure{},
}

// contentTypes returns the types of the contents of the table's commands. The error names a command
// that no row takes.
func (c *Codon) contentTypes() (map[string]reflect.Type, error) {
	types := make(map[string]reflect.Type, len(standardCommands)+len(c.Commands))
	for name, content := range standardCommands {
		types[name] = reflect.TypeOf(content)
	}
	var errs []error
	register := func(name string, content any) {
		if on := machine.Commanded(name); !c.Table.Takes(machine.Initiator, on) && !c.Table.Takes(machine.Responder, on) {
			errs = append(errs, fmt.Errorf("no row takes the command %q of Definition.Commands or Definition.Payloads", name))
		}
		types[name] = reflect.TypeOf(content)
	}
	for name, content := range c.Commands {
		register(name, content)
	}
	for _, p := range c.Payloads {
		for _, name := range p.Commands {
			register(name, p.Type)
		}
	}
	return types, errors.Join(errs...)
}

// checkContent returns an error for a command whose content is not of the registered
// type. No content passes for every type.
func (c *Codon) checkContent(m Command) error {
	want, ok := c.contents[m.Name]
	if !ok || m.Data == nil || reflect.TypeOf(m.Data) == want {
		return nil
	}
	if want == nil {
		return fmt.Errorf("codons: %s: the command %s has no content, got %T", c.Name(), m.Name, m.Data)
	}
	return fmt.Errorf("codons: %s: want %s as the content of the command %s, got %T", c.Name(), want, m.Name, m.Data)
}

// commanded returns the event of a command. A content that is not of the registered
// type is a programmer's mistake: it is logged, and the conversation fails, or is
// cancelled where the table has no failure.
func (c *Conversation) commanded(m Command, final bool) Input {
	err := c.codon.checkContent(m)
	if err != nil {
		c.agent.Logger().Error("command with another content than its codon registers", "conversation", string(c.key.ID), "command", m.Name, "err", err)
		m = Command{standard.CommandFail, performatives.Failure{ErrorCode: performatives.CodeInternal, ErrorText: performatives.CodeInternal.Traits().Text}}
		if !c.machine.Takes(c.at, machine.Commanded(standard.CommandFail)) {
			m = Command{Name: standard.CommandCancel}
		}
	}
	return Input{On: machine.Commanded(m.Name), Data: m.Data, Final: final}
}
