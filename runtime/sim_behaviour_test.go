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
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	requests "github.com/ribosome-agents/ribosome/codons/request"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// The behaviour of the agents of the simulated swarm. To add a behaviour, add a line to
// one of the tables. Code that waits, directly or in a call, must continue in its own
// turn of the simulation: it must call idle or pause, or Yield after any other wait.
var (
	// decisions are a worker's decisions about a request.
	decisions = []option[func() delegation.Decision]{
		{"accept", 40, delegation.Accept},
		{"reject", 2, func() delegation.Decision { return delegation.Reject(p.CodeIncapable, "not me") }},
		{"not understand", 2, func() delegation.Decision { return delegation.NotUnderstood(p.CodeUnknownOntology, "") }},
		{"decide nothing", 1, func() delegation.Decision { return delegation.Decision{} }},
		{"panic deciding", 1, func() delegation.Decision { panic("deciding") }},
	}

	// works are a worker's ways to perform a task.
	works = []option[func(*job) (p.InformResult, error)]{
		{"succeed", 6, func(*job) (p.InformResult, error) { return success, nil }},
		{"work", 6, (*job).work},
		{"report progress", 3, (*job).progress},
		{"delegate a part", 4, (*job).delegate},
		{"scatter a part", 1, (*job).scatter},
		{"put a part out to tender", 1, (*job).tender},
		{"return early", 1, (*job).returnEarly},
		{"spend", 2, (*job).spend},
		{"ask for input", 3, (*job).needInput},
		{"ignore cancel", 2, (*job).ignoreCancel},
		{"change itself", 2, (*job).change},
		{"fail working", 1, func(*job) (p.InformResult, error) { return p.InformResult{}, errors.New("working") }},
		{"panic working", 1, func(*job) (p.InformResult, error) { panic("working") }},
		{"exit the goroutine", 1, func(*job) (p.InformResult, error) { goruntime.Goexit(); return success, nil }},
		{"return nonsense", 1, func(*job) (p.InformResult, error) { return p.InformResult{}, nil }},
	}

	// services are an agent's ways to serve a request.
	services = []option[func(*service) (any, error)]{
		{"serve", 4, func(*service) (any, error) { return p.Raw(`{}`), nil }},
		{"agree and serve", 3, (*service).agree},
		{"refuse to serve", 1, func(*service) (any, error) { return nil, &p.Refusal{Code: p.CodeForbidden} }},
		{"fail serving", 1, func(*service) (any, error) { return nil, errors.New("serving") }},
		{"panic serving", 1, func(*service) (any, error) { panic("serving") }},
	}

	// answers are an agent's actions before it answers in any other codon.
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

	// errands are the actions of an initiator. Each returns a description of its end.
	errands = []option[func(*simErrand) string]{
		{"delegate", 6, func(x *simErrand) string { return x.delegate(context.Background(), x.options()...) }},
		{"delegate with a deadline", 3, (*simErrand).delegateInTime},
		{"delegate and cancel", 3, (*simErrand).delegateAndCancel},
		{"delegate and forget", 1, (*simErrand).delegateAndForget},
		{"request", 4, func(x *simErrand) string { return x.request(context.Background()) }},
		{"request and withdraw", 2, (*simErrand).requestAndWithdraw},
		{"whisper to one", 2, (*simErrand).whisper},
		{"whisper to many", 2, (*simErrand).whisperToMany},
		{"whisper and withdraw", 1, (*simErrand).whisperAndWithdraw},
		{"ask", 2, (*simErrand).ask},
		{"broadcast", 1, (*simErrand).broadcast},
		{"call for proposals", 2, (*simErrand).callForProposals},
		{"call for proposals in rounds", 1, (*simErrand).callInRounds},
		{"call for proposals and withdraw", 1, (*simErrand).callAndWithdraw},
		{"english auction", 1, (*simErrand).englishAuction},
		{"dutch auction", 1, (*simErrand).dutchAuction},
		{"scatter", 2, (*simErrand).scatter},
		{"scatter and withdraw", 1, (*simErrand).scatterAndWithdraw},
		{"find and delegate", 2, (*simErrand).findAndDelegate},
		{"query if", 1, (*simErrand).queryIf},
		{"query ref", 1, (*simErrand).queryRef},
		{"propose", 1, (*simErrand).propose},
		{"approve", 2, (*simErrand).approve},
		{"call a tool", 2, (*simErrand).callTool},
		{"run a saga", 2, (*simErrand).saga},
		{"run a saga and withdraw", 1, (*simErrand).sagaAndWithdraw},
		{"delegate with a budget", 2, (*simErrand).delegateWithBudget},
		{"handshake", 1, (*simErrand).handshake},
		{"request when", 1, (*simErrand).requestWhen},
		{"subscribe", 2, (*simErrand).subscribe},
		{"request whenever", 1, (*simErrand).requestWhenever},
		{"ask through a broker", 2, (*simErrand).askThrough},
		{"recruit", 2, (*simErrand).recruit},
	}
)

var success = p.InformResult{Status: p.StatusSuccess, Summary: "done"}

// job is one task of a worker.
type job struct {
	*simSwarm
	ctx  context.Context
	task delegation.Task
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

// delegate delegates the task or a part of it, unless it has been delegated several
// times.
func (j *job) delegate() (p.InformResult, error) {
	hands, _ := strconv.Atoi(j.task.Description)
	if hands >= 3 {
		return success, nil
	}
	r, err := delegation.Delegate(j.ctx, j.task.Agent, j.randomAgent(), simTask(hands+1))
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

// change modifies the agent's fields.
func (j *job) change() (p.InformResult, error) {
	err := j.task.Agent.Do(j.ctx, func(a actors.Agent) { a.(interface{ work() }).work() })
	j.sim.Yield(j.name)
	return success, err
}

// service is one request that an agent serves.
type service struct {
	*simSwarm
	ctx     context.Context
	request requests.Requested
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

// simErrand is one action of an initiator.
type simErrand struct {
	*simSwarm
	self actors.Self
	name string // name of the running goroutine
}

func simTask(hands int) p.TaskRequest {
	return p.TaskRequest{TaskType: "simulate", Description: strconv.Itoa(hands)}
}

// options returns random options of a delegation.
func (x *simErrand) options() []codons.Option {
	opts := []codons.Option{
		codons.WithRetry(codons.Retry{First: x.dice.upTo(time.Second)}),
		codons.WithGrace(x.dice.upTo(time.Second)),
		codons.WithPriority(p.Low + p.Priority(x.dice.n(int(p.Bands)))),
	}
	if x.dice.oneIn(2) {
		opts = append(opts, delegation.WithInput(x.answer))
	}
	return opts
}

// answer returns the input that a worker has requested, or none.
func (x *simErrand) answer(ctx context.Context, _ p.InformResult) (p.TaskRequest, bool) {
	if x.dice.oneIn(4) {
		panic("answering")
	}
	_ = x.pause(ctx, x.name+" answering", x.dice.upTo(time.Second))
	return simTask(0), !x.dice.oneIn(4)
}

func (x *simErrand) delegate(ctx context.Context, opts ...codons.Option) string {
	r, err := delegation.Delegate(ctx, x.self, x.randomAgent(), simTask(0), opts...)
	return simEnd(r.Status, err)
}

func (x *simErrand) delegateInTime() string {
	ctx, cancel := context.WithTimeout(context.Background(), x.dice.upTo(2*time.Second))
	defer cancel()
	return x.delegate(ctx, x.options()...)
}

func (x *simErrand) delegateAndCancel() string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	x.self.System().AfterFunc(x.dice.upTo(2*time.Second), cancel)
	return x.delegate(ctx, x.options()...)
}

// delegateAndForget starts a delegation without waiting for it, and may cancel it later.
func (x *simErrand) delegateAndForget() string {
	d, err := delegation.Start(context.Background(), x.self, x.randomAgent(), simTask(0))
	if err == nil && x.dice.oneIn(2) {
		x.self.After(x.dice.upTo(5*time.Second), func(actors.Agent) { d.Cancel() })
	}
	return simEnd("begun", err)
}

func (x *simErrand) request(ctx context.Context) string {
	_, err := requests.Request[p.Raw](ctx, x.self, x.randomAgent(), p.Raw(`{}`), codons.WithGrace(x.dice.upTo(time.Second)))
	return simEnd("answered", err)
}

func (x *simErrand) requestAndWithdraw() string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	x.self.System().AfterFunc(x.dice.upTo(time.Second), cancel)
	return x.request(ctx)
}

func (x *simErrand) whisper() string {
	ctx, cancel := context.WithTimeout(context.Background(), x.dice.upTo(3*time.Second))
	defer cancel()
	return x.query(ctx)
}

func (x *simErrand) whisperAndWithdraw() string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	x.self.System().AfterFunc(x.dice.upTo(20*time.Millisecond), cancel)
	return x.query(ctx)
}

func (x *simErrand) query(ctx context.Context) string {
	_, err := discovery.Whisper(ctx, x.self, x.randomAgent(), p.QueryCapabilities{Type: p.QuerySummary})
	return simEnd("answered", err)
}

func (x *simErrand) whisperToMany() string {
	ctx, cancel := context.WithTimeout(context.Background(), x.dice.upTo(3*time.Second))
	defer cancel()
	ids := x.node.Directory().IDs()
	if !x.dice.oneIn(5) { // most query only a few
		ids = ids[:min(8, len(ids))]
	}
	found, err := discovery.WhisperAll(ctx, x.self, ids, p.QueryCapabilities{Type: p.QuerySummary})
	return simEnd(fmt.Sprint(len(found), " candidates"), err)
}

func (x *simErrand) ask() string {
	ctx, cancel := context.WithTimeout(context.Background(), x.dice.upTo(time.Second))
	defer cancel()
	answer, err := x.self.Ask(ctx, x.message(x.randomAgent(), p.ActRequest))
	if err == nil {
		x.handled(answer)
	}
	return simEnd("answered", err)
}

func (x *simErrand) broadcast() string {
	return simEnd("sent", x.self.Send(x.message("", p.ActInform)))
}

// simSmallTalk is the protocol of messages without a codon.
const simSmallTalk = "small talk"

// message returns a message of no codon.
func (x *simErrand) message(to p.AgentID, act p.Performative) *p.Message {
	stamp := x.self.Stamp()
	m, err := p.New(p.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Sender: x.self.ID(), Receiver: to, Performative: act,
		Protocol: simSmallTalk, Payload: p.Raw(`{}`),
	})
	if err != nil {
		x.t.Error(err)
	}
	return m
}

// simEnd returns a description of an end.
func simEnd[T ~string](how T, err error) string {
	if err != nil {
		return err.Error()
	}
	return string(how)
}
