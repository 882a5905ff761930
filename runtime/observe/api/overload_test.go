package api_test

import (
	"bufio"
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
)

// jammed is an agent that decides about no task while it is jammed.
type jammed chan struct{}

func (jammed) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (j jammed) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	<-j
	return delegation.Accept()
}

func (jammed) PerformTask(context.Context, delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess}, nil
}

// The counts of a node say that it refuses what it cannot do in time, until it has refused nothing
// for a second.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, h, _ := serve(t, nil)
		type load struct {
			Overloaded bool   `json:"overloaded"`
			Refused    uint64 `json:"overload_refused"`
			Queued     *int   `json:"queued_handlers"`
		}
		want := func(refuses bool, refused uint64) {
			t.Helper()
			if got := read[load](t, h, "/api/node"); got.Overloaded != refuses || got.Refused != refused || got.Queued == nil || *got.Queued != 0 {
				t.Errorf("got %+v, want %v and %d", got, refuses, refused)
			}
		}
		j := make(jammed)
		if err := n.Spawn(patience.Context(t), "jammed", func() actors.Agent { return j }); err != nil {
			t.Fatal(err)
		}
		ctx := patience.Context(t)
		var tasks sync.WaitGroup
		for i := range 300 {
			tasks.Go(func() {
				if _, err := n.Delegate(ctx, "jammed", performatives.TaskRequest{TaskType: "work"}); err != nil {
					t.Error(err)
				}
			})
			if i == 0 {
				synctest.Wait() // it decides about the first one
			}
		}
		synctest.Wait()
		j <- struct{}{} // it takes all others out of its mailbox
		time.Sleep(time.Second)
		want(false, 0)
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := n.Delegate(soon, "jammed", performatives.TaskRequest{TaskType: "work"}); !errors.Is(err, performatives.CodeBusy) {
			t.Errorf("got %v", err)
		}
		want(true, 1)
		close(j)
		tasks.Wait()
		time.Sleep(5 * time.Second)
		want(false, 1)
	})
}

// A stream without a filter says of which node it is that it begins or ends to refuse.
func TestEventsOfOverload(t *testing.T) {
	n, h, _ := serve(t, nil)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	first := func(lines *bufio.Scanner) string {
		var text strings.Builder
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
			text.WriteString(lines.Text() + "\n")
		}
		return text.String() + lines.Text()
	}
	all, some := streamOf(t, server, ""), streamOf(t, server, "conversation=c")
	at := events.At{Time: time.Now()}
	n.Events().Publish(events.Overload{At: at, Refusing: true, Refused: 7, Queued: 5, Working: 2})
	n.Events().Publish(lifecycle.Ended{At: at, Subject: &lifecycle.Subject{Conversation: "c", Agent: "a"}, State: standard.StateAbandoned})
	if got := first(all); !strings.Contains(got, "event: node.overload\n") || !strings.HasSuffix(got, `"node":"`+n.Name()+`","refusing":true,"refused":7,"queued":5,"working":2}`) {
		t.Error(got)
	}
	if got := first(some); !strings.Contains(got, "event: conversation.ended\n") {
		t.Error(got)
	}
	h.Close()
}
