package pyrefactor

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

var update = flag.Bool("update", false, "rewrite the expected suggestions of testdata")

const (
	codeHeader = "-- code.py --\n"
	wantHeader = "-- want --\n"
)

// program is one file of testdata: a program, the suggestions for it and the reasons.
type program struct{ path, code, want string }

func readPrograms(t testing.TB) (all []program) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d programs: %v", len(paths), err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(strings.Replace(string(raw), "-- code.py --\r\n", codeHeader, 1), codeHeader)
		code, want, _ := strings.Cut(text, wantHeader)
		all = append(all, program{path, code, want})
	}
	return all
}

// written returns the result as testdata has it.
func written(r Result) string {
	var b strings.Builder
	for _, s := range r.Suggestions {
		fmt.Fprintf(&b, "%s in line %d: %s\n%s", s.Kind, s.Line, s.Description, s.Diff)
	}
	for _, reason := range r.Reasons {
		fmt.Fprintln(&b, reason)
	}
	return b.String()
}

func TestSuggest(t *testing.T) {
	racetest.Skip(t)
	for _, p := range readPrograms(t) {
		t.Run(filepath.Base(p.path), func(t *testing.T) {
			r, err := Suggest(t.Context(), "code.py", p.code)
			if err != nil {
				t.Fatal(err)
			}
			got := written(r)
			if *update {
				if err := os.WriteFile(p.path, []byte(codeHeader+p.code+wantHeader+got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(strings.Split(p.want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPatch has patch make each suggested code of the diff.
func TestPatch(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("there is no patch here")
	}
	programs := readPrograms(t)
	for _, p := range programs {
		p.code = strings.TrimRight(p.code, "\r\n") // no line ending at the end of the file
		programs = append(programs, p)
	}
	for _, p := range programs {
		r, err := Suggest(t.Context(), "code.py", p.code)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range r.Suggestions {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "code.py"), p.code)
			cmd := exec.CommandContext(t.Context(), patch, "--binary", "-p1", "--fuzz=0")
			cmd.Dir, cmd.Stdin = dir, strings.NewReader(s.Diff)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s, %s: %v\n%s", p.path, s.Kind, err, out)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "code.py")); err != nil || string(got) != s.Code {
				t.Errorf("%s, %s: patch made\n%s\nof\n%s, %v", p.path, s.Kind, got, s.Diff, err)
			}
		}
	}
}

// TestBehaviour runs the programs with python3, and the scripts of pydebug, as they are and with
// each suggestion: they write the same and end in the same way.
func TestBehaviour(t *testing.T) {
	racetest.Skip(t)
	python := realPython(t)
	codes := map[string]string{}
	for _, p := range readPrograms(t) {
		codes[p.path] = p.code
		if strings.HasPrefix(p.code, " ") {
			codes[p.path] = "class Part:\n" + p.code
		}
	}
	paths, err := filepath.Glob("../pydebug/testdata/cases/*.txtar")
	if err != nil || len(paths) < 200 {
		t.Fatalf("%d scripts: %v", len(paths), err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		code, _, _ := strings.Cut(strings.TrimPrefix(string(raw), "-- script.py --\n"), "\n-- ")
		codes[path] = code + "\n"
	}
	kinds := map[Kind]int{}
	for path, code := range codes {
		r, err := Suggest(t.Context(), "code.py", code)
		if err != nil || len(r.Suggestions) == 0 {
			continue // such as Python 2
		}
		before := python.run(t, code)
		for _, s := range r.Suggestions {
			kinds[s.Kind]++
			if after := python.run(t, s.Code); after != before {
				t.Errorf("%s, %s in line %d:\n%s\nbefore: %+v\nafter: %+v", path, s.Kind, s.Line, s.Diff, before, after)
			}
		}
	}
	t.Logf("ran %v", kinds)
	for _, kind := range []Kind{RenameVariable, IntroduceGuard, ExtractMethod} {
		if kinds[kind] < 8 {
			t.Errorf("%d suggestions of %s were run", kinds[kind], kind)
		}
	}
}

// interpreter is the path of a real python3.
type interpreter string

func realPython(t *testing.T) interpreter {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 here")
	}
	// The python3 on the PATH may be a launcher that takes longer than the script.
	out, err := exec.CommandContext(t.Context(), path, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	return interpreter(strings.TrimSpace(string(out)))
}

// outcome is all that a run of a program shows, but the text of a traceback.
type outcome struct {
	stdout, last string // last is the last line of stderr
	code         int
}

func (python interpreter) run(t *testing.T, code string) outcome {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "code.py"), code)
	cmd := exec.CommandContext(t.Context(), string(python), "-I", "-S", "code.py")
	cmd.Dir = dir
	cmd.Env = []string{"PYTHONHASHSEED=0", "TMPDIR=" + dir}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if strings.Contains(stderr.String(), "SyntaxError") || strings.Contains(stderr.String(), "IndentationError") {
		t.Errorf("it does not compile: %s\n%s", &stderr, code)
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	return outcome{stdout.String(), lines[len(lines)-1], cmd.ProcessState.ExitCode()}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSuggestFails(t *testing.T) {
	for name, tt := range map[string]struct{ code, want string }{
		"broken":         {"def f(:\n    pass\n", "line 1: "},
		"broken indent":  {"  x = 1\n y = 2\n", "line 2: "},
		"Python 2":       {"print 1\n", "line 1: this statement is not understood"},
		"match":          {"match x:\n    case 1:\n        pass\n", "line 1: this statement is not understood"},
		"type parameter": {"def f[T](x: T): return x\n", "line 1: this statement is not understood"},
		"too large":      {strings.Repeat("#", pydebug.MaxPart+1), pydebug.ErrCodeTooLarge.Error()},
	} {
		if _, err := Suggest(t.Context(), "code.py", tt.code); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Suggest(ctx, "code.py", "x = 1\n"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestSingular(t *testing.T) {
	for plural, want := range map[string]string{
		"lines": "line", "entries": "entry", "boxes": "box", "matches": "match", "caches": "cache", "_items": "item", "words": "word", "classes": "",
		"passes": "", "status": "", "address": "", "analysis": "", "Rows": "", "os": "", "data": "", "movies": "movie", "people": "person", "s": "",
		"responses": "response", "statuses": "", "log_lines": "log_line", "objects": "", "types": "",
	} {
		if got := singular(plural); got != want {
			t.Errorf("%s: got %q, want %q", plural, got, want)
		}
	}
}

// A name of an argument, or of an attribute, is no variable; the last target of a tuple is one.
func TestMentions(t *testing.T) {
	w, err := newWork("a, x = 1, 2\nx.x = f(x=x, *[x])\ny = [g(a, x=1), x, f'{x}']\n")
	if err != nil {
		t.Fatal(err)
	}
	var at []int
	for _, i := range w.mentions("x", 0, len(w.Tokens)) {
		at = append(at, w.Tokens[i].Start)
	}
	if diff := cmp.Diff([]int{3, 12, 22, 27, 47, 53}, at); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzSuggest has patches of any code be diffs of code that is still understood.
func FuzzSuggest(f *testing.F) {
	for _, p := range readPrograms(f) {
		f.Add(p.code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		r, err := Suggest(t.Context(), "code.py", code)
		if err != nil {
			return
		}
		for _, s := range r.Suggestions {
			if s.Code == code || s.Diff == "" {
				t.Errorf("%s changes nothing", s.Kind)
			}
			if _, err := newWork(s.Code); err != nil && !errors.Is(err, pydebug.ErrCodeTooLarge) {
				t.Errorf("%s: %v\n%s", s.Kind, err, s.Diff)
			}
		}
	})
}
