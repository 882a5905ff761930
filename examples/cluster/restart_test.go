package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Each node of a cluster is restarted in turn, as a process, while notes are taken without a pause. Each note is taken, and none twice.
func TestRollingRestart(t *testing.T) {
	asker, err := newNode("asker")
	if err != nil {
		t.Fatal(err)
	}
	defer program.StopNode(asker)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var nodes [3]process
	begin := func(i int) {
		if nodes[i], err = start(fmt.Sprint("host", i+1), asker.Members()[0].Gossip); err != nil {
			t.Fatal(err)
		}
	}
	for i := range nodes {
		begin(i)
		defer func() { nodes[i].end() }()
	}
	if err := allHost(ctx, asker); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var notes [topics]int
	var longest [topics]time.Duration
	var asking sync.WaitGroup
	for i := range topics {
		asking.Go(func() {
			for {
				began := time.Now()
				got, err := noteOf(ctx, asker, i)
				switch notes[i]++; {
				case err != nil:
					t.Errorf("note %d of topic %d: %v", notes[i], i, err)
					return
				case got != notes[i]:
					t.Errorf("topic %d has %d notes, want %d", i, got, notes[i])
					return
				}
				longest[i] = max(longest[i], time.Since(began))
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range nodes {
		began := time.Now()
		nodes[i].end()
		drained := time.Since(began)
		begin(i)
		if err := allHost(ctx, asker); err != nil {
			t.Fatal(err)
		}
		t.Logf("host%d has drained in %v, and hosts again after %v", i+1, drained, time.Since(began))
	}
	close(stop)
	asking.Wait()
	all, most := 0, time.Duration(0)
	for i := range topics {
		all, most = all+notes[i], max(most, longest[i])
	}
	t.Logf("%d notes were taken; the longest took %v", all, most)
}

// noteOf adds a note to a topic, and returns how many it has then.
func noteOf(ctx context.Context, on codons.Party, i int) (int, error) {
	result, err := delegation.Delegate(ctx, on, performatives.AgentID(fmt.Sprint("topic/", i)), performatives.TaskRequest{TaskType: "note"},
		codons.WithRetry(codons.Retry{}))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(result.Summary)
}
