package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
)

var update = flag.Bool("update", false, "write the transcripts in testdata anew")

// A transcript has no ids and no times. The order of messages is fixed for each pair of
// agents, and random between pairs.
func TestTranscripts(t *testing.T) {
	golden, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	files(t)
	t.Setenv("PATH", "") // no advice that depends on the machine
	for name, args := range map[string][]string{
		"sample":       nil,
		"chaos":        {"--chaos"},
		"own":          {"--code", "my logs.py", "--traceback", "error.txt"},
		"no_traceback": {"--code", "my logs.py"},
		"mismatch":     {"--code", "other.py", "--traceback", "error.txt"},
		"no_fix":       {"--code", "broken.py", "--traceback", "broken.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runs(t, args...).stdout
			file := filepath.Join(golden, name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v; -update writes it", err)
			}
			if diff := cmp.Diff(split(string(want)), split(got)); diff != "" {
				t.Errorf("another transcript (-want +got); if it is meant, -update:\n%s", diff)
			}
		})
	}
}

var speech = regexp.MustCompile(`^ *(\w+ → \w+) `)

// split splits a transcript into the lines of each pair of agents, in order, and the
// report, under the empty name. A note belongs to the next line, which it explains.
func split(transcript string) map[string]string {
	talk, report, _ := strings.Cut(transcript, "\n\n")
	parts := map[string]string{"": report}
	pair, incident := "", ""
	for line := range strings.Lines(talk + "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "! ") {
			incident = line
			continue
		}
		if m := speech.FindStringSubmatch(line); m != nil {
			pair = m[1]
		}
		parts[pair] += incident + line
		incident = ""
	}
	return parts
}

func TestPatchAppliesWhatIsPrinted(t *testing.T) {
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("there is no patch here")
	}
	sample := pydebug.Sample()
	for name, code := range map[string]string{
		"as it is":   sample.Code,
		"CRLF":       strings.ReplaceAll(sample.Code, "\n", "\r\n"),
		"form feed":  strings.Replace(sample.Code, "Yield the", "Yield\fthe", 1),
		"no newline": strings.TrimSpace(sample.Code),
	} {
		t.Run(name, func(t *testing.T) {
			files(t)
			if err := os.WriteFile("a b.py", []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
			r := runs(t, "--code", "a b.py", "--traceback", "error.txt")
			if !strings.Contains(r.stdout, "@@") {
				t.Skip("there is no fix")
			}
			patch := exec.CommandContext(t.Context(), "patch", "a b.py")
			patch.Stdin = strings.NewReader(r.stdout)
			if out, err := patch.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			got, err := os.ReadFile("a b.py")
			if err != nil {
				t.Fatal(err)
			}
			again := strings.ReplaceAll(string(got), "\r\n", "\n") // patch may drop them
			want, err := swarm.Offline{}.Debug(t.Context(), swarm.Problem{Code: code, Traceback: sample.Traceback}, func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			f, err := performatives.Decode[swarm.Finding](want.Details)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.ReplaceAll(f.FixedCode, "\r\n", "\n"), again); diff != "" {
				t.Errorf("not the fixed script (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTerminalIsNotObeyedTo(t *testing.T) {
	const evil = "a\x1b[2Jb\u009b1mc\u202ed\te"
	for terminal, want := range map[bool]string{true: "a[2Jb1mcd\te", false: evil} {
		var got strings.Builder
		(&transcript{terminal: terminal, out: program.NewOutput(&got)}).print(evil)
		if got.String() != want {
			t.Errorf("terminal %t: got %q, want %q", terminal, got.String(), want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"one two", "one two"},
		{"one two three", "one two\nthree"},
		{"überlange wörter hier", "überlange\nwörter\nhier"},
		{"1234567890 1", "1234567890\n1"},
	} {
		if got := strings.Join(wrap(tt.in, 9), "\n"); got != tt.want {
			t.Errorf("%q: got %q; want %q", tt.in, got, tt.want)
		}
	}
}
