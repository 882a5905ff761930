package pydebug

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

var update = flag.Bool("update", false, "rewrite what the corpus expects from what is diagnosed; needs python3 for the output")

// noNewline marks a section whose last line has no line ending.
const noNewline = "-- no newline --\n"

// corpusCase is one file of testdata/cases: sections headed by "-- name --".
type corpusCase struct {
	name, path string
	sections   map[string]string
	order      []string
}

func readCorpus(t testing.TB) []*corpusCase {
	t.Helper()
	paths, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(paths) < 45 {
		t.Fatalf("corpus of %d cases: %v", len(paths), err)
	}
	var cases []*corpusCase
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := parseCase(string(raw))
		c.path, c.name = path, strings.TrimSuffix(filepath.Base(path), ".txtar")
		cases = append(cases, c)
	}
	return cases
}

func parseCase(raw string) *corpusCase {
	c := &corpusCase{sections: map[string]string{}}
	name := ""
	for _, line := range strings.SplitAfter(raw, "\n") {
		switch {
		case line == noNewline:
			c.sections[name] = strings.TrimSuffix(c.sections[name], "\n")
		case strings.HasPrefix(line, "-- ") && strings.HasSuffix(line, " --\n"):
			name = line[3 : len(line)-4]
			c.set(name, "")
		default:
			c.sections[name] += line
		}
	}
	return c
}

func (c *corpusCase) set(name, text string) {
	if _, ok := c.sections[name]; !ok {
		c.order = append(c.order, name)
	}
	c.sections[name] = text
}

func (c *corpusCase) drop(name string) {
	delete(c.sections, name)
	c.order = slices.DeleteFunc(c.order, func(n string) bool { return n == name })
}

func (c *corpusCase) write(t *testing.T) {
	t.Helper()
	var b strings.Builder
	for _, name := range c.order {
		text := c.sections[name]
		b.WriteString("-- " + name + " --\n" + text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteString("\n" + noNewline)
		}
	}
	if err := os.WriteFile(c.path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (c *corpusCase) input() Input {
	return Input{Code: c.sections["script.py"], Traceback: c.sections["traceback"], Language: strings.TrimSpace(c.sections["language"])}
}

func got(d Diagnosis) string {
	return fmt.Sprintf("status: %v\nline: %d\n", d.Status, d.Line)
}

// TestCorpus compares each diagnosis with the expected one.
func TestCorpus(t *testing.T) {
	racetest.Skip(t)
	for _, c := range readCorpus(t) {
		t.Run(c.name, func(t *testing.T) {
			d, err := Diagnose(context.Background(), c.input(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				c.set("want", got(d))
				if d.Status != Fixed {
					c.drop("stdout")
				}
				c.set("diff", d.Diff+d.RequestForUser+d.Analysis)
				c.write(t)
			}
			if got(d) != c.sections["want"] {
				t.Errorf("got\n%swant\n%s%s\n%s%s", got(d), c.sections["want"], d.Diff, d.RequestForUser, d.Analysis)
			}
			if text := d.Diff + d.RequestForUser + d.Analysis; strings.TrimSuffix(text, "\n") != strings.TrimSuffix(c.sections["diff"], "\n") {
				t.Errorf("got\n%s\nwant\n%s", text, c.sections["diff"])
			}
			checkInvariants(t, c.input(), d)
		})
	}
}

// checkInvariants holds for every diagnosis whatever the input.
func checkInvariants(t *testing.T, in Input, d Diagnosis) {
	t.Helper()
	if d.Summary == "" {
		t.Error("no summary")
	}
	if (d.Status == NeedsInput) != (d.RequestForUser != "") || (d.Status == Unfixed) != (d.Analysis != "") {
		t.Errorf("%v with request %q and analysis %q", d.Status, d.RequestForUser, d.Analysis)
	}
	if d.Status != Fixed {
		if d.FixedCode != "" || d.Diff != "" || d.Confidence != 0 {
			t.Errorf("%v with a fix", d.Status)
		}
		return
	}
	if d.FixedCode == in.Code || d.FixedCode == "" || d.Diff == "" || d.Explanation == "" {
		t.Error("fixed without a change")
	}
	if d.Confidence <= 0 || d.Confidence > 1 {
		t.Errorf("confidence %v", d.Confidence)
	}
	if _, problem := tokenize(d.FixedCode); problem != nil {
		t.Errorf("the fixed code doesn't tokenise: %v", problem)
	}
}

// TestCorpusForReal runs the scripts with python3: the original raises the reported
// error, and the fixed script has the expected exit code and output.
func TestCorpusForReal(t *testing.T) {
	racetest.Skip(t)
	python := realPython(t)
	if python == "" {
		return
	}
	for _, c := range readCorpus(t) {
		d, err := Diagnose(context.Background(), c.input(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d.Status != Fixed || c.input().Language == "python2" {
			continue // python3 can't run Python 2
		}
		t.Run(c.name, func(t *testing.T) {
			v, err := Verify(context.Background(), VerifyOptions{
				Original: c.input().Code, Fixed: d.FixedCode, ErrorType: d.ErrorType, ExitCode: d.ExitCode, Interpreter: []string{python, "-I", "-B", "-S"},
			})
			if err != nil {
				t.Fatal(err)
			}
			if !v.Passed {
				t.Errorf("original: %+v\nfixed: %+v\n%s", v.Original, v.Fixed, d.Diff)
			}
			if *update {
				c.set("stdout", v.Fixed.Stdout)
				c.write(t)
			}
			if v.Fixed.Stdout != c.sections["stdout"] {
				t.Errorf("printed\n%swant\n%s", v.Fixed.Stdout, c.sections["stdout"])
			}
		})
	}
}

// realPython returns the python3 of this machine; without one it says so and
// returns nothing.
func realPython(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Log("NOT PROVEN HERE: there is no python3 to run the fixed scripts with")
		return ""
	}
	// The python3 on the PATH may be a launcher that takes longer than the script.
	if out, err := exec.Command(path, "-c", "import sys; print(sys.executable)").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	return path
}
