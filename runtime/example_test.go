package runtime_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// librarian replies to each message without a codon.
type librarian struct{}

func (librarian) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"books"}}
}

func (librarian) Receive(c *actors.Context, m *performatives.Message) {
	q, err := performatives.PayloadAs[performatives.TaskRequest](m)
	if err != nil {
		return
	}
	_ = c.Reply(m, performatives.InformResult{Status: performatives.StatusSuccess, Summary: "on " + q.Description})
}

func ExampleNew() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{Name: "n1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Librarian", func() actors.Agent { return librarian{} }); err != nil {
		fmt.Println(err)
		return
	}
	answer, err := node.Ask(ctx, "librarian", performatives.TaskRequest{TaskType: "find", Description: "shelf 3"})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := performatives.PayloadAs[performatives.InformResult](answer)
	fmt.Println(answer.Sender(), "says:", result.Summary, err)

	_, err = node.Ask(ctx, "nobody", performatives.TaskRequest{TaskType: "find", Description: "it"})
	fmt.Println(err)
	// Output:
	// Librarian says: on shelf 3 <nil>
	// there is no agent "nobody" (agent_not_found)
}

// shelf is a payload of the application's own.
type shelf struct {
	Number int `json:"number"`
}

// shelfClerk counts the books of a shelf.
type shelfClerk struct{}

func (shelfClerk) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (shelfClerk) Receive(c *actors.Context, m *performatives.Message) {
	s, err := performatives.PayloadAs[shelf](m)
	if err != nil {
		return
	}
	_ = c.ReplyAs(m, performatives.ActInform, performatives.Raw(fmt.Sprintf(`{"books":%d}`, 10*s.Number)))
}

// A payload of one's own implies no act, so that Ask has to be told one.
func ExampleWithAct() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Clerk", func() actors.Agent { return shelfClerk{} }); err != nil {
		fmt.Println(err)
		return
	}
	answer, err := node.Ask(ctx, "Clerk", shelf{3}, runtime.WithAct(performatives.ActRequest), runtime.WithMessageType("COUNT_BOOKS"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s\n", answer.Performative(), answer.Payload())
	// Output: INFORM {"books":30}
}

func ExampleNode_Events() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Stop(ctx) }()
	refused := node.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindMessageRefused}})
	defer refused.Close()

	_, _ = node.Ask(ctx, "nobody", performatives.TaskRequest{TaskType: "find", Description: "it"})
	r, err := refused.Next(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	e := r.Event.(events.MessageRefused)
	fmt.Println(r.Seq, r.Kind(), e.Message.Performative(), "to", e.Message.Receiver(), e.Refusal.Code)
	// Output: 1 message.refused TASK_REQUEST to nobody agent_not_found
}
