package swarm_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/performatives"
)

func TestEddyAsksAllAndDelegatesToJules(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	r, err := s.ask(s.ctx, sample(), codons.WithPriority(performatives.High))
	if err != nil || r.Status != performatives.StatusSuccess {
		t.Fatalf("got %v, %v", r, err)
	}
	s.wantActs(swarm.EddyID, swarm.JulesID, performatives.ActQueryCapabilities, performatives.ActTaskRequest)
	s.wantActs(swarm.EddyID, swarm.ElizaID, performatives.ActQueryCapabilities)
	s.wantActs(swarm.JulesID, swarm.EddyID, performatives.ActInformCapabilities, performatives.ActTaskAccept, performatives.ActInformResult)
	s.wantActs(swarm.EddyID, "User", performatives.ActTaskAccept, performatives.ActInformResult)

	answer := s.between(swarm.ElizaID, swarm.EddyID)[0].Payload().(performatives.InformCapabilities)
	if answer.MatchResult == nil || *answer.MatchResult || len(answer.Matched) != 0 {
		t.Errorf("Eliza answered %+v; want a negative match", answer)
	}
	request := s.between(swarm.EddyID, swarm.JulesID)[1]
	if request.Ontology() != performatives.OntologyDebugRequest || request.Priority() != performatives.High {
		t.Errorf("Eddy delegated in %q with priority %v", request.Ontology(), request.Priority())
	}
	told := s.between(swarm.JulesID, swarm.EddyID)
	if got := told[len(told)-1].Ontology(); got != performatives.OntologySolutionProvided {
		t.Errorf("Jules informed in %q", got)
	}
}

// refuser makes the same decision about every task.
type refuser struct {
	colleague
	decision delegation.Decision
}

func (r *refuser) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return r.decision
}

// colleague is an agent with the capabilities of Jules and another Debugger.
type colleague struct{ swarm.Jules }

func zoe() *colleague { return &colleague{swarm.Jules{Brain: answers("fixed by Zoe")}} }

func TestEddyFallsBack(t *testing.T) {
	panics := brain(func(context.Context, swarm.Problem, func(string)) (performatives.InformResult, error) {
		panic("always")
	})
	fails := brain(func(context.Context, swarm.Problem, func(string)) (performatives.InformResult, error) {
		return performatives.InformResult{}, errors.New("no idea")
	})
	for name, tt := range map[string]struct {
		jules actors.Agent
		asked int // how often Jules gets the task
	}{
		"busy":          {&refuser{decision: delegation.Reject(performatives.CodeBusy, "")}, 1},
		"incapable":     {&refuser{decision: delegation.Reject(performatives.CodeIncapable, "")}, 1},
		"fails":         {&swarm.Jules{Brain: fails}, 1},
		"crashes twice": {&swarm.Jules{Brain: panics}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t, swarm.Options{Replace: map[performatives.AgentID]func() actors.Agent{
				swarm.JulesID: func() actors.Agent { return tt.jules },
			}})
			s.spawn("Zoe", zoe())
			r, err := s.ask(s.ctx, sample())
			if err != nil || r.Summary != "fixed by Zoe" {
				t.Errorf("got %v, %v", r, err)
			}
			if got := len(s.acts(swarm.EddyID, swarm.JulesID)) - 1; got != tt.asked {
				t.Errorf("Jules got the task %d times; want %d", got, tt.asked)
			}
		})
	}
}

// one performs one task at a time.
type one struct{ swarm.Jules }

func (*one) MaxTasks() int { return 1 }

func TestEddyFallsBackWhileJulesWorks(t *testing.T) {
	working, release := make(chan struct{}), make(chan struct{})
	slow := brain(func(context.Context, swarm.Problem, func(string)) (performatives.InformResult, error) {
		close(working)
		<-release
		return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "fixed by Jules"}, nil
	})
	s := newFixture(t, swarm.Options{Replace: map[performatives.AgentID]func() actors.Agent{
		"jules": func() actors.Agent { return &one{swarm.Jules{Brain: slow}} },
	}})
	first, err := delegation.Start(s.ctx, s.user, swarm.EddyID, debugCode(sample()))
	if err != nil {
		t.Fatal(err)
	}
	<-working
	_, err = s.ask(s.ctx, sample())
	wantEnd(t, err, "failed", performatives.CodeBusy)
	s.spawn("Zoe", zoe())
	if r, err := s.ask(s.ctx, sample()); err != nil || r.Summary != "fixed by Zoe" {
		t.Errorf("got %v, %v", r, err)
	}
	close(release)
	if r, err := first.Wait(); err != nil || r.Summary != "fixed by Jules" {
		t.Errorf("got %v, %v", r, err)
	}
}

func TestEddyStopsAtAnInvalidTask(t *testing.T) {
	s := newFixture(t, swarm.Options{Replace: map[performatives.AgentID]func() actors.Agent{
		swarm.JulesID: func() actors.Agent {
			return &refuser{decision: delegation.NotUnderstood(performatives.CodeInvalidPayload, "what?")}
		},
	}})
	s.spawn("Zoe", zoe())
	_, err := s.ask(s.ctx, sample())
	wantEnd(t, err, "failed", performatives.CodeInvalidPayload)
	s.wantActs(swarm.EddyID, "Zoe", performatives.ActQueryCapabilities)
}

func TestEddyWithoutCapableColleague(t *testing.T) {
	s := newFixture(t, swarm.Options{Replace: map[performatives.AgentID]func() actors.Agent{swarm.JulesID: nil}})
	_, err := s.ask(s.ctx, sample())
	wantEnd(t, err, "failed", performatives.CodeIncapable)
}

func TestTasksThatAreNotTheirs(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	for _, tt := range []struct {
		to    performatives.AgentID
		task  performatives.TaskRequest
		state string
		code  performatives.Code
	}{
		{swarm.EddyID, performatives.TaskRequest{TaskType: "make_tea"}, "rejected", performatives.CodeIncapable},
		{swarm.JulesID, performatives.TaskRequest{TaskType: "make_tea"}, "rejected", performatives.CodeIncapable},
		{swarm.ElizaID, debugCode(sample()), "rejected", performatives.CodeIncapable},
		{swarm.EddyID, debugCode(map[string]any{"code_to_debug": 5}), "not_understood", performatives.CodeInvalidPayload},
		{swarm.JulesID, debugCode(map[string]any{"error_log": []int{1}}), "not_understood", performatives.CodeInvalidPayload},
	} {
		_, err := delegation.Delegate(s.ctx, s.user, tt.to, tt.task)
		wantEnd(t, err, tt.state, tt.code)
	}
}

// A task may have the name of an action that discovery shows.
func TestTasksByTheNameOfTheAction(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	for _, entry := range s.node.Directory().All() {
		for _, action := range entry.Capabilities.Actions {
			problem := sample()
			problem.Snippet = "def show(lines):\n    for l in lines:\n        print(l)\n"
			task := debugCode(problem)
			task.TaskType = action.Name
			r, err := delegation.Delegate(s.ctx, s.user, entry.ID, task)
			if err != nil || r.Status != performatives.StatusSuccess {
				t.Errorf("%s of %s: %v, %v", action.Name, entry.ID, r.Status, err)
			}
		}
	}
}
