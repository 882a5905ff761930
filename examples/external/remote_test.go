package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
)

// remote is an agent in another process and language.
type remote struct {
	name    string
	needs   string
	command func(context.Context, string, *host) (*exec.Cmd, error)
	id      performatives.AgentID
	task    performatives.TaskRequest
	helper  performatives.AgentID // the agent to which it delegates a part back
	back    string                // the type of that task
	summary string
	reports []string // the descriptions of its progress
	wrong   performatives.Content
	refusal performatives.Code // of a task with wrong parameters
	unknown performatives.Code // of a task that it does not know
}

var remotes = []remote{
	{
		name: "python", needs: "python3", command: python, id: "Wordsmith", task: taskFor["count_words"], helper: "Lexicon", back: "stop_words",
		summary: "30 words, above all: ribosome, messages, reads", reports: []string{"30 words are counted", "11 of them say little"},
		wrong: performatives.ContentOf(map[string]int{"text": 7}), refusal: performatives.CodeIncapable, unknown: performatives.CodeIncapable,
	},
	{
		name: "js", needs: "node", command: node, id: "Factorizer", task: taskFor["prime_factors"], helper: "Arithmetic", back: "is_prime",
		summary: "1000000016000000063 = 1000000007 · 1000000009",
		reports: []string{"2 factors are found", "1000000007 is prime", "1000000009 is prime"},
		wrong:   performatives.ContentOf(map[string]string{"n": "seven"}), refusal: performatives.CodeInvalidPayload, unknown: performatives.CodeIncapable,
	},
}

// forEach runs a test for each remote that can run here.
func forEach(t *testing.T, test func(*testing.T, *fixture)) {
	for _, g := range remotes {
		t.Run(g.name, func(t *testing.T) {
			needs(t, g.needs)
			test(t, newFixture(t, g))
		})
	}
}

func TestTask(t *testing.T) {
	racetest.Skip(t)
	forEach(t, func(t *testing.T, v *fixture) {
		v.join(t)
		v.delegate(t)
		if want, got := []string{"TASK_ACCEPT", "STATUS_UPDATE", "STATUS_UPDATE", "INFORM_RESULT"}, v.helperActs(); !slices.Equal(got, want) {
			t.Errorf("%s says %v, want %v", v.helper, got, want)
		}
		v.delegate(t)
		v.testRefusals(t)
	})
}

// helperActs returns the acts of the helper's messages to the remote agent so far.
func (v *fixture) helperActs() (acts []string) {
	for len(v.said.C) > 0 {
		if m := (<-v.said.C).Event.(events.MessageSent).Message; m.Sender().Is(v.helper) && m.Receiver().Is(v.id) {
			acts = append(acts, m.Performative().String())
		}
	}
	return acts
}

func (v *fixture) testRefusals(t *testing.T) {
	t.Helper()
	wrong := v.task
	wrong.Parameters = v.wrong
	if _, err := v.host.node.Delegate(t.Context(), v.id, wrong); !errors.Is(err, v.refusal) {
		t.Errorf("wrong parameters: %v", err)
	}
	unknown := performatives.TaskRequest{TaskType: "make_coffee"}
	if _, err := v.host.node.Delegate(t.Context(), v.id, unknown); !errors.Is(err, v.unknown) {
		t.Errorf("an unknown task: %v", err)
	}
}

func TestCancel(t *testing.T) {
	racetest.Skip(t)
	forEach(t, func(t *testing.T, v *fixture) {
		v.join(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d := v.begin(ctx, t)
		cancel()
		_, err := d.Wait()
		var end *codons.EndError
		if !errors.As(err, &end) || end.State != "cancelled" || !errors.Is(err, context.Canceled) {
			t.Errorf("want a receipt, got %v", err)
		}
		v.checkWithdrawn(t)
		v.delegate(t)
	})
}

func TestKill(t *testing.T) {
	racetest.Skip(t)
	forEach(t, func(t *testing.T, v *fixture) {
		cmd := v.join(t)
		d := v.begin(t.Context(), t)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Wait(); !errors.Is(err, performatives.CodeDisconnected) || !strings.Contains(err.Error(), "disconnected") {
			t.Errorf("want that the agent has disconnected, got %v", err)
		}
		v.checkWithdrawn(t)
		v.waitLeft(t)
		v.join(t)
		v.delegate(t)
	})
}

// TestReconnect closes the connection from the node's side.
func TestReconnect(t *testing.T) {
	racetest.Skip(t)
	forEach(t, func(t *testing.T, v *fixture) {
		v.join(t)
		d := v.begin(t.Context(), t)
		for _, s := range v.host.server.Sessions() {
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if _, err := d.Wait(); !errors.Is(err, performatives.CodeDisconnected) {
			t.Errorf("want that the agent has disconnected, got %v", err)
		}
		v.checkWithdrawn(t)
		v.waitJoined(t)
		v.delegate(t)
	})
}

func TestInterruptedRemote(t *testing.T) {
	racetest.Skip(t)
	caught := make(chan os.Signal, 1) // else a remote could inherit that the signal is ignored, as in a background job of a shell
	signal.Notify(caught, os.Interrupt)
	defer signal.Stop(caught)
	forEach(t, func(t *testing.T, v *fixture) {
		cmd := v.join(t)
		d := v.begin(t.Context(), t)
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Wait(); !errors.Is(err, performatives.CodeDisconnected) {
			t.Errorf("want that the agent has disconnected, got %v", err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the remote ends with %v", err)
		}
		v.waitLeft(t)
	})
}
