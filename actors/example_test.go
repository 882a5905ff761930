package actors_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

func quietSystem() *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}))
}

type job struct {
	name     string
	priority performatives.Priority
}

func (j job) Priority() performatives.Priority { return j.priority }

func ExampleMailbox() {
	sim := actors.NewSim(actors.SimOptions{})
	props := actor.PropsFromFunc(func(c actor.Context) {
		if j, ok := c.Message().(job); ok {
			fmt.Println(j.name)
		}
	}, actor.WithDispatcher(sim), actor.WithMailbox(actors.MailboxProducer(actors.MailboxOptions{
		Capacity: 2,
		OnRefuse: func(m any, why actors.Reason) { fmt.Printf("refused %s: %v\n", m.(job).name, why) },
	})))
	system := quietSystem()
	pid := system.Root.Spawn(props)
	system.Root.Send(pid, job{"sweep", performatives.Low})
	system.Root.Send(pid, job{"wipe", performatives.Low})
	system.Root.Send(pid, job{"dust", performatives.Low})
	system.Root.Send(pid, job{"put out the fire", performatives.Urgent})
	sim.Run()
	// Output:
	// refused dust: full
	// put out the fire
	// sweep
	// wipe
}

func ExampleAsk() {
	pool := actors.NewPool(actors.PoolOptions{})
	defer func() { _ = pool.Close(context.Background()) }()
	system := quietSystem()
	pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if n, ok := c.Message().(int); ok {
			c.Respond(n * n)
		}
	}, actor.WithDispatcher(pool), actor.WithMailbox(actors.MailboxProducer(actors.MailboxOptions{}))))
	fmt.Println(actors.Ask(context.Background(), system, pid, 7, time.Second))

	_ = system.Root.StopFuture(pid).Wait()
	_, err := actors.Ask(context.Background(), system, pid, 7, time.Second)
	fmt.Println(errors.Is(err, actors.ErrStopped))
	// Output:
	// 49 <nil>
	// true
}

func ExampleBackoff() {
	b := actors.Backoff{Min: time.Second, Max: 5 * time.Second}
	for attempt := 1; attempt <= 4; attempt++ {
		fmt.Println(b.Delay(attempt, nil))
	}
	// Output:
	// 1s
	// 2s
	// 4s
	// 5s
}
