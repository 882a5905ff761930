package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// shapes has functions of all shapes. Each returns, or adds to log, its own number.
const shapes = `package shapes

const zero = 0

var log []int

type pair[K comparable, V any] struct{ v V }

func (p *pair[K, V]) first() V { return p.v }

type number int

func (number) second(_ int, _ ...string) int { return 2 }

func (n *number) third() { log = append(log, 3) }

func fourth[T any](t ...T) int { return 4 + len(t) }

func fifth(int, string) (n int, err error) {
	n = 5
	return
}

func sixth(a, b int) func() int {
	return func() int { return a + b }
}

func seventh() *int { return nil }

func eighth() int { return 8 + zero }
`

const shapesTest = `package shapes

import (
	"fmt"
	"os"
	"testing"
)

func check(t *testing.T, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFirst(t *testing.T) { check(t, (&pair[string, int]{v: 1}).first(), 1) }

func TestSecond(t *testing.T) { check(t, number(0).second(1), 2) }

func TestThird(t *testing.T) {
	new(number).third()
	check(t, fmt.Sprint(log), "[3]")
}

func TestFourth(t *testing.T) { check(t, fourth(1, 2), 6) }

func TestFifth(t *testing.T) {
	n, _ := fifth(1, "")
	check(t, n, 5)
}

func TestSixth(t *testing.T) { check(t, sixth(2, 4)(), 6) }

// This one fails where there are switches.
func TestSeventhAllocates(t *testing.T) {
	if _, err := os.Stat("code_mutant.go"); err == nil {
		t.Fatal("switches")
	}
	check(t, seventh(), (*int)(nil))
}

func TestEighth(t *testing.T) { check(t, eighth(), 8) }
`

// TestSwitches has a mutant of a function of each shape.
func TestSwitches(t *testing.T) {
	from := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	for name, text := range map[string]string{"go.mod": "module shapes\n\ngo 1.26\n", "shapes.go": shapes, "shapes_test.go": shapesTest} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var list strings.Builder
	add := func(name, hunk string) {
		fmt.Fprintf(&list, "mutant %s\nfile shapes.go\ntests .\nfault F.\n@@\n%s\n\n", name, hunk)
	}
	add("first", "-func (p *pair[K, V]) first() V { return p.v }\n+func (p *pair[K, V]) first() (v V) { return }")
	add("first-in-body", "-func (p *pair[K, V]) first() V { return p.v }\n+func (p *pair[K, V]) first() V { return *new(V) }")
	add("second", "-func (number) second(_ int, _ ...string) int { return 2 }\n+func (number) second(_ int, _ ...string) int { return 0 }")
	add("third", "-func (n *number) third() { log = append(log, 3) }\n+func (n *number) third() { }")
	add("fourth", "-func fourth[T any](t ...T) int { return 4 + len(t) }\n+func fourth[T any](t ...T) int { return 4 }")
	add("fifth", "-n = 5\n+n = 0")
	add("sixth", "-return func() int { return a + b }\n+return func() int { return a - b }")
	add("seventh", "-func seventh() *int { return nil }\n+func seventh() *int { return new(int) }")
	add("constant", "-const zero = 0\n+const zero = 1")
	add("broken", "-n = 5\n+unused := 5")
	mutants, err := parse(list.String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := newScratch(t.TempDir(), from, userCache(t))
	if err != nil {
		t.Fatal(err)
	}
	w, err := newSwitches(t.Context(), s, mutants)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"first": false, "first-in-body": true, "second": true, "third": true, "fourth": true, "fifth": true, "sixth": true, "seventh": true,
		"constant": false, "broken": false,
	} {
		if _, got := w.numbers[name]; got != want {
			t.Errorf("%s has a switch: %t, want %t", name, got, want)
		}
	}
	var out strings.Builder
	err = run(t.Context(), &out, options{
		lists: fstest.MapFS{"list/a.txt": {Data: []byte(list.String())}}, root: from, workers: 1, cache: userCache(t), limit: time.Minute,
	})
	for _, want := range []string{
		"first  TestFirst", "first-in-body  TestFirst", "second  TestSecond", "third  TestThird", "fourth  TestFourth", "fifth  TestFifth",
		"sixth  TestSixth", "seventh  TestSeventhAllocates", "constant  TestEighth", "broken: does not compile: F. broken.mutant:2", "(9 of 10)",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %v\n%s\nwant %q", err, out.String(), want)
		}
	}
}
