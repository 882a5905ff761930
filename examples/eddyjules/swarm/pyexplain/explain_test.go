package pyexplain_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pyexplain"
)

const code = `import sys
from os import path


class Stack(list, metaclass=Meta):
    def push(self, *values, **options):
        for value in values:
            if value:
                self.append(value)
            elif options.get("strict"):
                raise ValueError("empty")
        return self


async def read(name, /, limit=10, *, encoding: str = "utf-8") -> str:
    while limit > 0:
        limit -= len(await fetch(name))
    return


def numbers(n):
    def inner():
        return [step(i) for i in range(n)]
    yield from inner()


class Empty: pass


for line in sys.stdin:
    print(line, Stack().push(line))
`

func TestExplain(t *testing.T) {
	e, err := pyexplain.Explain(code)
	if err != nil {
		t.Fatal(err)
	}
	const text = `It imports by: import sys; from os import path.
Class Stack (line 5) extends list, metaclass=Meta, has the methods push.
Class Empty (line 27) has no methods.
Function Stack.push (line 6) takes self, *values and **options; it has 1 loop: for value in values; decides by 2 conditions; calls self.append, options.get and ValueError; raises ValueError("empty"); returns self.
Asynchronous function read (line 15) takes name, limit and encoding; it has 1 loop: while limit > 0; calls len and fetch; returns None.
Generator function numbers (line 21) takes n; it calls inner.
Function inner (line 22) takes nothing; it calls step and range; returns [step(i) for i in range(n)].
Outside of functions, the code has 1 loop: for line in sys.stdin; calls print, Stack().push and Stack.`
	if diff := cmp.Diff(strings.Split(text, "\n"), strings.Split(e.Text, "\n")); diff != "" || e.Summary != "The code has 4 functions and 2 classes." {
		t.Errorf("%s (-want +got):\n%s", e.Summary, diff)
	}
}

// A part of a file may be indented as a whole.
func TestExplainPart(t *testing.T) {
	e, err := pyexplain.Explain("    def area(self):\n        if self.side:\n            return self.side ** 2\n")
	const want = "Function area (line 1) takes self; it decides by 1 condition; returns self.side ** 2."
	if err != nil || e.Text != want {
		t.Errorf("got %q, %v, want %q", e.Text, err, want)
	}
	if e, err := pyexplain.Explain("x = 1\n"); err != nil || !strings.HasPrefix(e.Text, "The code has no functions") {
		t.Errorf("got %q, %v", e.Text, err)
	}
}

func TestExplainFails(t *testing.T) {
	var problem *pydebug.SyntaxError
	if _, err := pyexplain.Explain("  x = 1\n  f(\n"); !errors.As(err, &problem) || problem.Line != 2 {
		t.Errorf("broken: %v", err)
	}
	if _, err := pyexplain.Explain(strings.Repeat("#", pydebug.MaxPart+1)); !errors.Is(err, pydebug.ErrCodeTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

func FuzzExplain(f *testing.F) {
	f.Add(code)
	f.Fuzz(func(t *testing.T, code string) {
		if e, err := pyexplain.Explain(code); err == nil && e.Text == "" {
			t.Error("an empty explanation")
		}
	})
}
