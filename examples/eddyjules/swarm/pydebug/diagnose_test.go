package pydebug

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

func diagnose(t testing.TB, in Input) Diagnosis {
	t.Helper()
	d, err := Diagnose(context.Background(), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDiagnoseReportsStepsInOrder(t *testing.T) {
	var steps []string
	if _, err := Diagnose(context.Background(), Sample(), func(s string) { steps = append(steps, s) }); err != nil {
		t.Fatal(err)
	}
	want := []string{"reading the traceback", "locating the failing line", "recognising the mistake", "writing the fix"}
	if !slices.Equal(steps, want) {
		t.Errorf("steps %q, want %q", steps, want)
	}
}

func TestDiagnoseHonoursCancellation(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("no longer wanted")
	_, err := Diagnose(ctx, Sample(), func(step string) {
		if strings.HasPrefix(step, "locating") {
			cancel(stop)
		}
	})
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestDiagnoseRefusesLargeInput(t *testing.T) {
	big := strings.Repeat("x = 1\n", MaxCode/6+1)
	if _, err := Diagnose(context.Background(), Input{Code: big}, nil); !errors.Is(err, ErrCodeTooLarge) {
		t.Errorf("code: %v", err)
	}
	if _, err := Diagnose(context.Background(), Input{Traceback: big}, nil); !errors.Is(err, ErrTracebackTooLarge) {
		t.Errorf("traceback: %v", err)
	}
}

func TestDiagnoseTellsWhere(t *testing.T) {
	d := diagnose(t, Sample())
	if d.ErrorType != "IndexError" || d.ErrorMessage != "list index out of range" || d.Expression != "parts[3]" {
		t.Errorf("%+v", d)
	}
	for _, want := range []string{"Cause: line 19", "Fix: ", "Effect: "} {
		if !strings.Contains(d.Explanation, want) {
			t.Errorf("the explanation lacks %q:\n%s", want, d.Explanation)
		}
	}
}

// TestDiagnoseIsBounded diagnoses inputs with deep nesting and long chains. A recursion without
// bound ends the process, and a loop without end the test, at the time limit of go test.
func TestDiagnoseIsBounded(t *testing.T) {
	racetest.Skip(t)
	const tail = "IndexError: list index out of range"
	frame := func(text string) string {
		return tracebackHeader + "\n  File \"x.py\", line 1, in <module>\n    " + text + "\n" + tail
	}
	size := MaxCode / 32 // the largest code takes many seconds under the race detector
	if exhaustive.Enabled() {
		size = MaxCode / 4
	}
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	tests := map[string]Input{
		"brackets":     {Code: fill("("), Traceback: tail},
		"f-strings":    {Code: fill(`f"{`), Traceback: tail},
		"format specs": {Code: `f"` + fill("{x:"), Traceback: tail},
		"operators":    {Code: "x = " + fill("a+") + "a", Traceback: frame("x = a")},
		"powers":       {Code: "x = " + fill("a**") + "a", Traceback: tail},
		"signs":        {Code: "x = " + fill("-") + "a", Traceback: tail},
		"nots":         {Code: "x = " + fill("not ") + "a", Traceback: tail},
		"trailers":     {Code: "x = a" + fill("[0]"), Traceback: frame("x = a[0]")},
		"attributes":   {Code: "x = a" + fill(".b"), Traceback: tail},
		"ternaries":    {Code: "x = " + fill("a if b else ") + "c", Traceback: tail},
		"lambdas":      {Code: "x = " + fill("lambda: ") + "c", Traceback: tail},
		"subscripts":   {Code: fill("a[0];"), Traceback: tail},
		"lines":        {Code: fill("x = y[i]\n"), Traceback: tracebackHeader + "\n  File \"x.py\", line 9, in <module>\n    x = y[i]\n" + tail},
		"same lines":   {Code: fill("x = y[i]\n"), Traceback: frame("q = y[i]")},
		"comments":     {Code: fill("#x\n"), Traceback: frame("#x   ")},
		"uses":         {Code: "def f(a):\n    return a[9]\n" + fill("g(f(x))\n"), Traceback: tracebackHeader + "\n  File \"x.py\", line 2, in f\n    return a[9]\n" + tail},
		"names":        {Code: "d = {}\nx = d['k']\n" + fill("y = x\n"), Traceback: tracebackHeader + "\n  File \"x.py\", line 2, in f\n    x = d['k']\nKeyError: 'k'"},
		"ifs":          {Code: fill("if x: pass\n") + "print(a[3])\n", Traceback: tail},
		"elifs":        {Code: "if a: pass\n" + fill("elif a[3]: pass\n"), Traceback: tail},
		"traceback":    {Code: "x", Traceback: fill("Error ")},
		"frames":       {Code: "x = y[0]\n", Traceback: fill("  File \"x.py\", line 1, in f\n    x = y[0]\n") + tail},
		"one line":     {Code: "x", Traceback: strings.Repeat(" x", MaxTraceback/2)},
		"mixed quotes": {Code: fill("'\"\n"), Traceback: tail},
		"blocks":       {Code: deepBlocks(1000), Traceback: tail},
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			started := time.Now()
			checkInvariants(t, in, diagnose(t, in))
			t.Logf("took %v", time.Since(started))
		})
	}
}

func deepBlocks(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "if x:\n")
	}
	return b.String() + strings.Repeat(" ", n) + "pass\n"
}
