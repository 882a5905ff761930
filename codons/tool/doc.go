// Package tool is the codon by which one agent calls a function of another: a tool with a
// name, and with arguments and a result that JSON Schemas describe.
//
// [New] makes a tool of a Go function and derives the schemas from its types. [NewSet] makes
// the set of an agent's tools; an agent that embeds it is an [Agent], the responder of the
// codon. The initiator calls [Call], which waits for the result, or [StartCall], which does
// not. The example of [Call] shows both roles.
//
// A call is a TASK_REQUEST whose task type is the name of the tool and whose parameters are the
// arguments. The answer is INFORM_RESULT, TASK_REJECT for an unknown tool, or NOT_UNDERSTOOD for
// arguments that do not fit the schema, with the place of the fault. There is no acceptance, no
// progress and no further round. A caller that needs these delegates the call as a task (package
// delegation): an [Agent] that embeds its [Tools] performs it too.
//
// [Codon] holds the table. Sources: bridge, Request/Response Flow and Error Handling; addenda
// §2.
//
// [RegisterMessageType] has a JSON Schema check the payload of an application's message type.
//
// # Shutdown
//
// CANCEL, the deadline and the stop of the agent end the ctx of the tool's function. The
// receipt for a CANCEL is sent after the function has returned.
//
// # Concurrency
//
// A tool runs on a goroutine of its call, beside other calls of the same agent. An agent runs a
// bounded number of calls at a time ([codons.TaskLimiter]) and rejects further calls with
// [performatives.CodeBusy]. [Tool] and [Tools] never change, so goroutines and agents may share
// them.
package tool
