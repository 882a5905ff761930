package observe_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// The failures of agents are kept with their masked texts and their stacks, the latest ones, by
// agent and by conversation.
func TestFailures(t *testing.T) {
	n, r := record(t, observe.Options{Failures: 4})
	long := strings.Repeat("x", 1<<20)
	for _, ev := range []events.Event{
		lifecycle.JobFailed{Agent: "Gone", Err: errors.New("pushed out")},
		lifecycle.JobFailed{Agent: "W", Peer: "E", Conversation: "c1", Protocol: "p", Job: "perform", After: time.Second, Err: errors.New("password=hunter2")},
		lifecycle.JobFailed{Agent: "W", Conversation: "c2", Err: &actors.PanicError{Value: "oh"}, Stack: []byte("goroutine 1")},
		events.Supervised{Agent: "W", Conversation: "c1", Decision: events.Decision{
			Child: actor.NewPID("nonhost", "W"), Directive: actor.RestartDirective, Reason: errors.New("token: abc"), Stack: []byte(long),
		}},
		lifecycle.JobFailed{Agent: "x", Err: errors.New(long)},
	} {
		n.Events().Publish(ev)
	}
	of := func(agent performatives.AgentID, in performatives.ConversationID) (texts []string) {
		for _, f := range r.Failures(agent, in) {
			if len(f.Reason) > 4096 || len(f.Stack) > 16<<10 || f.Seq == 0 {
				t.Errorf("%d bytes of text and %d of stack are kept", len(f.Reason), len(f.Stack))
			}
			texts = append(texts, fmt.Sprintf("%s %s %.5s %.11s", f.Kind, f.Directive, strings.TrimPrefix(f.Reason, "actors: "), f.Stack))
		}
		return texts
	}
	for _, c := range []struct {
		agent performatives.AgentID
		in    performatives.ConversationID
		want  string
	}{
		{"", "", "job.failed  xxxxx , supervision.decided restart token xxxxxxxxxxx, job.failed  panic goroutine 1, job.failed  passw "},
		{"w", "", "supervision.decided restart token xxxxxxxxxxx, job.failed  panic goroutine 1, job.failed  passw "},
		{"", "c1", "supervision.decided restart token xxxxxxxxxxx, job.failed  passw "},
		{"gone", "", ""},
	} {
		if got := strings.Join(of(c.agent, c.in), ", "); got != c.want {
			t.Errorf("of %q in %q: %q, want %q", c.agent, c.in, got, c.want)
		}
	}
	all := r.Failures("w", "c1")
	if all[0].Reason != "token: ***" || all[1].Reason != "password=***" || all[1].Job != "perform" || all[1].After != 1 || all[1].Peer != "E" || all[1].Protocol != "p" {
		t.Errorf("%+v", all)
	}
	if c := r.Counts(); c.Failures != 4 || c.FailuresForgotten != 1 {
		t.Errorf("%+v", c)
	}
}

// A dead letter says why in words, also for a reason that is no code of a refusal. A repeated
// message raises no rate.
func TestReasonsOfDeadLetters(t *testing.T) {
	n, r := record(t, observe.Options{})
	at := events.At{Time: time.Now().Add(-10 * time.Second)}
	for _, code := range []performatives.Code{machine.DropDuplicate, machine.DropLate, machine.DropStale, machine.DropUnexpected, machine.DropUndeliverable, "wrong_moon", performatives.CodeStopped} {
		n.Events().Publish(events.DeadLetter{At: at, To: "w", Code: code})
	}
	texts := map[string]bool{}
	for _, one := range r.Refusals() {
		texts[one.Text] = true
		if one.Text == performatives.Code("").Traits().Text || one.Text == "" {
			t.Errorf("%s: %q", one.Code, one.Text)
		}
	}
	if len(texts) != 7 || !texts["wrong_moon"] || !texts[performatives.CodeStopped.Traits().Text] {
		t.Errorf("%v", texts)
	}
	if c := r.Counts(); c.Duplicates != 1 {
		t.Errorf("%+v", c)
	}
	rate := uint64(0)
	for _, s := range r.Rates() {
		rate += s.DeadLetters
	}
	if rate != 6 {
		t.Errorf("a rate of %d dead letters", rate)
	}
}
