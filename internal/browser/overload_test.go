package browser

import (
	"context"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
)

// jammed is an agent that decides about no task while it is jammed.
type jammed struct{ begun, decide chan struct{} }

func (jammed) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (j jammed) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	select {
	case j.begun <- struct{}{}:
	default: // not the first one
	}
	<-j.decide
	return delegation.Reject(performatives.CodeIncapable, "")
}

func (jammed) PerformTask(context.Context, delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess}, nil
}

// The overview says which node refuses work, while it does.
func testOverload(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	b := open(t, browser, n.url)
	b.goTo("")
	b.shows("main", "north")
	b.until(`!document.querySelector('main').textContent.includes('refuses new work')`)
	j := jammed{make(chan struct{}, 1), make(chan struct{})}
	n.spawn("Jammed", j)
	ctx := patience.Context(t)
	ask := func(ctx context.Context) { // in vain
		_, _ = n.Delegate(ctx, "Jammed", performatives.TaskRequest{TaskType: "dig"})
	}
	go ask(ctx)
	<-j.begun
	const tasks = 300
	for range tasks {
		go ask(ctx)
	}
	agent, _ := n.System().Lookup("Jammed")
	for waiting := 0; waiting < tasks; waiting, _ = agent.Backlog(performatives.Normal) {
		time.Sleep(time.Millisecond)
	}
	j.decide <- struct{}{} // it takes all that wait out of its mailbox
	refusing, end := context.WithCancel(ctx)
	defer end()
	go func() {
		for refusing.Err() == nil {
			soon, cancel := context.WithTimeout(refusing, 10*time.Millisecond)
			ask(soon)
			cancel()
			time.Sleep(100 * time.Millisecond) // the node is overloaded for a second
		}
	}()
	b.shows("main [role=status]", "north refuses new work that its processors cannot do in time: ")
	b.shows("#members ~ .scroll td.bad", "refuses new work")
	end()
	close(j.decide)
	b.until(`!document.querySelector('main').textContent.includes('refuses new work')`)
}
