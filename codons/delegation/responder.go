package delegation

import (
	"context"
	"slices"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// newResponder returns the responder of an agent. worker is the agent behind its middleware.
func newResponder(self actors.Self, agent actors.Agent, worker Worker, t codons.Times) *codons.Responder {
	return codons.NewResponder(self, agent, codons.ResponderOptions{
		Codon: Codon, Times: t, Refusal: standard.CommandReject,
		Ontology: func(m *performatives.Message) string { return ontologyOf(self, m) },
		Consider: &codons.Consideration{
			Job: standard.JobConsider, Holds: []string{standard.CommandAccept},
			Do: func(s codons.Side) func(context.Context, *performatives.Message) codons.Command {
				previous := slices.Clone(s.(*responding).previous)
				return func(ctx context.Context, m *performatives.Message) codons.Command {
					return considerTask(ctx, self, worker, m, previous)
				}
			},
		},
		Works: []codons.Work{{Job: standard.JobPerform, Do: func(s codons.Side) func(context.Context, *codons.Handler) codons.Command {
			return s.(*responding).perform(worker)
		}}},
	})
}

// considerTask calls ConsiderTask and returns the command for its decision.
func considerTask(ctx context.Context, self actors.Self, worker Worker, m *performatives.Message, previous []performatives.InformResult) codons.Command {
	t, err := newTask(self, m, previous)
	if r := self.Describe().UnknownOntology(self.ID(), m); r != nil { // of a further round: the guard has checked the first
		err = r
	}
	if err != nil {
		return codons.Command(NotUnderstoodBy(err))
	}
	d := worker.ConsiderTask(ctx, t)
	if d.Name == "" {
		d = Reject(performatives.CodeIncapable, "")
	}
	return codons.Command(d)
}

// ontologyOf returns the ontology that the agent's action of a task declares, for a request that
// names none.
func ontologyOf(self actors.Self, m *performatives.Message) string {
	for _, a := range self.Describe().Actions {
		if a.Ontology == "" {
			continue
		}
		task, err := performatives.PayloadAs[performatives.TaskRequest](m)
		if err == nil && performatives.FoldCapability(a.Name) == performatives.FoldCapability(task.TaskType) {
			return a.Ontology
		}
	}
	return ""
}

// responding is the responder's side of one delegation.
type responding struct {
	*codons.ResponderSide
	previous []performatives.InformResult // the partial results of this and earlier rounds
	inquiry  inquiry                      // of the handler that runs
}

// responderData is the recorded data of the responder's side.
type responderData struct {
	Previous []performatives.InformResult `json:"previous"`
}

// Data returns the data that Reduce keeps.
func (s *responding) Data() any { return responderData{s.previous} }

// Reduce keeps the partial results.
func (s *responding) Reduce(v *codons.Value, e *codons.Input) {
	if e.On != machine.Commanded(commandAsk) && e.On != machine.Commanded(CommandNeedInput) {
		return
	}
	if r, ok := e.Data.(performatives.InformResult); ok && e.Sends() && !v.Ended() {
		s.previous = append(s.previous, r)
	}
}

// perform returns the handler of a task, which calls PerformTask. newTask cannot fail in it:
// considerTask has read the same request.
func (s *responding) perform(worker Worker) func(context.Context, *codons.Handler) codons.Command {
	previous := slices.Clone(s.previous)
	return func(ctx context.Context, h *codons.Handler) codons.Command {
		t, _ := newTask(h.Agent(), h.Message(), previous)
		t.report = func(u performatives.StatusUpdate) error {
			return h.Say(codons.Command{Name: standard.CommandReport, Data: u})
		}
		t.ask = func(ctx context.Context, r performatives.InformResult) (performatives.TaskRequest, error) {
			return s.inquiry.ask(ctx, h, r)
		}
		result, err := worker.PerformTask(ctx, t)
		switch {
		case err != nil:
			return h.Fail(err)
		case result.RequestForUser() != "":
			return h.Answer(CommandNeedInput, performatives.ActInformResult, result)
		}
		return h.Answer(standard.CommandFinish, performatives.ActInformResult, result)
	}
}

// Compose returns the payloads of the two acts for which no command has one: the TASK_ACCEPT
// of a round that answers the handler, and the FAILURE for a second question.
func (s *responding) Compose(v *codons.Value, f machine.Effect, e *codons.Input) any {
	switch {
	case f.Act == performatives.ActTaskAccept && e.Data == nil:
		return performatives.TaskAccept{}
	case f.Act == performatives.ActFailure && e.On == machine.Commanded(CommandNeedInput):
		return secondQuestion
	}
	return s.ResponderSide.Compose(v, f, e)
}

// Report hands the request of a further round to the handler that waits for it.
func (s *responding) Report(_ *codons.Conversation, what string, m *performatives.Message) {
	if what == reportAnswer {
		s.inquiry.answered(m)
	}
}
