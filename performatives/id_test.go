package performatives_test

import (
	"testing"

	"pgregory.net/rapid"

	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestAgentIDIs(t *testing.T) {
	tests := []struct {
		a, b p.AgentID
		want bool
	}{
		{"Jules", "jules", true},
		{"JULES", "jUlEs", true},
		{"Жюль", "жюль", true},
		{"", "", true},
		{"Jules", "Jules ", false},
		{"Jules", "Eddy", false},
		{"", "x", false},
	}
	for _, tt := range tests {
		if got := tt.a.Is(tt.b); got != tt.want {
			t.Errorf("%q.Is(%q) = %t", tt.a, tt.b, got)
		}
	}
}

// A directory looks up by Fold and an agent compares by Is: they must agree.
func TestIsAgreesWithFold(t *testing.T) {
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("aAsSſkKKσΣςıIİi")), 0, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := p.AgentID(letters.Draw(t, "a")), p.AgentID(letters.Draw(t, "b"))
		if a.Is(b) != (a.Fold() == b.Fold()) || a.Fold().Fold() != a.Fold() {
			t.Fatalf("%q and %q: Is %t, folds %q and %q", a, b, a.Is(b), a.Fold(), b.Fold())
		}
	})
}

func TestFoldOfLowerCaseDoesNotAllocate(t *testing.T) {
	id := p.AgentID("jules-7")
	if n := testing.AllocsPerRun(100, func() { _ = id.Fold() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestGuest(t *testing.T) {
	for guest, name := range map[p.AgentID]p.AgentID{
		p.AgentID("Eddy").Guest(123, "hub"):                    "Eddy",
		p.AgentID("Eddy").Guest(1, "hub").Guest(12, "outpost"): "Eddy/client-1@hub",
		"Eddy": "Eddy", "Eddy/client-1": "Eddy/client-1", "/client-1@hub": "/client-1@hub", "a@b/client-1": "a@b/client-1",
	} {
		if got := guest.Name(); got != name {
			t.Errorf("the name of %q is %q, want %q", guest, got, name)
		}
	}
	if got := p.AgentID("Eddy").Guest(123, "hub"); got != "Eddy/client-123@hub" {
		t.Errorf("the guest is %q", got)
	}
}
