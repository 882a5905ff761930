package screen

import (
	"fmt"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// All who wait learn of the next write, and what was there before it.
func TestNext(t *testing.T) {
	var s Screen
	for i, want := range []string{"", "a0", "a0a1"} {
		first, before := s.Next()
		second, _ := s.Next()
		if before != want || s.String() != want {
			t.Errorf("%q is there, want %q", before, want)
		}
		select {
		case <-first:
			t.Error("there was no write")
		default:
		}
		_, _ = fmt.Fprint(&s, "a", i)
		<-first
		<-second
	}
}
