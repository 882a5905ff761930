package mesh

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	"github.com/ribosome-agents/ribosome/performatives"
)

// starter is an agent whose Start asks, and returns when the channel is closed.
type starter struct {
	still
	asks func(actors.Self)
	done chan struct{}
}

func (s starter) Start(c *actors.Context) error {
	go s.asks(c.Self)
	<-s.done
	return nil
}

// A placed agent asks while it starts. It is told that its request was not delivered.
func TestUndeliveredRequestOfAnAgentThatStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, k := newPlacing(t)
		c, n2 := beside(t, p, &sentLinks{})
		c.heard.note("theirs", heardOver{n2, true})
		p.draining.Store(false)
		v, a, err := p.reserve(k, "k/a", directory.Entry{})
		if err != nil {
			t.Fatal(err)
		}
		m := act(t, "q", performatives.ActRequest, func(e *performatives.Envelope) {
			e.Sender, e.Receiver, e.ReplyBy = "k/a", "theirs", time.Now().Add(time.Hour)
		})
		done, answers := make(chan struct{}), make(chan *performatives.Message, 1)
		agent := starter{done: done, asks: func(self actors.Self) {
			answer, err := self.Ask(t.Context(), m)
			if err != nil {
				t.Error(err)
			}
			answers <- answer
		}}
		go func() {
			if _, err := v.Spawn(t.Context(), actors.Spec{ID: "k/a", New: func() actors.Agent { return agent }}); err != nil {
				t.Error(err)
			}
			p.free(a)
		}()
		synctest.Wait()
		n2.Undelivered(m, &performatives.Refusal{Code: performatives.CodeBusy, Text: "full"})
		close(done)
		synctest.Wait() // until it has started
		if answer := <-answers; answer == nil || answer.AsRefusal() == nil || answer.AsRefusal().Code != performatives.CodeBusy {
			t.Errorf("the answer is %v", answer)
		}
		_ = stop(t.Context(), p.node)
	})
}
