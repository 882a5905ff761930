package codons_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// retriever finds documents. It need not know that it can be recruited.
type retriever struct{}

func (retriever) Describe() p.Capabilities { return p.Capabilities{Topics: []string{"Retrieval"}} }

func (retriever) ConsiderTask(context.Context, codons.Task) codons.Decision { return codons.Accept() }

func (retriever) PerformTask(_ context.Context, t codons.Task) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess, Summary: "3 documents on " + t.Description}, nil
}

// author makes an answer of the documents that others had retrieved for it.
type author struct{ poet }

func (author) HandleDelivery(_ context.Context, d codons.Delivery) error {
	fmt.Println("from", d.Recruit, "for", d.TaskType+":", d.Result.Summary)
	return nil
}

// As in rag: who asks for the retrieval is not who gets its result.
func ExampleRecruit() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "RetrievalAgent", retriever{})
	spawn(ctx, system, "LLMResponseAgent", author{})
	spawn(ctx, system, "Coordinator", everybody(system))
	user := spawn(ctx, system, "User", poet{})

	proxy := codons.Proxy{
		Capabilities: []string{"retrieval"},
		Task:         p.TaskRequest{TaskType: "retrieval_request", Description: "ribosomes"},
		Receiver:     "LLMResponseAgent",
	}
	got, err := codons.Recruit(ctx, user, "Coordinator", proxy)
	fmt.Println(len(got.Deliveries), got.Recruits[0].Agent, got.Recruits[0].Delivered, err)

	proxy.Receiver = "" // the user itself
	got, err = codons.Recruit(ctx, user, "Coordinator", proxy)
	fmt.Println(got.Deliveries[0].Result.Summary, err)
	// Output:
	// from RetrievalAgent for retrieval_request: 3 documents on ribosomes
	// 0 RetrievalAgent true <nil>
	// 3 documents on ribosomes <nil>
}
