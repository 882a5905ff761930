// Way delegates tasks to an agent of its node and to one of another node, for TestWay. It is built
// with the counters of the compiler's coverage. It writes them to the folders here and there below
// its working directory.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"runtime/coverage"
	"slices"
	"strconv"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

type worker struct{}

func (worker) Describe() performatives.Capabilities {
	return performatives.Capabilities{Actions: []performatives.Action{{Name: "review"}}}
}

func (worker) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (worker) PerformTask(context.Context, delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess}, nil
}

func main() {
	rounds, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	one := node("n1")
	two := node("n2", one.Members()[0].Gossip)
	for id, n := range map[performatives.AgentID]*runtime.Node{"here": one, "there": two} {
		if err := n.Spawn(ctx, id, func() actors.Agent { return worker{} }); err != nil {
			log.Fatal(err)
		}
	}
	for !slices.Contains(one.Directory().IDs(), "there") {
		time.Sleep(time.Millisecond)
	}
	for _, to := range []performatives.AgentID{"here", "there"} {
		for i := range rounds + 1 {
			if i == 1 { // what is asked or compiled once has been
				if err := coverage.ClearCounters(); err != nil {
					log.Fatal(err)
				}
			}
			if _, err := one.Delegate(ctx, to, performatives.TaskRequest{TaskType: "review"}); err != nil {
				log.Fatal(err)
			}
		}
		if err := os.Mkdir(string(to), 0o700); err != nil {
			log.Fatal(err)
		}
		if err := coverage.WriteMetaDir(string(to)); err != nil {
			log.Fatal(err)
		}
		if err := coverage.WriteCountersDir(string(to)); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("done")
}

func node(name string, join ...string) *runtime.Node {
	n, err := runtime.New(runtime.Options{Name: name, Cluster: &runtime.ClusterOptions{Gossip: "127.0.0.1:0", Join: join}})
	if err != nil {
		log.Fatal(err)
	}
	return n
}
