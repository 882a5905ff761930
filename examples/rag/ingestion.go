package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// batch is the largest number of chunks of a DOCUMENT_INGESTION.
const batch = 200

// newIngestionAgent returns the agent that reads documents, divides them into chunks and sends them
// to the RetrievalAgent. It reads no other folder than only, unless that is empty.
func newIngestionAgent(only string) actors.Agent {
	return worker{"document ingestion", map[string]task{
		taskFolder: performs("Reads the Markdown, text, CSV and PDF files of a folder, and has those indexed that are new or have changed.", func(ctx context.Context, t delegation.Task, f folder) (any, string, error) {
			if only != "" && f.Path != only {
				return nil, "", &performatives.Refusal{Code: performatives.CodeForbidden, Text: "path: this agent reads only the folder that the program was started with"}
			}
			return ingestFolder(ctx, t, f)
		}),
	}}
}

// ingestFolder is the task ingest_folder. A file that cannot be read is skipped, and the report
// says why.
func ingestFolder(ctx context.Context, t delegation.Task, f folder) (any, string, error) {
	files, report, err := findFiles(ctx, f.Path)
	if err != nil {
		return nil, "", err
	}
	if len(files)+len(report.Skipped) == 0 {
		return nil, "", fmt.Errorf("%s has no .md, .txt, .csv or .pdf file", f.Path)
	}
	run := folderRun{task: t, folder: f.Path, report: report}
	known, err := run.known(ctx)
	if err != nil {
		return nil, "", err
	}
	for i, file := range files {
		if err := run.ingest(ctx, file, known); err != nil {
			return nil, "", err
		}
		delete(known, file)
		if err := run.progress(i+1, len(files), file); err != nil {
			return nil, "", err
		}
	}
	if err := run.remove(ctx, known); err != nil {
		return nil, "", err
	}
	return run.report, run.report.summary(), nil
}

// findFiles returns the documents below a folder by their paths in it, with slashes. Hidden files
// and folders are left out.
func findFiles(ctx context.Context, root string) (files []string, report folderReport, err error) {
	info, err := os.Stat(root)
	var at *fs.PathError
	if errors.As(err, &at) {
		return nil, report, fmt.Errorf("the folder %s: %w; name one with documents by --docs", root, at.Err)
	}
	if err != nil {
		return nil, report, err
	}
	if !info.IsDir() {
		return nil, report, fmt.Errorf("%s is a file; name its folder", root)
	}
	fsys := os.DirFS(root)
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case name == "." && err != nil:
			return err
		case err != nil:
			report.skip(name, err)
			return nil
		case name != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case !d.IsDir() && kindOf(name) != "":
			files = append(files, name)
		}
		return nil
	})
	return files, report, err
}

func (r *folderReport) skip(file string, err error) {
	var at *fs.PathError
	if errors.As(err, &at) { // the path is beside it
		err = at.Err
	}
	r.Skipped = append(r.Skipped, skipped{file, err.Error()})
}

func (r *folderReport) summary() string {
	text := fmt.Sprintf("%d documents indexed in %d chunks", r.Indexed, r.Chunks)
	for _, n := range []struct {
		count int
		what  string
	}{{r.Unchanged, "unchanged"}, {r.Removed, "removed"}, {len(r.Skipped), "skipped"}} {
		if n.count > 0 {
			text += fmt.Sprintf(", %d %s", n.count, n.what)
		}
	}
	return text
}

// folderRun is one task ingest_folder. One goroutine uses it.
type folderRun struct {
	task   delegation.Task
	folder string
	report folderReport
	calls  int // to the RetrievalAgent
}

// call returns the next task for the RetrievalAgent.
func (r *folderRun) call(kind string) call {
	r.calls++
	base := performatives.ConversationID(strings.TrimPrefix(string(r.task.Message.ConversationID()), "ing-"))
	return call{to: agentRetrieval, task: kind, thread: thread("ing", base, r.calls)}
}

// known returns the fingerprints of the documents that the RetrievalAgent has.
func (r *folderRun) known(ctx context.Context) (map[string]string, error) {
	d, err := ask[documents](ctx, r.task.Agent, r.call(taskDocuments), nothing{})
	known := make(map[string]string, len(d.Fingerprints))
	for id, fingerprint := range d.Fingerprints {
		known[id] = fingerprint
	}
	return known, err
}

// ingest has a file indexed if its content is not known. A file that cannot be read is no error,
// but what the index had of it goes.
func (r *folderRun) ingest(ctx context.Context, file string, known map[string]string) error {
	m, err := r.read(ctx, file, known[file])
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		r.report.skip(file, err)
		if _, had := known[file]; had {
			return r.removeAll(ctx, []string{file})
		}
		return nil
	case m == nil:
		r.report.Unchanged++
		return nil
	}
	all := m.Chunks
	for m.Offset = 0; m.Offset < len(all); m.Offset += batch {
		m.Chunks = all[m.Offset:min(m.Offset+batch, len(all))]
		if _, err := ask[ingested](ctx, r.task.Agent, r.call(taskIngestion), *m); err != nil {
			return err
		}
	}
	r.report.Indexed++
	r.report.Chunks += len(all)
	return nil
}

// read returns the document in a file, or nil if it has that fingerprint.
func (r *folderRun) read(ctx context.Context, file, fingerprint string) (*ingestion, error) {
	f, err := os.Open(filepath.Join(r.folder, filepath.FromSlash(file)))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > maxFile:
		return nil, fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, err
	}
	m := ingestion{ID: file, Name: info.Name(), Kind: kindOf(file), Modified: info.ModTime().UTC(), Fingerprint: hex.EncodeToString(sum.Sum(nil))}
	if m.Fingerprint == fingerprint {
		return nil, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	parts, changed, err := extract(ctx, f, m.Kind)
	if err != nil {
		return nil, err
	}
	if !changed.IsZero() {
		m.Modified = changed
	}
	m.Chunks = chunked(file, parts)
	m.Total = len(m.Chunks)
	if m.Total == 0 {
		return nil, errors.New("it has no text")
	}
	return &m, nil
}

// progress reports each file of a small folder, and some forty steps of a large one.
func (r *folderRun) progress(done, all int, file string) error {
	const steps = 40
	if all > steps && done != all && done*steps/all == (done-1)*steps/all {
		return nil
	}
	return r.task.Progress(100*float64(done)/float64(all), fmt.Sprintf("%d of %d files: %s", done, all, file))
}

// remove removes the documents that are not in the folder any more.
func (r *folderRun) remove(ctx context.Context, gone map[string]string) error {
	if len(gone) == 0 {
		return nil
	}
	ids := make([]string, 0, len(gone))
	for id := range gone {
		ids = append(ids, id)
	}
	r.report.Removed = len(ids)
	return r.removeAll(ctx, ids)
}

func (r *folderRun) removeAll(ctx context.Context, ids []string) error {
	_, err := ask[documents](ctx, r.task.Agent, r.call(taskRemoval), removal{ids})
	return err
}
