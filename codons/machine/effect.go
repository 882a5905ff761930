package machine

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/performatives"
)

// EffectKind is the kind of an [Effect].
type EffectKind uint8

// The kinds of effects. The zero value is none of them.
const (
	EffectSend   EffectKind = iota + 1 // send a new message
	EffectResend                       // send an earlier message again, unchanged
	EffectArm                          // start a timer
	EffectDisarm                       // stop a timer
	EffectRun                          // start a job
	EffectStop                         // ask a job to stop
	EffectReport                       // inform the agent of this side
	EffectRefuse                       // answer the received message with a refusal
	EffectDrop                         // ignore the event, and count it
)

var effectNames = [...]string{
	EffectSend: "send", EffectResend: "resend", EffectArm: "arm", EffectDisarm: "disarm", EffectRun: "run",
	EffectStop: "stop", EffectReport: "report", EffectRefuse: "refuse", EffectDrop: "drop",
}

// String returns the name in lower case.
func (k EffectKind) String() string {
	if k == 0 || int(k) >= len(effectNames) {
		return fmt.Sprintf("EffectKind(%d)", uint8(k))
	}
	return effectNames[k]
}

// Effect is one action of the shell after a step. The shell performs the effects
// in the order of the row. Effects compare with ==. Make them with the functions
// below.
type Effect struct {
	Kind EffectKind
	Act  performatives.Performative // of Send and Resend
	Name string                     // the timer, job, report, refusal code or reason; for Send the tag
}

// Send sends a new message with a new id. Its content comes from the command that
// caused the step, or from the shell.
func Send(act performatives.Performative) Effect { return Effect{Kind: EffectSend, Act: act} }

// SendTagged is [Send] of a message that the other side receives as
// [ReceiveTagged].
func SendTagged(act performatives.Performative, tag string) Effect {
	return Effect{Kind: EffectSend, Act: act, Name: tag}
}

// Resend sends the latest message of that act again, with the same content and the
// same id. A peer that has received it before recognises the duplicate. A refusal
// counts as a message of the act that carried it.
func Resend(act performatives.Performative) Effect { return Effect{Kind: EffectResend, Act: act} }

// Arm starts a timer. It restarts a timer that is armed.
func Arm(timer string) Effect { return Effect{Kind: EffectArm, Name: timer} }

// Disarm stops a timer. It does nothing when the timer is not armed.
func Disarm(timer string) Effect { return Effect{Kind: EffectDisarm, Name: timer} }

// Run starts a [Job].
func Run(job string) Effect { return Effect{Kind: EffectRun, Name: job} }

// Stop asks a job to stop by cancelling its context. The job runs until it has given
// its final command.
func Stop(job string) Effect { return Effect{Kind: EffectStop, Name: job} }

// Report informs the agent of this side.
func Report(what string) Effect { return Effect{Kind: EffectReport, Name: what} }

// Refuse answers the received message with a refusal for that reason. The act of the
// refusal is [Effect.Answer].
func Refuse(code performatives.Code) Effect { return Effect{Kind: EffectRefuse, Name: string(code)} }

// Drop ignores the event, and counts it under that reason.
func Drop(reason string) Effect { return Effect{Kind: EffectDrop, Name: reason} }

// Answer returns the act that carries a [Refuse] of a message of that act.
// TASK_REJECT only answers TASK_REQUEST, and REJECT_PROPOSAL only PROPOSE; neither
// CANCEL nor ACCEPT_PROPOSAL is ever refused, so FAILURE answers them (addenda §6).
func (e Effect) Answer(to performatives.Performative) performatives.Performative {
	carrier := performatives.Code(e.Name).Traits().Carrier
	switch {
	case carrier != performatives.ActTaskReject || to == performatives.ActTaskRequest:
		return carrier
	case to == performatives.ActCancel, to == performatives.ActAcceptProposal:
		return performatives.ActFailure
	case to == performatives.ActPropose:
		return performatives.ActRejectProposal
	}
	return performatives.ActRefuse
}

// String returns words such as "send TASK_ACCEPT" or "arm deadline".
func (e Effect) String() string {
	text := e.Kind.String()
	if e.Act != 0 {
		text += " " + e.Act.String()
	}
	switch {
	case e.Name == "":
		return text
	case e.Act != 0:
		return text + " (" + e.Name + ")"
	}
	return text + " " + e.Name
}
