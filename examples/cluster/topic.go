package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// topics is how many topics are noted.
const topics = 12

// topic is the agent of one topic, such as topic/7. It counts its notes. The cluster places it, and it moves with its state.
type topic struct{ notes int }

var _ actors.Movable = (*topic)(nil)

// hostTopics makes a node one of those that run the agents of topics.
func hostTopics(node *runtime.Node) error {
	return node.RegisterKind("topic", runtime.Kind{New: func(performatives.AgentID) actors.Agent { return &topic{} }})
}

func (*topic) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"notes"}}
}

// ConsiderTask counts a note. It runs on the agent's actor, so that notes needs no lock.
func (t *topic) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	t.notes++
	return delegation.Accept()
}

func (t *topic) PerformTask(ctx context.Context, task delegation.Task) (performatives.InformResult, error) {
	var notes int
	err := task.Agent.Do(ctx, func(actors.Agent) { notes = t.notes })
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: fmt.Sprint(notes)}, err
}

// Snapshot returns the number of notes.
func (t *topic) Snapshot() ([]byte, error) { return strconv.AppendInt(nil, int64(t.notes), 10), nil }

// Restore takes over the number of notes.
func (t *topic) Restore(state []byte) (err error) {
	t.notes, err = strconv.Atoi(string(state))
	return err
}

// note adds a note to each topic, and returns an error if one does not have that many then.
func note(ctx context.Context, node *runtime.Node, want int) error {
	for i := range topics {
		id := performatives.AgentID(fmt.Sprint("topic/", i))
		result, err := node.Delegate(ctx, id, performatives.TaskRequest{TaskType: "note"})
		if err != nil {
			return err
		}
		if result.Summary != strconv.Itoa(want) {
			return fmt.Errorf("%s has %s notes, want %d", id, result.Summary, want)
		}
	}
	return nil
}

// allHost waits until all three nodes host the topics.
func allHost(ctx context.Context, node *runtime.Node) error {
	changed := node.Events().Subscribe(actors.SubscribeOptions{Kinds: []actors.Kind{runtime.KindHostsChanged}})
	defer changed.Close()
	for len(node.Hosts("topic")) < 3 {
		if _, err := changed.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// moveTopics has agents placed on the three nodes, and one node drain.
func moveTopics(ctx context.Context, node *runtime.Node, n3 process, say func(string, ...any)) error {
	if err := allHost(ctx, node); err != nil {
		return err
	}
	began := time.Now()
	if err := note(ctx, node, 1); err != nil {
		return err
	}
	say("%d topics, placed on %v, got a note each, which took %v", topics, node.Hosts("topic"), since(began))
	began = time.Now()
	n3.end()
	if err := note(ctx, node, 2); err != nil {
		return err
	}
	say("n3 has drained and left, and each topic has got its second note after %v", since(began))
	return nil
}
