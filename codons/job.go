package codons

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Turn is the argument of a job: the message that started the job, and its payload as a P.
type Turn[P any] struct {
	Content P                      // Content is the payload of Message.
	Message *performatives.Message // Message has the sender and the deadline. Nil for a job of the initiator that no message started.
	Agent   actors.Self            // Agent is the handle of the agent that runs the job, for further conversations.
	say     func(Command) error
}

// Say gives the conversation a command of the job's Says, with the content of the message that
// the command makes the table send, while the job goes on. It blocks while 16 earlier commands
// are not handled. The error is the cause of the end of the conversation, or names a command
// that is none of the Says. Safe for concurrent use.
func (t Turn[P]) Say(command string, content any) error { return t.say(Command{command, content}) }

// AnswerJob is the code of one job of the responder. [Method] makes it.
type AnswerJob struct {
	name  string
	role  reflect.Type
	plays func(actors.Agent) bool
	reads reflect.Type // the type of Turn.Content
	given bool         // reports whether do is not nil
	do    func(actors.Agent) func(context.Context, *Handler) Command
}

// Method returns the code of the responder's job of that name, for agents that implement A. do
// is usually a method expression, such as Reviewer.Review. It runs on a goroutine of its
// own, within the agent's limit ([TaskLimiter]), and may access the agent's fields only by
// [actors.Self.Do]. Its ctx ends on CANCEL, at the deadline, or when the agent stops;
// context.Cause returns the reason.
//
// do returns the last command of the job, with the content of the message that the command
// makes the table send. An error refuses the request where the job's Ends allow it, and
// fails it otherwise. The peer gets the code and the text of a [*performatives.Refusal], and
// only a code for any other error, which is logged. A panic fails the request. A payload that
// is no P is answered with NOT_UNDERSTOOD, and do is not called.
func Method[A actors.Agent, P any](name string, do func(A, context.Context, Turn[P]) (Command, error)) AnswerJob {
	return AnswerJob{
		name: name, role: reflect.TypeFor[A](), reads: reflect.TypeFor[P](), given: do != nil,
		plays: func(a actors.Agent) bool { _, ok := a.(A); return ok },
		do: func(agent actors.Agent) func(context.Context, *Handler) Command {
			role, _ := agent.(A)
			return func(ctx context.Context, h *Handler) Command {
				content, err := performatives.PayloadAs[P](h.Message())
				if err != nil {
					return h.turnDown(name, err)
				}
				say := func(c Command) error {
					if err := h.conversation.codon.checkSays(machine.Responder, name, c.Name); err != nil {
						return err
					}
					return h.Say(c)
				}
				command, err := do(role, ctx, Turn[P]{content, h.Message(), h.Agent(), say})
				if err != nil {
					return h.turnDown(name, err)
				}
				return h.checked(name, command)
			}
		},
	}
}

// turnDown returns the command for the error of a job: that of [TurnDown] where the job may end
// with it, else CommandFail.
func (h *Handler) turnDown(job string, err error) Command {
	ends := h.conversation.codon.job(machine.Responder, job).Ends
	if c := TurnDown(err); slices.Contains(ends, c.Name) {
		h.Failed(err)
		return c
	}
	return h.Fail(err)
}

// checked returns the last command of a job, or CommandFail when it is none of the job's Ends.
func (h *Handler) checked(job string, c Command) Command {
	if ends := h.conversation.codon.job(machine.Responder, job).Ends; !slices.Contains(ends, c.Name) {
		h.Failed(wrongEnd(job, h.conversation.Protocol(), c.Name, ends))
		return invalidAnswer
	}
	return c
}

// ErrInvalidAnswer is wrapped by the error of a job whose last command the table does not allow, or
// whose answer is not valid. The conversation fails, or is withdrawn if the job is the initiator's.
var ErrInvalidAnswer = errors.New("codons: invalid answer")

func wrongEnd(job, codon, command string, ends []string) error {
	return fmt.Errorf("%w: the job %s of %s ended with the command %q, and its Ends in the table are %q", ErrInvalidAnswer, job, codon, command, ends)
}

// invalidAnswer is the last command in place of one that is not valid. The initiator gets an
// answer at once, and does not wait for its deadline.
var invalidAnswer = Command{standard.CommandFail, performatives.Failure{ErrorCode: performatives.CodeInternal, ErrorText: "the handler returned no valid answer"}}

// job returns the table's job of that name, or the zero Job.
func (c *Codon) job(role machine.Role, name string) machine.Job {
	for _, j := range c.Table.Jobs {
		if j.Role == role && j.Name == name {
			return j
		}
	}
	return machine.Job{}
}

// jobs returns the table's jobs of a role.
func (c *Codon) jobs(role machine.Role) []machine.Job {
	return slices.DeleteFunc(slices.Clone(c.Table.Jobs), func(j machine.Job) bool { return j.Role != role })
}

// Answer returns the role of the responder. jobs has one entry for each job of the responder
// in the table, all of them for the same interface: the agents that implement it answer the
// codon. Answer panics when a job is missing, unknown, given twice or without a function, or
// reads another payload than the table starts it with.
func (c *Codon) Answer(jobs ...AnswerJob) *Service {
	if err := c.checkJobs(jobs); err != nil {
		panic(err)
	}
	first := jobs[0]
	r := &Service{
		codon: c, iface: first.role,
		bind: func(self actors.Self, agent actors.Agent, t Times) actors.Responder {
			if !first.plays(agent) {
				return nil
			}
			return NewResponder(self, agent, ResponderOptions{Codon: c, Times: t, Works: c.works(agent, jobs)})
		},
	}
	r.opens = func(m *performatives.Message) bool { return c.OpenedBy(m, false) || c.openedByType(m) }
	return r
}

// checkJobs returns the mistakes for which Answer panics.
func (c *Codon) checkJobs(jobs []AnswerJob) error {
	if c.machine == nil || len(jobs) == 0 {
		return fmt.Errorf("codons: %s: Answer needs a table with rows, and at least one job", c.Name())
	}
	var errs []error
	given := map[string]bool{}
	for _, j := range jobs {
		switch {
		case c.job(machine.Responder, j.name).Name == "":
			errs = append(errs, fmt.Errorf("codons: %s: the responder has no job %q: want one of %q", c.Name(), j.name, namesOf(c.jobs(machine.Responder))))
		case !j.given:
			errs = append(errs, fmt.Errorf("codons: %s: the function of the job %q is nil", c.Name(), j.name))
		case given[j.name]:
			errs = append(errs, fmt.Errorf("codons: %s: two jobs are called %q", c.Name(), j.name))
		case j.role != jobs[0].role:
			errs = append(errs, fmt.Errorf("codons: %s: the job %q is of %s, and %q of %s: one interface has all", c.Name(), j.name, j.role, jobs[0].name, jobs[0].role))
		}
		given[j.name] = true
		errs = append(errs, c.checkReads(machine.Responder, j.name, j.reads))
	}
	for _, j := range c.jobs(machine.Responder) {
		if j.Name == standard.JobChildren {
			continue
		}
		if !given[j.Name] {
			errs = append(errs, fmt.Errorf("codons: %s: the job %q of the responder has no code: give it by codons.Method", c.Name(), j.Name))
		}
		if !slices.Contains(j.Ends, standard.CommandFail) {
			errs = append(errs, fmt.Errorf("codons: %s: the job %q cannot end with %q, as it does by an error or a panic; Standard rows add that", c.Name(), j.Name, standard.CommandFail))
		}
	}
	return errors.Join(errs...)
}

// checkReads returns an error for a job whose Turn has a content that no message which starts
// the job can have: each run would end as not understood.
func (c *Codon) checkReads(role machine.Role, job string, reads reflect.Type) error {
	var types []string
	for _, r := range c.Table.Rows {
		if r.Role != role || !slices.Contains(r.Do, machine.Run(job)) {
			continue
		}
		for _, on := range r.On {
			if on.Kind != machine.KindReceive {
				return nil
			}
			name := c.typeOf(machine.SendTagged(on.Act, on.Name))
			if name == "" || c.Messages[name].Payload.AssignableTo(reads) || reads == reflect.TypeFor[performatives.Raw]() {
				return nil
			}
			types = append(types, fmt.Sprintf("%s with %s", name, c.Messages[name].Payload))
		}
	}
	if types == nil {
		return nil
	}
	return fmt.Errorf("codons: %s: the job %q reads a Turn[%s], but %s starts it", c.Name(), job, reads, strings.Join(types, " or "))
}

// checkSays returns an error for a command that is none of those which a job gives while it
// goes on.
func (c *Codon) checkSays(role machine.Role, job, command string) error {
	if says := c.job(role, job).Says; !slices.Contains(says, command) {
		return fmt.Errorf("codons: %s: the job %q cannot say %q: its Says in the table are %q", c.Name(), job, command, says)
	}
	return nil
}

// namesOf returns the names of jobs.
func namesOf(jobs []machine.Job) []string {
	names := make([]string, len(jobs))
	for i, j := range jobs {
		names[i] = j.Name
	}
	return names
}

// works returns the jobs of one agent.
func (c *Codon) works(agent actors.Agent, jobs []AnswerJob) []Work {
	works := make([]Work, len(jobs))
	for i, j := range jobs {
		do := j.do(agent)
		works[i] = Work{
			Job: j.name, Considers: slices.Contains(c.job(machine.Responder, j.name).Ends, standard.CommandRefuse),
			Do: func(Side) func(context.Context, *Handler) Command { return do },
		}
	}
	return works
}

// openedByType reports whether m, which names no protocol, has a message type of the
// codon that opens a conversation.
func (c *Codon) openedByType(m *performatives.Message) bool {
	return m.Protocol() == "" && m.MessageType() != "" && slices.Contains(c.openings(), m.MessageType())
}

// openings returns the message types that open a conversation, sorted.
func (c *Codon) openings() []string {
	if c.machine == nil {
		return nil
	}
	var names []string
	for _, r := range c.Table.Rows {
		if r.Role != machine.Initiator || !slices.Contains(r.From, machine.Idle) {
			continue
		}
		for _, f := range r.Do {
			if name := c.typeOf(f); f.Kind == machine.EffectSend && name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}
