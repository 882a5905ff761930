package performatives

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// declaredCodes reads the constants of type Code from the source, so that one
// without a row cannot go unnoticed.
func declaredCodes(t *testing.T) map[string]Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]Code{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Code" {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		codes[spec.Names[0].Name] = Code(text)
		return true
	})
	return codes
}

func TestEveryCodeHasOneRow(t *testing.T) {
	declared := declaredCodes(t)
	if len(declared) < 20 {
		t.Fatalf("found only %d constants in code.go", len(declared))
	}
	rows := map[Code]int{}
	for _, row := range Codes() {
		rows[row.Code]++
	}
	for name, c := range declared {
		if rows[c] != 1 || !c.Known() {
			t.Errorf("%s (%q) has %d rows, want 1", name, c, rows[c])
		}
		delete(rows, c)
	}
	if len(rows) > 0 {
		t.Errorf("rows without a constant: %v", rows)
	}
}

func TestCodeRows(t *testing.T) {
	carriers := []Performative{ActNotUnderstood, ActTaskReject, ActFailure}
	texts := map[string]Code{}
	for _, row := range Codes() {
		if !slices.Contains(carriers, row.Carrier) {
			t.Errorf("%s: carrier %s is not one of %v", row.Code, row.Carrier, carriers)
		}
		if other, ok := texts[row.Text]; ok || row.Text == "" {
			t.Errorf("%s: text %q is empty or that of %q", row.Code, row.Text, other)
		}
		texts[row.Text] = row.Code
		if row.Code.Traits() != row {
			t.Errorf("%s: Traits is not its row", row.Code)
		}
	}
}

// After these alone, the same message may succeed.
func TestCodesToTryAgain(t *testing.T) {
	var again []Code
	for _, row := range Codes() {
		if row.Retry {
			again = append(again, row.Code)
		}
	}
	want := []Code{CodeBusy, CodeRateLimited, CodeStopped, CodeMoved, CodeMiddleware, CodeTimeout, CodeDisconnected, CodeNoMatch, CodeInternal}
	if !slices.Equal(again, want) {
		t.Errorf("got %q, want %q", again, want)
	}
}

func TestCodesIsACopy(t *testing.T) {
	Codes()[0].Code = "changed"
	if got := Codes()[0].Code; got != CodeUnknownPerformative {
		t.Errorf("a caller changed the table: %q", got)
	}
}

func TestUnknownCode(t *testing.T) {
	c := Code("out_of_coffee")
	got := c.Traits()
	want := CodeInternal.Traits()
	want.Code, want.Retry = c, false
	if got != want || c.Known() {
		t.Errorf("Traits = %+v, Known = %t; want %+v, false", got, c.Known(), want)
	}
}

func TestCodeIsAnError(t *testing.T) {
	err := fmt.Errorf("delegate: %w", &Refusal{Code: CodeBusy})
	if !errors.Is(err, CodeBusy) || errors.Is(err, CodeFailed) || errors.Is(err, errors.New("busy")) {
		t.Errorf("errors.Is does not tell codes apart")
	}
}
