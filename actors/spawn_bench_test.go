package actors

import (
	"context"
	"strconv"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// idler is an agent, and idle an actor, without behaviour.
type idler struct{}

func (idler) Describe() performatives.Capabilities { return performatives.Capabilities{} }

type idle struct{}

func (idle) Receive(actor.Context) {}

// spawners returns constructors of two functions: spawn creates the i-th agent, or the
// i-th plain actor with the engine's mailbox, and stop stops all of them.
func spawners(b *testing.B) map[string]func() (spawn func(i int), stop func()) {
	return map[string]func() (func(int), func()){
		"agent": func() (func(int), func()) {
			s, err := NewSystem(Options{})
			if err != nil {
				b.Fatal(err)
			}
			ctx := context.Background()
			return func(i int) {
					if _, err := s.Spawn(ctx, Spec{ID: performatives.AgentID(strconv.Itoa(i)), New: func() Agent { return idler{} }}); err != nil {
						b.Fatal(err)
					}
				}, func() {
					if err := s.Stop(ctx); err != nil {
						b.Error(err)
					}
				}
		},
		"bare": func() (func(int), func()) {
			s := newSystem()
			props := actor.PropsFromProducer(func() actor.Actor { return idle{} })
			parent := make(chan actor.Context, 1)
			pid := s.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if _, ok := c.Message().(*actor.Started); ok {
					parent <- c
				}
			}))
			c := <-parent
			return func(i int) { // the cheapest way of the engine
					if _, err := c.SpawnNamed(props, strconv.Itoa(i)); err != nil {
						b.Fatal(err)
					}
				}, func() {
					_ = s.Root.StopFuture(pid).Wait()
					s.Shutdown()
				}
		},
	}
}

// BenchmarkSpawnAgent measures the time to spawn an agent, with a plain actor as the
// baseline.
func BenchmarkSpawnAgent(b *testing.B) {
	for name, start := range spawners(b) {
		b.Run(name, func(b *testing.B) {
			spawn, stop := start()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				spawn(i)
				i++
			}
			b.StopTimer()
			stop()
		})
	}
}
