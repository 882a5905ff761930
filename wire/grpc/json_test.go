package grpc

import (
	"strings"
	"testing"
)

func TestDepth(t *testing.T) {
	for _, pair := range []string{"[]", "{}"} {
		open, end := pair[:1], pair[1:]
		if pair == "{}" {
			open = `{"a":`
		}
		deep := func(n int) []byte { return []byte(strings.Repeat(open, n) + "1" + strings.Repeat(end, n)) }
		if err := checkJSON(deep(maxDepth)); err != nil {
			t.Errorf("%d levels: %v", maxDepth, err)
		}
		if err := checkJSON(deep(maxDepth + 1)); err == nil {
			t.Errorf("%d levels are accepted", maxDepth+1)
		}
	}
}

func TestWhatIsNoJSON(t *testing.T) {
	for _, text := range []string{"", " ", "{", "{} {}", "nul", "\"\xff\"", `{"a":}`} {
		if checkJSON([]byte(text)) == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
