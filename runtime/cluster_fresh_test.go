package runtime_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
)

// dialectsAt serves all dialects at a node, and returns how to connect to it.
func dialectsAt(t *testing.T, n *runtime.Node) func(context.Context) (wire.Conn, error) {
	t.Helper()
	h := newHubOf(t, n, noPeerOptions, func(o *wire.Options) { o.Dialects = allDialects(t) })
	addr := serve(t, overTCP, h.server)
	return func(ctx context.Context) (wire.Conn, error) { return overTCP.dial(ctx, addr) }
}

// A program works at one node. Its asker has just begun at another node, whose directory entry has
// not arrived yet. The asker gets the result: an agent in Go, and a program of each dialect.
func TestWorkerOfANewAsker(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := newCluster(t, 2)
	atFirst, atSecond := dialectsAt(t, nodes[0]), dialectsAt(t, nodes[1])
	for worker, f := range interopSpeakers {
		connectForeign(t, worker+"-worker", f, atSecond)
		knows(t, nodes[0], p.AgentID(worker+"-worker"), "n2")
	}
	for worker := range interopSpeakers {
		to := worker + "-worker"
		for asker, f := range interopSpeakers {
			t.Run(asker+" asks "+worker, func(t *testing.T) {
				name := asker + "-asks-" + worker
				program := dialForeign(t, name, f, atFirst)
				if asker == "bridge" { // which has a handshake before all else
					program.write(f.introduce(name))
					program.hear(heardWelcome)
				}
				program.write(f.ask(name, "call-"+name, to, "double", 21))
				if h := program.hear(heardResult); h.n != 42 {
					t.Errorf("got %s", h.text)
				}
			})
		}
		t.Run("a client in Go asks "+worker, func(t *testing.T) {
			for i := range 4 {
				client, err := nodes[0].Client(patience.Context(t), p.AgentID(fmt.Sprint("client-", i, "-of-", worker)))
				if err != nil {
					t.Fatal(err)
				}
				r, err := delegation.Delegate(patience.Context(t), client, p.AgentID(to), p.TaskRequest{TaskType: "double", Parameters: p.ContentOf(map[string]float64{"n": 21})})
				if got, errDecode := p.Decode[numbered](r.Details); err != nil || errDecode != nil || got.N != 42 {
					t.Errorf("got %+v, %v, %v", r, err, errDecode)
				}
			}
		})
	}
}

// An agent beyond the uplink of one node is asked by agents that have just begun at another node.
func TestAgentBeyondAnUplinkOfANewAsker(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := newCluster(t, 2)
	h := newHub(t, noPeerOptions)
	h.spawn("Eliza", always(scripted{topics: []string{"x"}, receive: echo}))
	o := newOutpostOf(t, nodes[0], h)
	spawn(t, nodes[1], "Rev", always(scripted{topics: []string{"y"}, receive: echo}))
	knowsTopic(t, nodes[0], "Rev")
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	h.awaitVisible("Rev")
	eliza, ok := h.System().Lookup("Eliza")
	if !ok {
		t.Fatal("Eliza is not there")
	}
	if _, err := eliza.Ask(patience.Context(t), message(t, "Eliza", "Rev", p.ActRequest)); err != nil { // the node of Rev hears of Eliza
		t.Fatal(err)
	}
	for i := range 20 {
		client, err := nodes[1].Client(patience.Context(t), p.AgentID(fmt.Sprint("client", i)))
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := client.Ask(patience.Context(t), message(t, client.ID(), "Eliza", p.ActRequest)); err != nil || answer.Performative() != p.ActInform {
			t.Fatalf("client %d got %v, %v", i, answer, err)
		}
	}
}

// The node of an asker dies that has just begun: the program that works for it is told to stop.
func TestNodeOfANewAskerDies(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := join(t, 2, newMortalMember)
	worker := connectForeign(t, "worker", aclSpeaker{}, dialectsAt(t, nodes[1]))
	knows(t, nodes[0], "worker", "n2")
	client, err := nodes[0].Client(patience.Context(t), "new")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = delegation.Delegate(patience.Context(t), client, "worker", p.TaskRequest{TaskType: "wait", Parameters: p.ContentOf(map[string]float64{"n": 1})})
	}()
	expect(t, "the worker begins", worker.began, 1)
	crash(t, nodes[0])
	expect(t, "the worker stops", worker.stops, 1)
}
