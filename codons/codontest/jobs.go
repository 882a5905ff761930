package codontest

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// longestJob is the longest time that a scripted job takes.
const longestJob = 2 * time.Minute

// jobs does the jobs of both roles: a job takes a while, says some of its commands and
// ends by one of its Ends, as the seed chooses.
type jobs struct {
	codon    *codons.Codon
	contents map[string][]any
	dice     dice
}

// scripted is the agent on either side.
type scripted struct{ *jobs }

// Describe returns no capabilities.
func (scripted) Describe() performatives.Capabilities { return performatives.Capabilities{} }

// role returns the answering side with a scripted job for each job of the table.
func (s *jobs) role() *codons.Service {
	var all []codons.AnswerJob
	for _, job := range s.codon.Table.Jobs {
		if job.Role == machine.Responder {
			all = append(all, codons.Method(job.Name, func(a scripted, ctx context.Context, t codons.Turn[any]) (codons.Command, error) {
				return a.do(ctx, job, t)
			}))
		}
	}
	return s.codon.Answer(all...)
}

// asking returns options with a scripted job for each job of the initiator.
func (s *jobs) asking() []codons.Option {
	var opts []codons.Option
	for _, job := range s.codon.Table.Jobs {
		if job.Role == machine.Initiator {
			opts = append(opts, codons.On(job.Name, func(ctx context.Context, t codons.Turn[any]) (codons.Command, error) {
				return s.do(ctx, job, t)
			}))
		}
	}
	return opts
}

// do does one job. When its context ends, it returns why, or ends all the same, because
// the last word of a job may come late.
func (s *jobs) do(ctx context.Context, job machine.Job, t codons.Turn[any]) (codons.Command, error) {
	chance := s.dice.of("job", job.Role.String(), job.Name, string(t.Message.ID()))
	if len(job.Says) > 0 {
		for range chance.IntN(3) {
			if err := pause(ctx, chance); err != nil {
				return codons.Command{}, err
			}
			command := job.Says[chance.IntN(len(job.Says))]
			if err := t.Say(command, s.content(chance, job.Role, command)); err != nil {
				return codons.Command{}, err
			}
		}
	}
	if err := pause(ctx, chance); err != nil && chance.IntN(2) == 0 {
		return codons.Command{}, err
	}
	return s.end(chance, job), nil
}

// pause waits for a while, mostly a short one.
func pause(ctx context.Context, chance *rand.Rand) error {
	select {
	case <-time.After(upTo(chance, longestJob)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end returns the last command of a job: in three of four cases one of the codon's own.
func (s *jobs) end(chance *rand.Rand, job machine.Job) codons.Command {
	own := slices.DeleteFunc(slices.Clone(job.Ends), standardEnd)
	ends := own
	if len(own) == 0 || chance.IntN(4) == 0 {
		ends = job.Ends
	}
	command := ends[chance.IntN(len(ends))]
	return codons.Command{Name: command, Data: s.content(chance, job.Role, command)}
}

func standardEnd(command string) bool {
	return command == standard.CommandRefuse || command == standard.CommandNotUnderstood || command == standard.CommandFail
}

// content returns the content of a command: one that [Content] names, or a zero value.
func (s *jobs) content(chance *rand.Rand, role machine.Role, command string) any {
	if given := s.contents[command]; len(given) > 0 {
		return given[chance.IntN(len(given))]
	}
	const text = "the script says so"
	switch command {
	case standard.CommandRefuse:
		return performatives.Refuse{ReasonCode: performatives.CodeUnauthorized, ReasonText: text}
	case standard.CommandNotUnderstood:
		return performatives.NotUnderstood{ReasonCode: performatives.CodeInvalidPayload, ReasonText: text}
	case standard.CommandFail:
		return performatives.Failure{ErrorCode: performatives.CodeFailed, ErrorText: text}
	}
	for _, row := range s.codon.Table.Rows {
		if row.Role == role && slices.Contains(row.On, machine.Commanded(command)) {
			for _, e := range row.Do {
				if e.Kind == machine.EffectSend {
					return s.zero(e)
				}
			}
		}
	}
	return nil
}

// zero returns the zero value of what an effect sends: of its message type, of the only
// one of its act, or of the codon's Payloads.
func (s *jobs) zero(e machine.Effect) any {
	if t, ok := s.codon.Messages[e.Name]; ok {
		return zeroOf(t.Payload)
	}
	for _, t := range s.codon.Messages {
		if t.Act == e.Act {
			return zeroOf(t.Payload)
		}
	}
	for _, p := range s.codon.Payloads {
		if p.Act == e.Act && p.Type != nil {
			return zeroOf(reflect.TypeOf(p.Type))
		}
	}
	return nil
}

func zeroOf(t reflect.Type) any {
	if t.Kind() == reflect.Map {
		return reflect.MakeMap(t).Interface()
	}
	return reflect.Zero(t).Interface()
}

// commands returns the commands that the table takes in a state from the initiator's agent:
// neither those of jobs nor the standard ones.
func (s *jobs) commands(state machine.State) (names []string) {
	for t := range s.codon.Machine().Transitions() {
		name := t.On.Name
		if t.Role != machine.Initiator || t.From != state || t.On != machine.Commanded(name) || s.ofJob(name) {
			continue
		}
		switch name {
		case machine.CommandStart, standard.CommandCancel, standard.CommandStop, standard.CommandMisread:
		default:
			names = append(names, name)
		}
	}
	return names
}

func (s *jobs) ofJob(command string) bool {
	return slices.ContainsFunc(s.codon.Table.Jobs, func(j machine.Job) bool {
		return j.Role == machine.Initiator && (slices.Contains(j.Says, command) || slices.Contains(j.Ends, command))
	})
}
