package swarm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// TestMain is also the child process that reads PDFs.
func TestMain(m *testing.M) {
	ReadPDFs()
	leakcheck.Main(m)
}

// hosted returns a node that hosts the swarm, and the report of its start.
func hosted(t *testing.T, o Options) (n *runtime.Node, r Report) {
	t.Helper()
	n, err := runtime.New(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		within, cancel := context.WithTimeout(context.Background(), patience.Time)
		defer cancel()
		if err := n.Stop(within); err != nil {
			t.Error(err)
		}
	})
	o.Told = func(told Report) { r = told }
	if err := (runtime.Swarms{New(o)}).Host(t.Context(), n, Name); err != nil {
		t.Fatal(err)
	}
	return n, r
}

func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnreadableFilesAreSkipped(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	write(t, elsewhere, map[string]string{"secret.txt": "zebra"})
	write(t, dir, map[string]string{
		"good.txt": "The zebra has stripes.", "empty.md": "\n", "latin.txt": "caf\xe9", "broken.pdf": "%PDF-1.4 nothing", "scan.pdf": pdfOf(nil),
		"quote.csv": "a,b\n\"x,y\n", ".hidden.txt": "zebra", ".git/zebra.txt": "zebra", "image.png": "zebra", "folder.txt/x.md": "A lion.",
	})
	for name, to := range map[string]string{"link.txt": filepath.Join(elsewhere, "secret.txt"), "folder.md": "folder.txt", "same.txt": "good.txt"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	_, r := hosted(t, Options{Docs: dir})
	got := make(map[string]string)
	for _, s := range r.Skipped {
		got[s.File] = s.Reason
	}
	got["broken.pdf"], _, _ = strings.Cut(got["broken.pdf"], ":")
	want := map[string]string{
		"broken.pdf": "the PDF cannot be read", "empty.md": "it has no text", "folder.md": "it is not a regular file", "latin.txt": "it is not text in UTF-8",
		"link.txt": "path escapes from parent", "quote.csv": `parse error on line 2, column 6: extraneous or missing " in quoted-field`, "scan.pdf": "the PDF has no text; it may be a scan",
	}
	if diff := cmp.Diff(want, got); diff != "" || r.Summary() != "3 documents indexed in 3 chunks, 7 skipped" {
		t.Errorf("%s\n%s", r.Summary(), diff)
	}
}

// INGEST_FOLDER reads the folder again: what has changed, is new, is gone or cannot be read any
// more.
func TestFolderIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"changed.txt": "zebra", "gone.txt": "zebra", "broken.txt": "zebra", "long.txt": strings.Repeat("gnu "+strings.Repeat("x", chunkRunes)+"\n\n", 2*batch)})
	n, r := hosted(t, Options{Docs: dir})
	found := func(query string) (names []string, total int) {
		got, err := ask[Retrieved](t.Context(), n, RetrievalID, taskRetrieval, performatives.ConversationID(performatives.NewID()), Query{Text: query})
		if err != nil {
			t.Fatal(err)
		}
		return sources(got.Hits), got.Total
	}
	if names, _ := found("zebra"); len(names) != 3 || r.Documents != 4 || r.Removed != 0 {
		t.Errorf("at the start %v, %+v", names, r)
	}
	if _, total := found("gnu"); total < 2*batch {
		t.Errorf("%d chunks of a long document", total)
	}
	if err := os.Remove(filepath.Join(dir, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"changed.txt": "lion", "broken.txt": "\xff", "new.txt": "lion", "long.txt": "gnu"})
	sent := n.Events().Subscribe(events.SubscribeOptions{Capacity: 1 << 10, Kinds: []events.Kind{events.KindMessageSent}})
	again, err := ask[Report](t.Context(), n, IngestionID, taskFolder, "ing-again-001", struct{}{})
	sent.Close()
	threads := make(map[performatives.ConversationID]bool)
	for r := range sent.C {
		threads[r.Event.(events.MessageSent).Message.ConversationID()] = true
	}
	if !threads["ing-again-001-001"] || !threads["ing-again-001-005"] || len(threads) != 6 {
		t.Errorf("the conversations are %v", threads)
	}
	names, _ := found("lion")
	if diff := cmp.Diff([]string{"changed.txt", "new.txt"}, names); err != nil || diff != "" || again.Documents != 3 || again.Removed != 2 {
		t.Errorf("%v: %+v\n%s", err, again, diff)
	}
	if names, _ := found("zebra"); len(names) != 0 {
		t.Errorf("%v are still there", names)
	}
	if _, total := found("gnu"); total != 1 {
		t.Errorf("%d chunks of a document that was long", total)
	}
}

// A model is asked only with passages.
func TestModelWithoutPassages(t *testing.T) {
	n, _ := hosted(t, Options{Model: testModel(t, endpoint(t, 200, says("Yes [1].")))})
	for want, r := range map[string]response{NothingFound: {Question: "Really?"}, "Yes [1].": {Question: "Really?", Passages: []Passage{{Content: "Yes."}}}} {
		got, err := ask[Responded](t.Context(), n, ResponseID, taskResponse, performatives.ConversationID(performatives.NewID()), r)
		if err != nil || got.Response != want {
			t.Errorf("%+v, %v, want %s", got, err, want)
		}
	}
}

// One folder is read once at a time.
func TestFolderIsBeingRead(t *testing.T) {
	g := &ingester{known: make(map[string]bool)}
	g.reading.Lock()
	_, err := g.ingest(t.Context(), nil, nil, nil)
	if refusal := (*performatives.Refusal)(nil); !errors.As(err, &refusal) || refusal.Code != performatives.CodeBusy {
		t.Errorf("%v", err)
	}
}

func TestPayloads(t *testing.T) {
	n, _ := hosted(t, Options{})
	for want, m := range map[string]struct {
		to      performatives.AgentID
		kind    string
		payload any
	}{
		"document_id: want the id of a document, got nothing": {RetrievalID, taskIngestion, ingestion{}},
		"chunks[0].content: want text, got nothing":           {RetrievalID, taskIngestion, ingestion{ID: "x", Chunks: []Chunk{{}}}},
		"query: want a question, got nothing":                 {RetrievalID, taskRetrieval, Query{}},
		"top_k: want 1 to 100, got 101":                       {RetrievalID, taskRetrieval, Query{Text: "x", Top: 101}},
		"user_query: want a question, got nothing":            {ResponseID, taskResponse, response{}},
		`there is no task "rerank" here, only`:                {ResponseID, "rerank", response{}},
	} {
		if _, err := ask[struct{}](t.Context(), n, m.to, m.kind, performatives.ConversationID(performatives.NewID()), m.payload); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
