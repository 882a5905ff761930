package pydebug

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

func ExampleDiagnose() {
	d, err := Diagnose(context.Background(), Sample(), func(step string) { fmt.Println("…", step) })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Status, d.Line)
	fmt.Print(d.Diff)
	// Output:
	// … reading the traceback
	// … locating the failing line
	// … recognising the mistake
	// … writing the fix
	// fixed 19
	// --- a/parse_logs.py
	// +++ b/parse_logs.py
	// @@ -14,6 +14,8 @@
	//      """Yield the time, level, component and message of each line."""
	//      for line in text.splitlines():
	//          parts = line.split(" ", 4)
	// +        if len(parts) <= 4:
	// +            continue
	//          time = parts[1]
	//          level = parts[2]
	//          component = parts[3].rstrip(":")
}

// TestSampleForReal runs the sample and its fix.
func TestSampleForReal(t *testing.T) {
	racetest.Skip(t)
	python := realPython(t)
	if python == "" {
		return
	}
	d, err := Diagnose(context.Background(), Sample(), nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Verify(context.Background(), VerifyOptions{Original: Sample().Code, Fixed: d.FixedCode, ErrorType: d.ErrorType, Interpreter: []string{python, "-I", "-B"}})
	if err != nil || !v.Passed {
		t.Fatalf("%v: %+v", err, v)
	}
	if !strings.Contains(v.Fixed.Stdout, "ERROR 2\nINFO  2\nWARN  1\n") {
		t.Errorf("printed\n%s", v.Fixed.Stdout)
	}
}
