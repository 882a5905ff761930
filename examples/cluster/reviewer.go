package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// reviewers are the ids of the pool of reviewers, one for each language.
var reviewers = []performatives.AgentID{
	"reviewer/c", "reviewer/go", "reviewer/java", "reviewer/kotlin", "reviewer/python", "reviewer/ruby", "reviewer/rust", "reviewer/sql", "reviewer/swift",
}

// reviewer is an agent of the kind "reviewer", such as reviewer/go. The cluster places it. It
// counts its reviews, and moves with their number.
type reviewer struct {
	node    string // that it runs on
	reviews int
}

var _ actors.Movable = (*reviewer)(nil)

// hostReviewers makes a node one of those that run reviewers.
func hostReviewers(node *runtime.Node) error {
	return node.RegisterKind("reviewer", runtime.Kind{New: func(performatives.AgentID) actors.Agent { return &reviewer{node: node.Name()} }})
}

// Describe returns the capabilities of the reviewer.
func (*reviewer) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Code Review"}, Actions: []performatives.Action{{Name: "review"}}}
}

// ConsiderTask accepts each review.
func (*reviewer) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

// PerformTask does the review. A long one ends only when it is cancelled.
func (r *reviewer) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	if t.Description == long {
		<-ctx.Done()
		return performatives.InformResult{}, context.Cause(ctx)
	}
	var reviews int
	err := t.Agent.Do(ctx, func(actors.Agent) { // on the agent's actor, so that r.reviews needs no lock
		r.reviews++
		reviews = r.reviews
	})
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: fmt.Sprintf(reviewed, reviews, r.node)}, err
}

const (
	long     = "long"
	reviewed = "no objections, in review %d on %s"
)

// Snapshot returns the number of reviews.
func (r *reviewer) Snapshot() ([]byte, error) { return fmt.Append(nil, r.reviews), nil }

// Restore takes over the number of reviews.
func (r *reviewer) Restore(state []byte) error {
	_, err := fmt.Sscan(string(state), &r.reviews)
	return err
}

// review is a review that a reviewer has done: on which node, and how many it had done then.
type review struct {
	node   string
	number int
}

// reviewBy has a reviewer do a review.
func reviewBy(ctx context.Context, node *runtime.Node, id performatives.AgentID) (r review, err error) {
	result, err := node.Delegate(ctx, id, performatives.TaskRequest{TaskType: "review"})
	if err != nil {
		return review{}, err
	}
	_, err = fmt.Sscanf(result.Summary, reviewed, &r.number, &r.node)
	return r, err
}

// longReview asks for a review that takes long. It calls accepted when the reviewer has begun.
func longReview(ctx context.Context, node *runtime.Node, id performatives.AgentID, accepted func()) error {
	task := performatives.TaskRequest{TaskType: "review", Description: long}
	_, err := node.Delegate(ctx, id, task, delegation.WithAccepted(func(performatives.TaskAccept) { accepted() }))
	return err
}

// reviewByAll has each reviewer do a review.
func reviewByAll(ctx context.Context, node *runtime.Node) (map[performatives.AgentID]review, error) {
	all := make(map[performatives.AgentID]review)
	for _, id := range reviewers {
		r, err := reviewBy(ctx, node, id)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		all[id] = r
	}
	return all, nil
}

// sayWhere prints which reviewers run on each node.
func sayWhere(all map[performatives.AgentID]review, say func(string, ...any)) {
	on := make(map[string][]string)
	for _, id := range reviewers {
		on[all[id].node] = append(on[all[id].node], string(id))
	}
	for _, node := range slices.Sorted(maps.Keys(on)) {
		say("  on %s: %s", node, strings.Join(on[node], ", "))
	}
}

// allHost waits until all three nodes host reviewers.
func allHost(ctx context.Context, node *runtime.Node) error {
	changed := node.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{runtime.KindHostsChanged}})
	defer changed.Close()
	for len(node.Hosts("reviewer")) < 3 {
		if _, err := changed.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// drain has n3 drain and leave, and each reviewer do one more review. None has lost its count.
func drain(ctx context.Context, node *runtime.Node, n3 process, say func(string, ...any)) error {
	before, err := reviewByAll(ctx, node)
	if err != nil {
		return err
	}
	began := time.Now()
	n3.end()
	after, err := reviewByAll(ctx, node)
	if err != nil {
		return err
	}
	for id, r := range after {
		if want := before[id].number + 1; r.number != want || r.node == "n3" {
			return fmt.Errorf("%s has done %d reviews, want %d; it runs on %s", id, r.number, want, r.node)
		}
	}
	say("n3 has drained and left, and each reviewer has gone on counting its reviews after %v", since(began))
	sayWhere(after, say)
	return nil
}
