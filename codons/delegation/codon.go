package delegation

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Codon is the delegation codon: [Table] with its payloads and its documentation.
var Codon = codons.MustDefine(codons.Definition{
	Table:         Table(),
	Complete:      true,
	Example:       "ExampleDelegate",
	Tag:           inputTag,
	InitiatorSide: func() codons.Side { return &Initiator{} },
	ResponderSide: func(r *codons.ResponderSide) codons.Side { return &responding{ResponderSide: r} },
	Outcomes: map[machine.State]string{
		standard.StateCompleted: "the result, or the partial result when a further round was not served; Delegated.Unserved gives the reason",
	},
	Payloads: []codons.Payload{
		{Act: performatives.ActTaskRequest, Type: performatives.TaskRequest{}, Commands: []string{standard.CommandAnswer}, Doc: "the task; in a further round, the input that the worker asked for"},
		{Act: performatives.ActTaskAccept, Type: performatives.TaskAccept{}, Commands: []string{standard.CommandAccept}, Doc: "the worker takes the task on, optionally with an estimate"},
		{Act: performatives.ActTaskReject, Type: performatives.TaskReject{}, Commands: []string{standard.CommandReject}, Doc: "the worker does not take the task on, and the reason"},
		{Act: performatives.ActStatusUpdate, Type: performatives.StatusUpdate{}, Commands: []string{standard.CommandReport}, Doc: "the progress of the work"},
		{
			Act: performatives.ActInformResult, Type: performatives.InformResult{}, Commands: []string{commandAsk, CommandNeedInput, standard.CommandFinish},
			Doc: "the result. A partial result with `request_for_user` asks for a further round",
		},
	},
})

// NeedInputCodon documents the further rounds of a delegation. It has no table of its own:
// the rounds are rows of [Table]. See [Task.NeedInput], [WithInput] and [WithInputFrom].
var NeedInputCodon = codons.MustDefine(codons.Definition{
	Table: machine.Table{
		Name:  "need-more-input",
		Title: "Need more input",
		Purpose: "A worker that needs more input asks for it in the same conversation, by a partial result with a question. The initiator's " +
			"code answers, or another agent, which may stand for a person. The work then continues: in the same handler, which gets the " +
			"answer, or in a new one, which gets the earlier partial results.",
		Source: "addenda §3",
	},
	Uses: []codons.Use{
		{Codon: "task-delegation", For: "all rounds. A partial result of the worker is the question, and a further TASK_REQUEST the answer: see its states `awaiting` and `input_needed`"},
		{Codon: "request", For: "with the agent of WithInputFrom: the question, once for each partial result. The answer is the task of the further round"},
	},
	Ends: "The delegation ends: with a result, a failure, or a partial result that is final, because there was no answer to the question or the worker " +
		"did not serve the further round. A request that is under way is withdrawn with it",
	Example: "ExampleTask_NeedInput",
})
