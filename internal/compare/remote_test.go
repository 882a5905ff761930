package compare

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// system is two nodes on loopback without TLS, of one kind. On the second one is an actor that
// either takes what comes, or sends it back.
type system struct {
	// tell sends a message of 1 KiB to the actor on the other node, which calls the function that
	// begin got. It may be called by one goroutine only.
	tell func() error

	// ask sends a message of 1 KiB, and waits for its answer of 1 KiB. It may be called by many
	// goroutines.
	ask func(ctx context.Context) error
}

// contender is what is compared.
type contender struct {
	name string

	// start starts a system. took is called, on any goroutine, for each message that tell has sent.
	start func(b testing.TB, took func()) system
}

// begin starts a system, and asks once: remote connects its nodes at the first message.
func (c contender) begin(b testing.TB, took func()) system {
	b.Helper()
	s := c.start(b, took)
	if err := s.ask(b.Context()); err != nil {
		b.Fatal(err)
	}
	return s
}

// contenders returns Ribosome and protoactor's remote. Only one system runs at a time: what the
// garbage collector has to mark is part of what a message costs. Under the race detector it is
// Ribosome alone: remote sets gRPC's logger, which is one for the process, while that is in use.
func contenders() []contender {
	all := []contender{{"ribosome", ribosome}}
	if !raceEnabled {
		all = append(all, contender{"protoactor", protoactor})
	}
	return all
}

// text is the 1,000 letters of each message.
var text = strings.Repeat("x", 1000)

// echo is an agent that sends back what it is asked, and counts what it is told.
type echo struct{ took func() }

func (echo) Describe() p.Capabilities {
	return p.Capabilities{Actions: []p.Action{{Name: "echo"}}}
}

func (e echo) Receive(c *actors.Context, m *p.Message) {
	if m.Performative().ExpectsReply() {
		_ = c.ReplyAs(m, p.ActInform, m.Payload()) // it ends the request, as an answer of remote does; the asker's deadline notices an error
		return
	}
	e.took()
}

// ribosome begins two nodes of Ribosome.
func ribosome(b testing.TB, took func()) system {
	b.Helper()
	near := node(b, "near")
	far := node(b, "far", near.Members()[0].Gossip)
	if err := far.Spawn(b.Context(), "echo", func() actors.Agent { return echo{took} }); err != nil {
		b.Fatal(err)
	}
	known := near.Events().Subscribe(events.SubscribeOptions{Capacity: 1 << 10})
	defer known.Close()
	ctx, cancel := context.WithTimeout(b.Context(), patience.Time)
	defer cancel()
	for {
		if _, ok := near.Directory().Lookup("echo"); ok {
			break
		}
		if _, err := known.Next(ctx); err != nil {
			b.Fatal(err)
		}
	}
	client, err := near.Client(b.Context(), "client")
	if err != nil {
		b.Fatal(err)
	}
	payload := p.Raw(fmt.Sprintf(`{"text":%q}`, text))
	return system{
		tell: func() error {
			stamp := client.Stamp()
			m, err := p.New(p.Envelope{
				ID: stamp.ID, Timestamp: stamp.Time, Performative: p.ActInform, Sender: "client", Receiver: "echo",
				ConversationID: "bench", Payload: payload,
			})
			if err != nil {
				return err
			}
			return client.Send(m)
		},
		ask: func(ctx context.Context) error {
			_, err := near.Ask(ctx, "echo", payload, runtime.WithAct(p.ActRequest))
			return err
		},
	}
}

// node begins a node.
func node(b testing.TB, name string, join ...string) *runtime.Node {
	b.Helper()
	n, err := runtime.New(runtime.Options{
		Name: name, Logger: slog.New(slog.DiscardHandler), Cluster: &runtime.ClusterOptions{Gossip: "127.0.0.1:0", Join: join},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
		defer cancel()
		if err := n.Stop(ctx); err != nil {
			b.Error(err)
		}
	})
	return n
}

// protoactor begins two actor systems with protoactor's remote. Its messages are protobuf's; the
// one here is a string.
func protoactor(b testing.TB, took func()) system {
	b.Helper()
	near, _ := remoteSystem(b)
	far, address := remoteSystem(b)
	if _, err := far.Root.SpawnNamed(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *wrapperspb.StringValue:
			if c.Sender() != nil {
				c.Respond(m)
				return
			}
			took()
		}
	}), "echo"); err != nil {
		b.Fatal(err)
	}
	to := actor.NewPID(address, "echo")
	message := wrapperspb.String(text)
	return system{
		tell: func() error { near.Root.Send(to, message); return nil },
		ask: func(context.Context) error {
			_, err := near.Root.RequestFuture(to, message, patience.Time).Result()
			return err
		},
	}
}

// remoteSystem begins an actor system that others reach, and returns its address.
func remoteSystem(b testing.TB) (*actor.ActorSystem, string) {
	b.Helper()
	s := actor.NewActorSystemWithConfig(actor.Configure(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler)
	})))
	r := remote.NewRemote(s, remote.Configure("127.0.0.1", 0))
	r.Start()
	b.Cleanup(func() { r.Shutdown(false) })
	return s, s.ProcessRegistry.Address
}

// TestSystems has each of the systems tell and ask once: what is compared does the same.
func TestSystems(t *testing.T) {
	for _, c := range contenders() {
		t.Run(c.name, func(t *testing.T) {
			took := make(chan struct{}, 1)
			s := c.begin(t, func() { took <- struct{}{} })
			if err := s.ask(t.Context()); err != nil {
				t.Errorf("ask: %v", err)
			}
			if err := s.tell(); err != nil {
				t.Errorf("tell: %v", err)
			}
			select {
			case <-took:
			case <-time.After(patience.Time):
				t.Error("what was told did not come")
			}
		})
	}
}

// BenchmarkOneWay sends messages of 1 KiB from an actor of one node to one of another, with at most
// 1,024 on the way.
func BenchmarkOneWay(b *testing.B) {
	const window = 1024
	for _, c := range contenders() {
		b.Run(c.name, func(b *testing.B) {
			got := make(chan struct{}, window)
			s := c.begin(b, func() { got <- struct{}{} })
			b.SetBytes(1 << 10)
			b.ReportAllocs()
			waiting := 0
			for b.Loop() {
				if waiting == window {
					<-got
					waiting--
				}
				if err := s.tell(); err != nil {
					b.Fatal(err)
				}
				waiting++
			}
			for range waiting {
				<-got
			}
		})
	}
}

// BenchmarkAsk asks an actor of another node, with one and with 64 questions under way.
func BenchmarkAsk(b *testing.B) {
	for _, c := range contenders() {
		b.Run(c.name+"/1", func(b *testing.B) {
			s := c.begin(b, func() {})
			b.ReportAllocs()
			for b.Loop() {
				if err := s.ask(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/64", func(b *testing.B) {
			s := c.begin(b, func() {})
			b.ReportAllocs()
			b.ResetTimer()
			b.SetParallelism(32) // on two cores
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := s.ask(b.Context()); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
