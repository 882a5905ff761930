package codons

import (
	"context"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// errand is the codon of the kernel's own tests: a request that is answered.
var errand = MustDefine(Definition{Table: standard.Exchange{
	Name: "errand", Title: "Errand", Purpose: "One agent asks another to do something.", Source: "the tests",
	Opening: performatives.ActRequest, Agree: true, Opened: "the agent wants something done", Job: "the agent does it",
	Answers: []standard.AnswerAct{{Command: standard.CommandAnswer, Act: performatives.ActInform, End: standard.StateAnswered, Why: "done"}},
}.Table(), Complete: true})

// errandRole makes every sleeper answer errands.
var errandRole = NewService(errand, ServiceOptions{Usual: true}, func(self actors.Self, s sleeper, t Times) actors.Responder {
	return AnswerWith(self, s, errand, t, func(ctx context.Context, h *Handler) Command {
		select {
		case <-time.After(time.Duration(s)):
			return h.Answer(standard.CommandAnswer, performatives.ActInform, performatives.Raw(`{}`))
		case <-ctx.Done():
			return h.TurnDown(context.Cause(ctx))
		}
	})
})

// sleeper answers an errand after a while, unless it is cancelled.
type sleeper time.Duration

func (sleeper) Describe() performatives.Capabilities { return performatives.Capabilities{} }
