package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Of a node that stops or drains, the others see that it has left and not that it has failed. A
// task that its agents perform is finished. All other conversations with them end because these
// agents stop: the others are told before they lose the node, which would end what is open as
// disconnected.
func TestNodeLeaves(t *testing.T) {
	for name, leave := range map[string]func(*runtime.Node, context.Context) error{"Stop": (*runtime.Node).Stop, "Drain": (*runtime.Node).Drain} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for gossip, mostly
			testNodeLeaves(t, leave)
		})
	}
}

func testNodeLeaves(t *testing.T, leave func(*runtime.Node, context.Context) error) {
	t.Helper()
	nodes := newCluster(t, 3)
	stay, leaves := nodes[:2], nodes[2]
	began, finish := make(chan struct{}, 4), make(chan struct{})
	news := always(scripted{topics: []string{"x"}})
	publishes := func() actors.Agent {
		return &publisher{*news().(*scripted), subscribe.NewTopic[int](subscribe.TopicOptions{})}
	}
	spawn(t, leaves, "Works", func() actors.Agent { return colleague{delay: finish, began: began} })
	spawn(t, leaves, "Silent", always(scripted{topics: []string{"x"}, receive: func(*actors.Context, *p.Message) { began <- struct{}{} }}))
	spawn(t, leaves, "Publishes", publishes)
	spawn(t, stay[0], "Stays", publishes)

	var lost []*record
	results, ends := make(chan error, 2), make(chan error, 4)
	for _, n := range stay {
		for _, id := range []p.AgentID{"Works", "Silent", "Publishes"} {
			knowsTopic(t, n, id)
		}
		lost = append(lost, listen(t, n, runtime.KindMemberLost))
		go func() {
			_, err := n.Delegate(patience.Context(t), "Works", p.TaskRequest{TaskType: "review"})
			results <- err
		}()
		go func() {
			_, err := n.Ask(patience.Context(t), "Silent", p.Raw(`{}`), runtime.WithAct(p.ActRequest))
			ends <- err
		}()
		stream, err := subscribe.Subscribe[int](patience.Context(t), n, "Publishes", subscribe.Subscription{Topic: "x"}, subscribe.WithResume(codons.Retry{}, -1))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := stream.Next(patience.Context(t))
			ends <- err
		}()
	}
	knowsTopic(t, leaves, "Stays")
	if _, err := subscribe.Subscribe[int](patience.Context(t), leaves, "Stays", subscribe.Subscription{Topic: "x"}); err != nil {
		t.Fatal(err)
	}
	subscriptions := listen(t, stay[0], lifecycle.KindTransition)
	for range cap(began) {
		<-began
	}

	left := make(chan error, 1)
	go func() { left <- leave(leaves, patience.Context(t)) }()
	close(finish)
	if err := <-left; err != nil {
		t.Error(err)
	}
	for range cap(results) {
		if err := <-results; err != nil {
			t.Errorf("a task that an agent of the node performs ends with %v", err)
		}
	}
	for range cap(ends) {
		if err := <-ends; !errors.Is(err, p.CodeStopped) {
			t.Errorf("a conversation with an agent of the node ends with %v, want %v", err, p.CodeStopped)
		}
	}
	for i, n := range stay {
		if e := await[runtime.MemberLost](t, lost[i], 1, nil); e[0].Node != leaves.Name() || e[0].Reason != "left" {
			t.Errorf("%s sees %+v", n.Name(), e[0])
		}
		if all, _ := n.Links(); all != 1 {
			t.Errorf("%s has %d links, want one", n.Name(), all)
		}
	}
	ended := await[lifecycle.Transition](t, subscriptions, 1, func(e lifecycle.Transition) bool { return e.Ended && e.Agent == "Stays" })
	if ended[0].To != "cancelled" {
		t.Errorf("the subscription of the node ends as %s", ended[0].To)
	}
}
