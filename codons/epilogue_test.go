package codons

import (
	goruntime "runtime"
	"testing"
	"weak"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// What answers late messages must not keep the conversation, its handler and all
// that was said in memory.
func TestEpilogueKeepsNoConversation(t *testing.T) {
	for _, role := range machine.Roles() {
		c := newConversation(actors.Self{}, delegation, role, actors.Key{ID: "c"}, aRequest(t), silent{})
		c.seen = append(c.seen, "m")
		c.sent = append(c.sent, aRequest(t))
		conversation := weak.Make(c)
		answer := c.epilogue()
		c = nil
		goruntime.GC()
		if conversation.Value() != nil {
			t.Errorf("%s: the conversation is still there", role)
		}
		goruntime.KeepAlive(answer)
	}
}

func aRequest(t *testing.T) *p.Message {
	t.Helper()
	m, err := p.New(p.Envelope{
		ID: "m", Sender: "a", Receiver: "b", Timestamp: p.Stamp{}.Time.AddDate(2000, 0, 0),
		Payload: p.TaskRequest{TaskType: "x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A conversation has room for three timers.
func TestTablesHaveFewTimers(t *testing.T) {
	for _, table := range tables() {
		n := map[machine.Role]int{}
		for _, timer := range table.Timers {
			if n[timer.Role]++; n[timer.Role] > len(timers{}.due) {
				t.Errorf("%s: the %s has more than %d timers", table.Name, timer.Role, len(timers{}.due))
			}
		}
	}
}
