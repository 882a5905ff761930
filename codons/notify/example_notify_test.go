package notify_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/notify"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// weather is the payload of a notice.
type weather struct {
	Text string `json:"text"`
}

// gardener is an agent that listens to the weather.
type gardener struct{ heard chan string }

func (gardener) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (g gardener) HandleNotice(_ context.Context, n notify.Notice) {
	w, err := performatives.PayloadAs[weather](n.Message)
	if err != nil {
		return // a notice about something else
	}
	g.heard <- fmt.Sprintf("%s says: %s", n.Message.Sender(), w.Text)
}

func ExampleNotify() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	heard := make(chan string, 1)
	if err := node.Spawn(ctx, "Gardener", func() actors.Agent { return gardener{heard: heard} }); err != nil {
		panic(err)
	}

	err = notify.Notify(node, "Gardener", weather{"rain tonight"})
	fmt.Println(<-heard, err)

	err = notify.Notify(node, "Sailor", weather{"rain tonight"})
	fmt.Println(errors.Is(err, performatives.CodeUnknownAgent), err)
	// Output:
	// node says: rain tonight <nil>
	// true there is no agent "Sailor" (agent_not_found)
}
