package mediation_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/mediation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// retriever is an agent that finds documents. It needs no code for being recruited.
type retriever struct{}

func (retriever) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Retrieval"}}
}

func (retriever) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (retriever) PerformTask(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "3 documents on " + t.Description}, nil
}

// author is an agent that receives the documents that another agent asked for.
type author struct{}

func (author) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (author) HandleDelivery(_ context.Context, d mediation.Delivery) error {
	fmt.Println("from", d.Recruit, "for", d.TaskType+":", d.Result.Summary)
	return nil
}

// In rag, the agent that asks for a retrieval is not the agent that gets the result.
func ExampleRecruit() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	coordinator := &mediation.Broker{Agents: func(context.Context) ([]performatives.AgentID, error) {
		return node.Directory().IDs(), nil
	}}
	for id, agent := range map[performatives.AgentID]actors.Agent{"RetrievalAgent": retriever{}, "LLMResponseAgent": author{}, "Coordinator": coordinator} {
		if err := node.Spawn(ctx, id, func() actors.Agent { return agent }); err != nil {
			panic(err)
		}
	}

	proxy := mediation.Proxy{
		Capabilities: []string{"retrieval"},
		Task:         performatives.TaskRequest{TaskType: "retrieval_request", Description: "ribosomes"},
		Receiver:     "LLMResponseAgent",
	}
	got, err := mediation.Recruit(ctx, node, "Coordinator", proxy)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(got.Deliveries), got.Recruits[0].Agent, got.Recruits[0].Delivered)

	proxy.Receiver = "" // the node itself
	got, err = mediation.Recruit(ctx, node, "Coordinator", proxy)
	if err != nil {
		panic(err)
	}
	fmt.Println(got.Deliveries[0].Result.Summary)
	// Output:
	// from RetrievalAgent for retrieval_request: 3 documents on ribosomes
	// 0 RetrievalAgent true
	// 3 documents on ribosomes
}
