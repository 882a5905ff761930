package bitset

import (
	"slices"
	"testing"
)

func TestSet(t *testing.T) {
	s := Set(0).With(0).With(5).With(Size - 1).With(5)
	if got := slices.Collect(s.All); !slices.Equal(got, []int{0, 5, Size - 1}) {
		t.Errorf("got %d", got)
	}
	if !s.Has(5) || s.Has(4) || s.Len() != 3 || s.First() != 0 {
		t.Errorf("%b: %d integers, the first is %d", s, s.Len(), s.First())
	}
	if s = s.Without(0).Without(5).Without(4); s.First() != Size-1 || s.Len() != 1 {
		t.Errorf("%b after removing two", s)
	}
	if s = s.Without(Size - 1); s != 0 || s.First() != Size {
		t.Errorf("%b after removing all", s)
	}
}

func TestAllStops(t *testing.T) {
	for i := range Set(6).All {
		if i != 1 {
			t.Errorf("got %d", i)
		}
		break
	}
}
