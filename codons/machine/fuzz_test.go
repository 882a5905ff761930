package machine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// FuzzStep feeds arbitrary conversations and symbols to Step: each is a legal
// step, or an [*machine.UnexpectedError] that changes nothing.
func FuzzStep(f *testing.F) {
	m := tabletest.Haggle().MustCompile()
	for s := range m.Transitions() {
		f.Add(uint8(s.Role), string(s.From), uint8(s.On.Kind), uint8(s.On.Act), s.On.Name)
	}
	f.Add(uint8(9), "limbo", uint8(200), uint8(255), "x")
	f.Fuzz(func(t *testing.T, role uint8, state string, kind, act uint8, name string) {
		c := machine.Status{Role: machine.Role(role), State: machine.State(state), Steps: 3, Updated: time.Unix(1, 0)}
		e := machine.Event{On: machine.Symbol{Kind: machine.Kind(kind), Act: p.Performative(act), Name: name}, At: time.Unix(2, 0), ID: "m"}
		after, do, err := m.Step(c, e)
		if err != nil {
			var unexpected *machine.UnexpectedError
			if !errors.As(err, &unexpected) || after != c || do != nil || err.Error() == "" {
				t.Fatalf("%+v, %v, %v", after, do, err)
			}
			return
		}
		known := m.Terminal(after.State) || m.Takes(after, machine.Timeout("deadline"))
		if !known || after.Steps != 4 || after.Role != c.Role || after.Updated != e.At {
			t.Fatalf("%+v after %s", after, e.On)
		}
		if m.Terminal(c.State) && after.State != c.State {
			t.Fatalf("left %s for %s", c.State, after.State)
		}
	})
}
