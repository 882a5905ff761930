package codons

import (
	"time"

	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// errand is the codon of the kernel's own tests: a request that is answered.
var errand = MustDefine(Definition{Table: standard.Exchange{
	Name: "errand", Title: "Errand", Purpose: "One agent asks another to do something.", Source: "the tests",
	Opening: performatives.ActRequest, Agree: true, Opened: "the agent wants something done", Job: "the agent does it",
	Answers: []standard.AnswerAct{{Command: standard.CommandAnswer, Act: performatives.ActInform, End: standard.StateAnswered, Why: "done"}},
}.Table(), Complete: true})

// sleeper is an agent without codons.
type sleeper time.Duration

func (sleeper) Describe() performatives.Capabilities { return performatives.Capabilities{} }
