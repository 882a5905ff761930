package swarm

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// batch is the largest number of chunks of a DOCUMENT_INGESTION.
const batch = 200

//go:embed sample
var sample embed.FS

// ingester reads the documents of one folder, divides them into chunks, and sends these to the
// RetrievalAgent.
type ingester struct {
	folder string // empty for the sample documents

	reading sync.Mutex
	known   map[string]bool // the documents that the RetrievalAgent has
}

// newIngestionAgent returns the agent that reads the folder of g, and no other.
func newIngestionAgent(g *ingester) actors.Agent {
	return worker{"document ingestion", map[string]task{
		taskFolder: performs("Reads the Markdown, text, CSV and PDF files of its folder again, and has them indexed.", func(ctx context.Context, t delegation.Task, _ nothing) (any, string, error) {
			base := strings.TrimPrefix(string(t.Message.ConversationID()), "ing-")
			report, err := g.ingest(ctx, t.Agent, NewThread(performatives.ConversationID(base)), t.Progress)
			return report, report.Summary(), err
		}),
	}}
}

// ingest has the documents of the folder indexed, in place of those that were there before. A file
// that cannot be read is skipped, and the report says why.
func (g *ingester) ingest(ctx context.Context, p codons.Party, t *Thread, progress func(percent float64, text string) error) (r Report, err error) {
	if !g.reading.TryLock() {
		return r, &performatives.Refusal{Code: performatives.CodeBusy, Text: "the folder is being read; ask again later"}
	}
	defer g.reading.Unlock()
	docs, done, err := g.open()
	if err != nil {
		return r, err
	}
	defer done()
	files, err := r.find(ctx, docs)
	if err != nil {
		return r, err
	}
	if len(files)+len(r.Skipped) == 0 {
		return r, fmt.Errorf("the folder %s has no .md, .txt, .csv or .pdf file", g.folder)
	}
	gone := maps.Clone(g.known)
	r.Skipped = append([]Skipped{}, r.Skipped...) // an array in JSON, also without any
	for i, file := range files {
		m, err := read(ctx, docs, file)
		switch {
		case ctx.Err() != nil:
			return r, context.Cause(ctx)
		case err != nil:
			r.skip(file, err)
		default:
			if err := send(ctx, p, t, m); err != nil {
				return r, err
			}
			g.known[file] = true
			delete(gone, file)
			r.Documents++
			r.Chunks += m.Total
		}
		const steps = 40 // of many files; of fewer, each is told
		if done := i + 1; progress != nil && done*steps/len(files) > i*steps/len(files) {
			if err := progress(100*float64(done)/float64(len(files)), fmt.Sprintf("%d of %d files: %s", done, len(files), file)); err != nil {
				return r, err
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(gone)) {
		if err := send(ctx, p, t, ingestion{ID: file}); err != nil {
			return r, err
		}
		delete(g.known, file)
		r.Removed++
	}
	return r, nil
}

// open opens the folder, until done is called. Symbolic links in it do not lead out of it.
func (g *ingester) open() (docs fs.FS, done func(), err error) {
	if g.folder == "" {
		docs, err = fs.Sub(sample, "sample")
		return docs, func() {}, err
	}
	root, err := os.OpenRoot(g.folder)
	if err != nil {
		return nil, nil, fmt.Errorf("the folder %s: %w; name one with documents by --docs", g.folder, bare(err))
	}
	return root.FS(), func() { _ = root.Close() }, nil
}

// bare returns an error without its path, which is beside it.
func bare(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// find returns the documents below a folder by their paths in it, with slashes. Hidden files and
// folders are left out.
func (r *Report) find(ctx context.Context, docs fs.FS) (files []string, err error) {
	err = fs.WalkDir(docs, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case name == "." && err != nil:
			return err
		case err != nil:
			r.skip(name, err)
		case name != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case !d.IsDir() && kindOf(name) != "":
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// read returns the document in a file.
func read(ctx context.Context, docs fs.FS, file string) (m ingestion, err error) {
	info, err := fs.Stat(docs, file)
	switch {
	case err != nil:
		return m, err
	case !info.Mode().IsRegular():
		return m, errors.New("it is not a regular file")
	case info.Size() > maxFile:
		return m, fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	content, err := fs.ReadFile(docs, file)
	if err != nil {
		return m, err
	}
	m = ingestion{ID: file, Name: file, Kind: kindOf(file), Modified: info.ModTime().UTC()}
	parts, changed, err := extract(ctx, content, m.Kind)
	if err != nil {
		return m, err
	}
	if !changed.IsZero() {
		m.Modified = changed
	}
	m.Chunks = chunked(file, parts)
	m.Total = len(m.Chunks)
	if m.Total == 0 {
		return m, errors.New("it has no text")
	}
	return m, nil
}

// send has a document indexed, or removed if it has no chunks.
func send(ctx context.Context, p codons.Party, t *Thread, m ingestion) error {
	all := m.Chunks
	for {
		m.Chunks = all[m.Offset:min(m.Offset+batch, len(all))]
		if _, err := ask[struct{}](ctx, p, RetrievalID, taskIngestion, t.next("ing"), m); err != nil {
			return err
		}
		if m.Offset += batch; m.Offset >= len(all) {
			return nil
		}
	}
}

func (r *Report) skip(file string, err error) {
	r.Skipped = append(r.Skipped, Skipped{file, bare(err).Error()})
}

// Summary returns how many documents were read, removed and skipped.
func (r Report) Summary() string {
	text := fmt.Sprintf("%d documents indexed in %d chunks", r.Documents, r.Chunks)
	if r.Removed > 0 {
		text += fmt.Sprintf(", %d removed", r.Removed)
	}
	if len(r.Skipped) > 0 {
		text += fmt.Sprintf(", %d skipped", len(r.Skipped))
	}
	return text
}

func (r Report) log(l *slog.Logger) {
	for _, s := range r.Skipped {
		l.Warn("a document is skipped", "file", s.File, "reason", s.Reason)
	}
	l.Info("the documents are indexed", "documents", r.Documents, "chunks", r.Chunks, "skipped", len(r.Skipped))
}
