package performatives_test

import (
	"errors"
	"testing"

	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestParsePriority(t *testing.T) {
	want := map[string]p.Priority{
		"1": p.Low, "2": p.Low, "3": p.Normal, "4": p.High, "5": p.Urgent,
		"low": p.Low, "medium": p.Normal, "normal": p.Normal, "high": p.High, "urgent": p.Urgent,
		"LOW": p.Low, "Medium": p.Normal, "uRGENT": p.Urgent,
	}
	for s, w := range want {
		if got, err := p.ParsePriority(s); err != nil || got != w {
			t.Errorf("ParsePriority(%q) = %s, %v; want %s", s, got, err, w)
		}
	}
	for _, s := range []string{"", "0", "6", "-1", " high", "highest", "3.0"} {
		got, err := p.ParsePriority(s)
		var r *p.Refusal
		if got != p.Normal || !errors.As(err, &r) || r.Field != "priority" || r.Code != p.CodeInvalidPayload {
			t.Errorf("ParsePriority(%q) = %s, %v; want a refusal", s, got, err)
		}
	}
}

func TestPriorityBands(t *testing.T) {
	for i, prio := range []p.Priority{p.Low, p.Normal, p.High, p.Urgent} {
		if prio.Band() != i || !prio.Valid() {
			t.Errorf("%s has band %d, want %d", prio, prio.Band(), i)
		}
		if got, err := p.ParsePriority(prio.String()); err != nil || got != prio {
			t.Errorf("%s is read as %s, %v", prio, got, err)
		}
	}
	for prio, band := range map[p.Priority]int{-128: 0, -2: 0, 3: 3, 127: 3} {
		if prio.Band() != band || prio.Valid() {
			t.Errorf("%s: band %d, valid %t; want %d, false", prio, prio.Band(), prio.Valid(), band)
		}
	}
	if p.Priority(0) != p.Normal || p.Priority(9).String() != "Priority(9)" {
		t.Error("the zero Priority is not Normal, or a wrong one has a name")
	}
}
