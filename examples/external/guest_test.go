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

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// guest is an agent outside, in a language of its own.
type guest struct {
	name    string
	needs   string
	command func(context.Context, string, *host) (*exec.Cmd, error)
	id      performatives.AgentID
	task    performatives.TaskRequest
	helper  performatives.AgentID // to whom it delegates a part back
	back    string                // and as which task
	summary string
	reports []string // how it says that it gets on
	wrong   performatives.Content
	refusal performatives.Code // of a task with wrong parameters
	unknown performatives.Code // of a task that it does not know
}

var guests = []guest{
	{
		name: "python", needs: "python3", command: python, id: "Wordsmith", task: work["count_words"], helper: "Lexicon", back: "stop_words",
		summary: "30 words, above all: ribosome, messages, reads", reports: []string{"30 words are counted", "11 of them say little"},
		wrong: performatives.ContentOf(map[string]int{"text": 7}), refusal: performatives.CodeIncapable, unknown: performatives.CodeIncapable,
	},
	{
		name: "js", needs: "node", command: node, id: "Factorizer", task: work["prime_factors"], helper: "Arithmetic", back: "is_prime",
		summary: "1000000016000000063 = 1000000007 · 1000000009",
		reports: []string{"2 factors are found", "1000000007 is prime", "1000000009 is prime"},
		wrong:   performatives.ContentOf(map[string]string{"n": "seven"}), refusal: performatives.CodeInvalidPayload, unknown: performatives.CodeUnknownAction,
	},
}

// forEach runs a test for each guest that can run here.
func forEach(t *testing.T, test func(*testing.T, *visit)) {
	for _, g := range guests {
		t.Run(g.name, func(t *testing.T) {
			needs(t, g.needs)
			test(t, newVisit(t, g))
		})
	}
}

func TestTask(t *testing.T) {
	forEach(t, func(t *testing.T, v *visit) {
		v.join(t)
		v.delegate(t)
		if want, got := []string{"TASK_ACCEPT", "STATUS_UPDATE", "STATUS_UPDATE", "INFORM_RESULT"}, v.helperSays(); !slices.Equal(got, want) {
			t.Errorf("%s says %v, want %v", v.helper, got, want)
		}
		v.delegate(t)
		v.testRefusals(t)
	})
}

// helperSays returns what the helper has said to the guest.
func (v *visit) helperSays() (acts []string) {
	for len(v.said.C) > 0 {
		if m := (<-v.said.C).Message; m.Sender().Is(v.helper) && m.Receiver().Is(v.id) {
			acts = append(acts, m.Performative().String())
		}
	}
	return acts
}

func (v *visit) testRefusals(t *testing.T) {
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
	forEach(t, func(t *testing.T, v *visit) {
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
		v.withdrawn(t)
		v.delegate(t)
	})
}

func TestKill(t *testing.T) {
	forEach(t, func(t *testing.T, v *visit) {
		cmd := v.join(t)
		d := v.begin(t.Context(), t)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Wait(); !errors.Is(err, performatives.CodeDisconnected) || !strings.Contains(err.Error(), "disconnected") {
			t.Errorf("want that the agent has disconnected, got %v", err)
		}
		v.withdrawn(t)
		v.farewell(t)
		v.join(t)
		v.delegate(t)
	})
}

// TestReconnect closes the connection from the node's side.
func TestReconnect(t *testing.T) {
	forEach(t, func(t *testing.T, v *visit) {
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
		v.withdrawn(t)
		v.welcome(t)
		v.delegate(t)
	})
}

func TestInterruptedGuest(t *testing.T) {
	caught := make(chan os.Signal, 1) // a guest inherits that nobody listens, as in the background of a shell
	signal.Notify(caught, os.Interrupt)
	defer signal.Stop(caught)
	forEach(t, func(t *testing.T, v *visit) {
		cmd := v.join(t)
		d := v.begin(t.Context(), t)
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Wait(); !errors.Is(err, performatives.CodeDisconnected) {
			t.Errorf("want that the agent has disconnected, got %v", err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the guest ends with %v", err)
		}
		v.farewell(t)
	})
}
