package observe

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// A recorder that cannot go on delays no publisher; what it loses is counted.
func TestLossIsCounted(t *testing.T) {
	n, err := runtime.New(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(t.Context()); err != nil { // the events of its own agent are over
		t.Fatal(err)
	}
	r, err := New(n, Options{Queue: 2})
	if err != nil {
		t.Fatal(err)
	}
	mu := r.lock()
	for _, id := range []performatives.MessageID{"1", "2", "3", "4", "5"} {
		m, err := performatives.New(performatives.Envelope{
			ID: id, Performative: performatives.ActInform, Sender: "a", Receiver: "b", ConversationID: "c", Timestamp: time.Unix(1, 0),
		})
		if err != nil {
			t.Fatal(err)
		}
		n.Events().Publish(actors.MessageSent{Message: m})
	}
	mu.Unlock()
	r.Close()
	if c, _ := r.Conversation("c"); c.Count != 2 || r.Counts().Lost != 3 {
		t.Errorf("%+v %+v", c, r.Counts())
	}
}
