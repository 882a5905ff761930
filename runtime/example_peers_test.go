package runtime_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/tcp"
)

// clerk performs each task by a greeting.
type clerk struct{}

func (clerk) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"greetings"}}
}

func (clerk) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (clerk) PerformTask(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "Hello, " + t.Description + "!"}, nil
}

// startNode starts a node with a clerk that accepts connections; end stops it.
func startNode(ctx context.Context) (url string, end func() error, err error) {
	node, err := runtime.New(runtime.Options{Name: "desk"})
	if err != nil {
		return "", nil, err
	}
	if err := node.Spawn(ctx, "Clerk", func() actors.Agent { return clerk{} }); err != nil {
		return "", nil, err
	}
	peers, err := runtime.NewPeers(node, runtime.PeerOptions{})
	if err != nil {
		return "", nil, err
	}
	server, err := wire.NewServer(wire.Options{Handler: peers, Dialects: []wire.Dialect{acl.Dialect{}}, Anonymous: true})
	if err != nil {
		return "", nil, err
	}
	listener, err := tcp.Listen(server, tcp.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		return "", nil, err
	}
	end = func() error { return errors.Join(server.Stop(ctx), listener.Stop(ctx), node.Stop(ctx)) }
	return "tcp://" + listener.Addr().String(), end, nil
}

// A node accepts connections, and another node delegates to its agents.
func ExampleNewPeers() {
	ctx := context.Background()
	url, end, err := startNode(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	node, err := runtime.New(runtime.Options{Name: "visitor"}) // must differ from the far node's name
	if err != nil {
		fmt.Println(err)
		return
	}
	up, err := node.Uplink(runtime.UplinkOptions{Dial: func(ctx context.Context, h wire.Handler) (*wire.Session, error) {
		conn, err := tcp.Dial(ctx, url, tcp.DialOptions{})
		if err != nil {
			return nil, err
		}
		return wire.Connect(conn, wire.Options{Handler: h, Dialects: []wire.Dialect{acl.Dialect{}}})
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := up.Connect(ctx); err != nil {
		fmt.Println(err)
		return
	}
	result, err := node.Delegate(ctx, "Clerk", performatives.TaskRequest{TaskType: "greet", Description: "world"})
	fmt.Println(result.Summary, err)
	fmt.Println(errors.Join(node.Stop(ctx), up.Stop(ctx), end()))
	// Output:
	// Hello, world! <nil>
	// <nil>
}
