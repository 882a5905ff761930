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
	want := pyexplain.Explanation{
		Functions: []pyexplain.Function{
			{Name: "Stack.push", Line: 6, Parameters: []string{"self", "*values", "**options"}, Block: pyexplain.Block{
				Loops: []string{"for value in values"}, Branches: 2, Calls: []string{"self.append", "options.get", "ValueError"},
				Returns: []string{"self"}, Raises: []string{`ValueError("empty")`},
			}},
			{Name: "read", Line: 15, Async: true, Parameters: []string{"name", "limit", "encoding"}, Block: pyexplain.Block{
				Loops: []string{"while limit > 0"}, Calls: []string{"len", "fetch"}, Returns: []string{"None"},
			}},
			{Name: "numbers", Line: 21, Generator: true, Parameters: []string{"n"}, Block: pyexplain.Block{Calls: []string{"inner"}}},
			{Name: "inner", Line: 22, Parameters: []string{}, Block: pyexplain.Block{
				Calls: []string{"step", "range"}, Returns: []string{"[step(i) for i in range(n)]"},
			}},
		},
		Classes: []pyexplain.Class{
			{Name: "Stack", Line: 5, Bases: "list, metaclass=Meta", Methods: []string{"push"}}, {Name: "Empty", Line: 27},
		},
		Imports:  []string{"import sys", "from os import path"},
		TopLevel: pyexplain.Block{Loops: []string{"for line in sys.stdin"}, Calls: []string{"print", "Stack().push", "Stack"}},
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const text = `It imports by: import sys; from os import path.
Class Stack (line 5) extends list, metaclass=Meta, has the methods push.
Class Empty (line 27) has no methods.
Function Stack.push (line 6) takes self, *values and **options; it has 1 loop: for value in values; decides by 2 conditions; calls self.append, options.get and ValueError; raises ValueError("empty"); returns self.
Asynchronous function read (line 15) takes name, limit and encoding; it has 1 loop: while limit > 0; calls len and fetch; returns None.
Generator function numbers (line 21) takes n; it calls inner.
Function inner (line 22) takes nothing; it calls step and range; returns [step(i) for i in range(n)].
Outside of functions, the code has 1 loop: for line in sys.stdin; calls print, Stack().push and Stack.`
	if diff := cmp.Diff(strings.Split(text, "\n"), strings.Split(e.String(), "\n")); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// A part of a file may be indented as a whole.
func TestExplainPart(t *testing.T) {
	e, err := pyexplain.Explain("    def area(self):\n        if self.side:\n            return self.side ** 2\n")
	if err != nil || len(e.Functions) != 1 || e.Functions[0].Line != 1 || e.Functions[0].Branches != 1 || e.TopLevel.Branches != 0 {
		t.Errorf("got %+v, %v", e, err)
	}
	if e, err := pyexplain.Explain("x = 1\n"); err != nil || !strings.HasPrefix(e.String(), "The code has no functions") {
		t.Errorf("got %q, %v", e, err)
	}
}

func TestExplainFails(t *testing.T) {
	var problem *pydebug.SyntaxError
	if _, err := pyexplain.Explain("  x = 1\n  f(\n"); !errors.As(err, &problem) || problem.Line != 2 {
		t.Errorf("broken: %v", err)
	}
	if _, err := pyexplain.Explain(strings.Repeat("#", pyexplain.MaxCode+1)); !errors.Is(err, pyexplain.ErrCodeTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

func FuzzExplain(f *testing.F) {
	f.Add(code)
	f.Fuzz(func(t *testing.T, code string) {
		if e, err := pyexplain.Explain(code); err == nil && e.String() == "" {
			t.Error("an empty explanation")
		}
	})
}
