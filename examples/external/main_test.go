package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// screen is a writer for several processes, which calls do once, when the text on has
// been written to it.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
	on   string
	do   func(text string)
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if s.on != "" && strings.Contains(s.text.String(), s.on) {
		s.on = ""
		s.do(s.text.String())
	}
	return len(p), nil
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func TestRun(t *testing.T) {
	racetest.Skip(t)
	for name, tt := range map[string]struct {
		args   []string
		needs  string
		stdout []string
	}{
		"python": {[]string{"--spawn", "python"}, "python3", []string{
			"Wordsmith joins: count_words\n", "Host → Wordsmith         TASK_REQUEST       count_words", "Wordsmith → Lexicon      TASK_REQUEST       stop_words",
			"Wordsmith → Host         STATUS_UPDATE      50%: 30 words are counted\n",
			"Wordsmith has done count_words: 30 words, above all: ribosome, messages, reads\n",
		}},
		"js": {[]string{"--spawn", "js"}, "node", []string{
			"Factorizer joins: prime_factors\n", "Factorizer → Arithmetic  TASK_REQUEST       is_prime", "Factorizer → Host        STATUS_UPDATE      75%: 1000000007 is prime\n",
			"Factorizer has done prime_factors: 1000000016000000063 = 1000000007 · 1000000009\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			needs(t, tt.needs)
			var stdout, stderr screen
			if code := run(t.Context(), tt.args, &stdout, &stderr); code != program.ExitDone {
				t.Errorf("exit code %d", code)
			}
			for _, want := range tt.stdout {
				if !strings.Contains(stdout.String(), want) {
					t.Errorf("%q is not in\n%s%s", want, &stdout, &stderr)
				}
			}
		})
	}
}

// needs skips a test if its interpreter is not installed. It fails in CI, where a test that does
// not run would go unnoticed.
func needs(t *testing.T, interpreter string) {
	t.Helper()
	if _, err := exec.LookPath(interpreter); err != nil && os.Getenv("CI") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
}

func TestUsage(t *testing.T) {
	for name, tt := range map[string]struct {
		args   []string
		code   int
		stderr string
	}{
		"help":         {[]string{"--help"}, program.ExitDone, ""},
		"unknown flag": {[]string{"--fast"}, program.ExitUsage, "--help lists the flags"},
		"argument":     {[]string{"x"}, program.ExitUsage, `unexpected argument "x"`},
		"spawn":        {[]string{"--spawn", "perl"}, program.ExitUsage, "want one of auto, python, js, both, none"},
		"open":         {[]string{"--tcp", "0.0.0.0:0"}, program.ExitUsage, "want an address of this machine only"},
		"no port":      {[]string{"--ws", "127.0.0.1"}, program.ExitUsage, "want an address such as"},
		"bad port":     {[]string{"--ws", "127.0.0.1:x"}, program.ExitFailed, "--ws 127.0.0.1:x: "},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr screen
			if code := run(t.Context(), tt.args, &stdout, &stderr); code != tt.code || !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("exit code %d, want %d; stderr %q", code, tt.code, stderr.String())
			}
			if says := tt.code != program.ExitDone; says != (strings.Count(stderr.String(), "\n") == 1) {
				t.Errorf("stderr %q", stderr.String())
			}
		})
	}
}

// TestStay loads the page and interrupts the program.
func TestStay(t *testing.T) {
	racetest.Skip(t)
	ctx, cancel := context.WithCancel(t.Context())
	var page *http.Response
	var stderr screen
	stdout := screen{on: "a page is at ", do: func(text string) {
		_, url, _ := strings.Cut(strings.TrimSpace(text), "a page is at ")
		go func() {
			defer cancel()
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"ribosome-client/dist/browser.js", http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			request.Close = true
			if page, err = http.DefaultClient.Do(request); err != nil {
				t.Error(err)
				return
			}
			_ = page.Body.Close()
		}()
	}}
	if code := run(ctx, []string{"--stay", "--spawn", "none"}, &stdout, &stderr); code != program.ExitDone || stderr.String() != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
	if page == nil || page.StatusCode != http.StatusOK || !strings.Contains(page.Header.Get("Content-Type"), "javascript") {
		t.Errorf("the page: %v", page)
	}
}

func TestInterrupted(t *testing.T) {
	racetest.Skip(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stdout := screen{on: "The node listens", do: func(string) { cancel() }}
	var stderr screen
	if code := run(ctx, []string{"--spawn", "none"}, &stdout, &stderr); code != program.ExitFailed || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}
