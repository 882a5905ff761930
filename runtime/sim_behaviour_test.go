package runtime_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strconv"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// What the agents of the simulated swarm do: to have them do more, add a line to
// one of the tables. Whatever waits, here or in what it calls, goes on in a turn
// of its own: it calls idle or pause, or Yield where it has waited otherwise.
var (
	// decisions are what a worker answers to a request.
	decisions = []option[func() codons.Decision]{
		{"accept", 40, codons.Accept},
		{"reject", 2, func() codons.Decision { return codons.Reject(p.CodeIncapable, "not me") }},
		{"not understand", 2, func() codons.Decision { return codons.NotUnderstood(p.CodeUnknownOntology, "") }},
		{"decide nothing", 1, func() codons.Decision { return codons.Decision{} }},
		{"panic deciding", 1, func() codons.Decision { panic("deciding") }},
	}

	// works are what a worker does about a task.
	works = []option[func(*job) (p.InformResult, error)]{
		{"succeed", 6, func(*job) (p.InformResult, error) { return success, nil }},
		{"work", 6, (*job).work},
		{"report progress", 3, (*job).progress},
		{"delegate a part", 4, (*job).delegate},
		{"scatter a part", 1, (*job).scatter},
		{"put a part out to tender", 1, (*job).tender},
		{"leave a part to itself", 1, (*job).leaveAPart},
		{"spend", 2, (*job).spend},
		{"ask for input", 3, (*job).needInput},
		{"ignore cancel", 2, (*job).ignoreCancel},
		{"change itself", 2, (*job).change},
		{"fail working", 1, func(*job) (p.InformResult, error) { return p.InformResult{}, errors.New("working") }},
		{"panic working", 1, func(*job) (p.InformResult, error) { panic("working") }},
		{"leave working", 1, func(*job) (p.InformResult, error) { goruntime.Goexit(); return success, nil }},
		{"return nonsense", 1, func(*job) (p.InformResult, error) { return p.InformResult{}, nil }},
	}

	// services are what an agent does about a request.
	services = []option[func(*service) (any, error)]{
		{"serve", 4, func(*service) (any, error) { return p.Raw(`{}`), nil }},
		{"agree and serve", 3, (*service).agree},
		{"refuse to serve", 1, func(*service) (any, error) { return nil, &p.Refusal{Code: p.CodeForbidden} }},
		{"fail serving", 1, func(*service) (any, error) { return nil, errors.New("serving") }},
		{"panic serving", 1, func(*service) (any, error) { panic("serving") }},
	}

	// answers are what an agent does before it answers in any other codon.
	answers = []option[func(*answering) error]{
		{"answer", 8, func(*answering) error { return nil }},
		{"answer later", 6, (*answering).later},
		{"answer in spite of a cancel", 2, (*answering).regardless},
		{"answer with help", 2, (*answering).withHelp},
		{"refuse to answer", 1, func(*answering) error { return &p.Refusal{Code: p.CodeForbidden} }},
		{"not understand a question", 1, func(*answering) error { return &p.Refusal{Code: p.CodeUnknownOntology} }},
		{"fail answering", 1, func(*answering) error { return errors.New("answering") }},
		{"panic answering", 1, func(*answering) error { panic("answering") }},
	}

	// errands are what an asker does, and say how it ended.
	errands = []option[func(*errand) string]{
		{"delegate", 6, func(x *errand) string { return x.delegate(context.Background(), x.options()...) }},
		{"delegate with a deadline", 3, (*errand).delegateInTime},
		{"delegate and cancel", 3, (*errand).delegateAndCancel},
		{"delegate and forget", 1, (*errand).delegateAndForget},
		{"request", 4, func(x *errand) string { return x.request(context.Background()) }},
		{"request and withdraw", 2, (*errand).requestAndWithdraw},
		{"whisper to one", 2, (*errand).whisper},
		{"whisper to many", 2, (*errand).whisperToMany},
		{"whisper and withdraw", 1, (*errand).whisperAndWithdraw},
		{"ask", 2, (*errand).ask},
		{"broadcast", 1, (*errand).broadcast},
		{"call for proposals", 2, (*errand).callForProposals},
		{"call for proposals in rounds", 1, (*errand).callInRounds},
		{"call for proposals and withdraw", 1, (*errand).callAndWithdraw},
		{"auction to who bids most", 1, (*errand).englishAuction},
		{"auction to who bids first", 1, (*errand).dutchAuction},
		{"scatter", 2, (*errand).scatter},
		{"scatter and withdraw", 1, (*errand).scatterAndWithdraw},
		{"find and delegate", 2, (*errand).findAndDelegate},
		{"ask whether", 1, (*errand).queryIf},
		{"ask what", 1, (*errand).queryRef},
		{"propose", 1, (*errand).propose},
		{"have it approved", 2, (*errand).approve},
		{"call a tool", 2, (*errand).callTool},
		{"run a saga", 2, (*errand).saga},
		{"run a saga and withdraw", 1, (*errand).sagaAndWithdraw},
		{"delegate with a budget", 2, (*errand).delegateWithBudget},
		{"shake hands", 1, (*errand).handshake},
		{"request when", 1, (*errand).requestWhen},
		{"subscribe", 2, (*errand).subscribe},
		{"request whenever", 1, (*errand).requestWhenever},
		{"ask through a broker", 2, (*errand).askThrough},
		{"recruit", 2, (*errand).recruit},
	}
)

var success = p.InformResult{Status: p.StatusSuccess, Summary: "done"}

// job is one task of a worker.
type job struct {
	*simSwarm
	ctx  context.Context
	task codons.Task
	name string
}

func (j *job) work() (p.InformResult, error) {
	return success, j.pause(j.ctx, j.name, j.dice.upTo(3*time.Second))
}

func (j *job) progress() (p.InformResult, error) {
	for i := range 1 + j.dice.n(20) {
		err := j.task.Progress(float64(i), "going on")
		j.sim.Yield(j.name)
		if err != nil {
			return p.InformResult{}, err
		}
		if j.dice.oneIn(3) {
			_ = j.pause(j.ctx, j.name, j.dice.upTo(time.Second))
		}
	}
	return success, nil
}

// delegate has others do the task, or a part of it, unless it has gone through many
// hands already.
func (j *job) delegate() (p.InformResult, error) {
	hands, _ := strconv.Atoi(j.task.Description)
	if hands >= 3 {
		return success, nil
	}
	r, err := codons.Delegate(j.ctx, j.task.Agent, j.anyone(), simTask(hands+1))
	j.sim.Yield(j.name)
	return r, err
}

func (j *job) needInput() (p.InformResult, error) {
	if len(j.task.Previous) > 2 {
		return success, nil
	}
	_ = j.pause(j.ctx, j.name, j.dice.upTo(time.Second))
	return p.InformResult{Status: p.StatusPartial, Details: p.ContentOf(map[string]any{"request_for_user": "more"})}, nil
}

func (j *job) ignoreCancel() (p.InformResult, error) {
	j.idle(j.name, j.dice.upTo(5*time.Second))
	return success, nil
}

// change touches the agent's own fields.
func (j *job) change() (p.InformResult, error) {
	err := j.task.Agent.Do(j.ctx, func(a actors.Agent) { a.(interface{ work() }).work() })
	j.sim.Yield(j.name)
	return success, err
}

// service is one request that an agent answers.
type service struct {
	*simSwarm
	ctx     context.Context
	request codons.Requested
	name    string
}

func (v *service) agree() (any, error) {
	err := v.request.Agree()
	v.sim.Yield(v.name)
	if err != nil {
		return nil, err
	}
	return nil, v.pause(v.ctx, v.name, v.dice.upTo(3*time.Second))
}

// errand is what an asker is about.
type errand struct {
	*simSwarm
	self actors.Self
	name string // of who runs it
}

func simTask(hands int) p.TaskRequest {
	return p.TaskRequest{TaskType: "simulate", Description: strconv.Itoa(hands)}
}

// options are some of those that change how a delegation goes.
func (x *errand) options() []codons.DelegateOption {
	opts := []codons.DelegateOption{
		codons.WithRetry(codons.Retry{First: x.dice.upTo(time.Second)}),
		codons.WithGrace(x.dice.upTo(time.Second)),
		codons.WithPriority(p.Low + p.Priority(x.dice.n(int(p.Bands)))),
	}
	if x.dice.oneIn(2) {
		opts = append(opts, codons.WithInput(x.answer))
	}
	return opts
}

// answer gives a worker what it lacks, or not.
func (x *errand) answer(ctx context.Context, _ p.InformResult) (p.TaskRequest, bool) {
	if x.dice.oneIn(4) {
		panic("answering")
	}
	_ = x.pause(ctx, x.name+" answering", x.dice.upTo(time.Second))
	return simTask(0), !x.dice.oneIn(4)
}

func (x *errand) delegate(ctx context.Context, opts ...codons.DelegateOption) string {
	r, err := codons.Delegate(ctx, x.self, x.anyone(), simTask(0), opts...)
	return simEnd(r.Status, err)
}

func (x *errand) delegateInTime() string {
	ctx, cancel := context.WithTimeout(context.Background(), x.dice.upTo(2*time.Second))
	defer cancel()
	return x.delegate(ctx, x.options()...)
}

func (x *errand) delegateAndCancel() string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	x.self.System().AfterFunc(x.dice.upTo(2*time.Second), cancel)
	return x.delegate(ctx, x.options()...)
}

// delegateAndForget leaves a delegation to its own, which it may cancel later.
func (x *errand) delegateAndForget() string {
	d, err := codons.StartDelegation(context.Background(), x.self, x.anyone(), simTask(0))
	if err == nil && x.dice.oneIn(2) {
		x.self.After(x.dice.upTo(5*time.Second), func(actors.Agent) { d.Cancel() })
	}
	return simEnd("begun", err)
}

func (x *errand) request(ctx context.Context) string {
	_, err := codons.Request[p.Raw](ctx, x.self, x.anyone(), p.Raw(`{}`), codons.WithGrace(x.dice.upTo(time.Second)))
	return simEnd("answered", err)
}

func (x *errand) requestAndWithdraw() string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	x.self.System().AfterFunc(x.dice.upTo(time.Second), cancel)
	return x.request(ctx)
}

func (x *errand) whisper() string {
	ctx, cancel := context.WithTimeout(context.Background(), x.dice.upTo(3*time.Second))
	defer cancel()
	return x.query(ctx)
}

func (x *errand) whisperAndWithdraw() string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	x.self.System().AfterFunc(x.dice.upTo(20*time.Millisecond), cancel)
	return x.query(ctx)
}

func (x *errand) query(ctx context.Context) string {
	_, err := codons.Whisper(ctx, x.self, x.anyone(), p.QueryCapabilities{Type: p.QuerySummary})
	return simEnd("answered", err)
}

func (x *errand) whisperToMany() string {
	ctx, cancel := context.WithTimeout(context.Background(), x.dice.upTo(3*time.Second))
	defer cancel()
	ids := x.node.Directory().IDs()
	if !x.dice.oneIn(5) { // most ask only a few
		ids = ids[:min(8, len(ids))]
	}
	found, err := codons.WhisperAll(ctx, x.self, ids, p.QueryCapabilities{Type: p.QuerySummary})
	return simEnd(fmt.Sprint(len(found), " candidates"), err)
}

func (x *errand) ask() string {
	ctx, cancel := context.WithTimeout(context.Background(), x.dice.upTo(time.Second))
	defer cancel()
	answer, err := x.self.Ask(ctx, x.message(x.anyone(), p.ActRequest))
	if err == nil {
		x.handled(answer)
	}
	return simEnd("answered", err)
}

func (x *errand) broadcast() string {
	return simEnd("sent", x.self.Send(x.message("", p.ActInform)))
}

// message is a message of no codon.
func (x *errand) message(to p.AgentID, act p.Performative) *p.Message {
	stamp := x.self.Stamp()
	m, err := p.New(p.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Sender: x.self.ID(), Receiver: to, Performative: act,
		Protocol: "small talk", Payload: p.Raw(`{}`),
	})
	if err != nil {
		x.t.Error(err)
	}
	return m
}

// simEnd says how something ended.
func simEnd[T ~string](how T, err error) string {
	if err != nil {
		return err.Error()
	}
	return string(how)
}
