package actors

import (
	"regexp"
	"testing"
)

func TestSystemStamper(t *testing.T) {
	uuid4 := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := make(map[string]bool)
	for range 1000 {
		s := systemStamper{}.Stamp()
		if id := string(s.ID); !uuid4.MatchString(id) || seen[id] || s.Time.IsZero() {
			t.Fatalf("got %+v, seen before: %t", s, seen[id])
		}
		seen[string(s.ID)] = true
	}
}
