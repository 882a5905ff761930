package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/examples/rag/swarm"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
)

// TestMain is also the child process that reads PDFs.
func TestMain(m *testing.M) {
	swarm.ReadPDFs()
	leakcheck.Main(m)
}

// result is what a run of the program gives.
type result struct {
	code           int
	stdout, stderr string
}

func runProgram(t *testing.T, env map[string]string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return runWithin(ctx, env, args...)
}

func runWithin(ctx context.Context, env map[string]string, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, func(name string) string { return env[name] }, &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// folderOf makes a folder with those files.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAnswerFromEachKind(t *testing.T) {
	for question, want := range map[string]struct{ answer, source string }{
		"How long does a refund take?":             {"A refund takes five working days after the product has arrived. [1]\n", "handbook/refunds.md, line 7 (Refunds › How long it takes)"},
		"What fee does a school have?":             {"customer: school; fee: none [1]\n", "handbook/refunds.md, line 12 (Refunds › Annual subscriptions)"},
		"Who checks that a backup can be restored": {"Ana checks once a month that it can be restored. [1]\n", "notes.txt, line 1"},
		"storage of the Team plan":                 {"plan: Team; price per month: 29 EUR; storage: 100 GB; seats: 10 [1]\n", "data/plans.csv, line 2"},
		// The question of the specification (Message Types §2).
		"What KPIs were tracked in Q1?": {"The KPIs tracked in Q1 are revenue growth (15%), customer acquisition (120 new customers) and market share (8.5%). [1]\n", "sales_report.pdf, page 2"},
	} {
		got := runProgram(t, nil, question)
		if got.code != 0 || !strings.Contains(got.stdout, want.answer) || !strings.Contains(got.stdout, "  [1]  ") || !strings.Contains(got.stdout, "cited  "+want.source+"\n") {
			t.Errorf("%s: %+v", question, got)
		}
	}
}

// The day of a PDF is the one that it names.
func TestDates(t *testing.T) {
	for dates, want := range map[string]int{"2024-01-01,2024-03-31": 0, "2024-03-28,2024-03-28": 0, "2024-03-29,2024-12-31": 1} {
		if got := runProgram(t, nil, "--dates", dates, "What KPIs were tracked in Q1?"); got.code != want {
			t.Errorf("%s: %+v", dates, got)
		}
	}
}

func TestTraceAndProgress(t *testing.T) {
	got := runProgram(t, nil, "refund")
	if !strings.Contains(got.stderr, "5 of 5 files: sales_report.pdf\n5 documents indexed in 9 chunks\n") {
		t.Errorf("progress: %s", got.stderr)
	}
	_, list, _ := strings.Cut(got.stdout, "\nTrace:\n")
	list = regexp.MustCompile(`conversation-\w{8}`).ReplaceAllString(list, "conversation-X")
	list = regexp.MustCompile(`  +completed +[0-9.]+[µm]?s\n`).ReplaceAllString(list, "\n")
	want := `rag-conversation-X
├── ing-rag-conversation-X-001  IngestionAgent → RetrievalAgent
├── ing-rag-conversation-X-002  IngestionAgent → RetrievalAgent
├── ing-rag-conversation-X-003  IngestionAgent → RetrievalAgent
├── ing-rag-conversation-X-004  IngestionAgent → RetrievalAgent
├── ing-rag-conversation-X-005  IngestionAgent → RetrievalAgent
├── ret-rag-conversation-X-006  System → RetrievalAgent
└── llm-rag-conversation-X-007  System → LLMResponseAgent
`
	if list != want {
		t.Errorf("got\n%s\nwant\n%s", list, want)
	}
	if got := runProgram(t, nil, "--quiet", "--trace=false", "refund"); got.stderr != "" || strings.Contains(got.stdout, "Trace") {
		t.Errorf("quiet: %+v", got)
	}
}

func TestTraceOfManyDocuments(t *testing.T) {
	files := map[string]string{}
	for i := range 60 {
		files[strings.Repeat("a", i+1)+".txt"] = "A zebra."
	}
	got := runProgram(t, nil, "--docs", folderOf(t, files), "zebra")
	if !strings.Contains(got.stdout, "├── … and 52 more  ") || !strings.Contains(got.stdout, "\n├── ret-") || !strings.Contains(got.stdout, "\n└── llm-") || strings.Count(got.stdout, "IngestionAgent") != 8 || strings.Count(got.stderr, "\n") > 45 || !strings.Contains(got.stderr, "\n60 of 60 files: ") {
		t.Errorf("%+v", got)
	}
}

func TestNothingIsInvented(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no such word":     {[]string{"What is the capital of France?"}, "None has: capital, France."},
		"no word at all":   {[]string{"is it?"}, "The question has no word to search for."},
		"filtered":         {[]string{"--type", "pdf", "refund"}, "None has: refund."},
		"no such document": {[]string{"--file", "other.md", "refund"}, "No document passes the filters."},
		"too little of it": {[]string{"--threshold", "0.9", "refunds and zebras"}, "The best with enough of it: 0. None has: zebras."},
	} {
		got := runProgram(t, nil, test.args...)
		if got.code != 1 || !strings.HasPrefix(got.stdout, swarm.NothingFound+"\n") || !strings.Contains(got.stdout, test.want) || strings.Contains(got.stdout, "LLMResponseAgent") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Of many skipped files, the first ones are named, each in one line.
func TestSkippedFiles(t *testing.T) {
	files := map[string]string{"good.txt": "The zebra has stripes."}
	for i := range 22 {
		files[fmt.Sprintf("%02d.txt", i)] = "\xff"
	}
	got := runProgram(t, nil, "--docs", folderOf(t, files), "zebra")
	if got.code != 0 || !strings.Contains(got.stderr, "1 documents indexed in 1 chunks, 22 skipped\n  skipped 00.txt: it is not text in UTF-8\n") ||
		!strings.HasSuffix(got.stderr, "\n  skipped 19.txt: it is not text in UTF-8\n  … and 2 more\n") {
		t.Errorf("%+v", got)
	}
}

func TestWrongArguments(t *testing.T) {
	file := filepath.Join(folderOf(t, map[string]string{"a.txt": "a"}), "a.txt")
	for want, test := range map[string]struct {
		code int
		env  map[string]string
		args []string
	}{
		"ask something, such as":                        {2, nil, nil},
		"--top: want 1 to 100":                          {2, nil, []string{"--top", "0", "x"}},
		"similarity_threshold: want 0 to 1, got 2":      {2, nil, []string{"--threshold", "2", "x"}},
		"filters.date_range: want two dates, got 1":     {2, nil, []string{"--dates", "2024-01-01", "x"}},
		`want a date such as 2024-03-31, got "May"`:     {2, nil, []string{"--dates", "2024-01-01,May", "x"}},
		"--timeout leaves no time":                      {2, nil, []string{"--timeout", "0s", "x"}},
		"flag provided but not defined":                 {2, nil, []string{"--nothing", "x"}},
		"RAG_LLM_URL=ftp://x: want a URL such as":       {2, map[string]string{"RAG_LLM_URL": "ftp://x"}, []string{"x"}},
		"RAG_LLM_URL is set and RAG_LLM_MODEL is not":   {2, map[string]string{"RAG_LLM_URL": "http://x"}, []string{"x"}},
		"RAG_LLM_TIMEOUT=soon: want a time such as 90s": {2, map[string]string{"RAG_LLM_URL": "http://x", "RAG_LLM_MODEL": "m", "RAG_LLM_TIMEOUT": "soon"}, []string{"x"}},
		"has no .md, .txt, .csv or .pdf file":           {1, nil, []string{"--docs", t.TempDir(), "x"}},
		"nowhere: no such file or directory; name one":  {1, nil, []string{"--docs", "nowhere", "x"}},
		"a.txt: not a directory; name one":              {1, nil, []string{"--docs", file, "x"}},
	} {
		got := runProgram(t, test.env, test.args...)
		if got.code != test.code || !strings.HasPrefix(got.stderr, "rag: ") || !strings.Contains(got.stderr, want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("want %q with %d, got %+v", want, test.code, got)
		}
	}
	if got := runProgram(t, nil, "--help"); got.code != 0 || got.stdout != usage {
		t.Errorf("--help: %+v", got)
	}
}

func TestInterrupt(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = new(bytes.Buffer).ReadFrom(r.Body) // so that the end of the connection is noticed
		interrupt()
		<-r.Context().Done()
		close(gone)
	}))
	defer server.Close()
	got := runWithin(ctx, map[string]string{"RAG_LLM_URL": server.URL, "RAG_LLM_MODEL": "m"}, "refund")
	if got.code != 1 || !strings.HasSuffix(got.stderr, "\nrag: interrupted\n") || !strings.Contains(got.stdout, "LLMResponseAgent") || !strings.Contains(got.stdout, "cancelled") {
		t.Errorf("%+v", got)
	}
	<-gone // the request was given up, too
}

func TestTimeout(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = new(bytes.Buffer).ReadFrom(r.Body)
		<-r.Context().Done()
	}))
	defer server.Close()
	got := runProgram(t, map[string]string{"RAG_LLM_URL": server.URL, "RAG_LLM_MODEL": "m"}, "--timeout", "10ms", "refund")
	if got.code != 1 || !strings.HasSuffix(got.stderr, "rag: not ready after 10ms; give it more --timeout\n") {
		t.Errorf("%+v", got)
	}
}

// endpoint is a language model that gives one answer.
func endpoint(t *testing.T, status int, body string) map[string]string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return map[string]string{"RAG_LLM_URL": s.URL, "RAG_LLM_MODEL": "small"}
}

func says(text string) string { return fmt.Sprintf(`{"choices":[{"message":{"content":%q}}]}`, text) }

func TestProgramWithModel(t *testing.T) {
	env := endpoint(t, 200, says("Five working days [1]."))
	got := runProgram(t, env, "How long does a refund take?")
	if got.code != 0 || !strings.HasPrefix(got.stdout, "Five working days [1].\n") || !strings.Contains(got.stdout, "cited  handbook/refunds.md") {
		t.Errorf("%+v", got)
	}
	if got := runProgram(t, env, "zebra"); got.code != 1 || !strings.HasPrefix(got.stdout, swarm.NothingFound) {
		t.Errorf("the model was asked without a passage: %+v", got)
	}
	env = endpoint(t, 200, says(swarm.NothingFound))
	if got := runProgram(t, env, "refund"); got.code != 1 || !strings.HasPrefix(got.stdout, swarm.NothingFound) || strings.Contains(got.stdout, "cited") {
		t.Errorf("%+v", got)
	}
	env = endpoint(t, 500, `{"error":{"message":"out of memory"}}`)
	if got := runProgram(t, env, "refund"); got.code != 1 || !strings.Contains(got.stderr, "500 Internal Server Error: out of memory; try again later\n") {
		t.Errorf("%+v", got)
	}
}
