package machine

import (
	"errors"
	"testing"
	"time"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// FuzzStep feeds arbitrary conversations and symbols to Step: each is a legal
// step or an [*UnexpectedError] that changes nothing, never a panic.
func FuzzStep(f *testing.F) {
	m := haggle().MustCompile()
	for _, s := range m.order {
		f.Add(uint8(s.role), string(s.state), uint8(s.on.Kind), uint8(s.on.Act), s.on.Name)
	}
	f.Add(uint8(9), "limbo", uint8(200), uint8(255), "x")
	f.Fuzz(func(t *testing.T, role uint8, state string, kind, act uint8, name string) {
		c := Conversation{Role: Role(role), State: State(state), Steps: 3, Updated: time.Unix(1, 0)}
		e := Event{On: Symbol{Kind: Kind(kind), Act: p.Performative(act), Name: name}, At: time.Unix(2, 0), ID: "m"}
		after, do, err := m.Step(c, e)
		if err != nil {
			var unexpected *UnexpectedError
			if !errors.As(err, &unexpected) || after != c || do != nil || err.Error() == "" {
				t.Fatalf("%+v, %v, %v", after, do, err)
			}
			return
		}
		known := m.Terminal(after.State) || m.Takes(after, Timeout("deadline"))
		if !known || after.Steps != 4 || after.Role != c.Role || after.Updated != e.At {
			t.Fatalf("%+v after %s", after, e.On)
		}
		if m.Terminal(c.State) && after.State != c.State {
			t.Fatalf("left %s for %s", c.State, after.State)
		}
	})
}
