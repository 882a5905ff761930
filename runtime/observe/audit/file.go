package audit

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// FileOptions configures a [File].
type FileOptions struct {
	// Path is the path of the file. It is required; its folder must exist. A file that exists is
	// continued. A rotated file has the time of its rotation in its name:
	// audit-2026-11-24T06-00-00.000-size.jsonl of audit.jsonl. Files are readable by their owner
	// only. Anything but a regular file, such as /dev/stdout, is not rotated.
	Path string

	// Megabytes is the size at which the file is rotated, in MiB. Zero means [DefaultMegabytes].
	Megabytes int

	// Keep is how long a line is kept at least: rotated files that are older are deleted at the
	// next rotation, and the file is rotated at least every 25 hours. It is rounded up to whole
	// days. Zero means [DefaultKeep].
	Keep time.Duration

	// Lost returns the line, without its end, which says that a number of lines is missing before
	// it. It is required.
	Lost func(lines uint64) []byte

	// Alive returns the line, without its end, that is written after a day without any other. Nil
	// means none.
	Alive func() []byte

	// Logger receives the first of consecutive errors of the file. Nil discards them.
	Logger *slog.Logger
}

func (o FileOptions) withDefaults() (FileOptions, error) {
	switch {
	case o.Path == "":
		return o, errors.New("audit: FileOptions.Path is empty: it must name the file to write")
	case o.Lost == nil:
		return o, errors.New("audit: FileOptions.Lost is nil: it must return the line about missing lines")
	case o.Megabytes < 0:
		return o, errors.New("audit: FileOptions.Megabytes must not be negative")
	case o.Keep < 0:
		return o, errors.New("audit: FileOptions.Keep must not be negative")
	}
	o.Megabytes, o.Keep = cmp.Or(o.Megabytes, DefaultMegabytes), cmp.Or(o.Keep, DefaultKeep)
	o.Keep = (o.Keep + day - 1) / day * day
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Counts says how much a [Trail] or a [File] has written and lost.
type Counts struct {
	Written uint64 `json:"written"` // lines
	Lost    uint64 `json:"lost"`    // events that found the queue of a Trail full
	Failed  uint64 `json:"failed"`  // lines that could not be written
}

// File is a file of lines that are appended to it. It is rotated, and rotated files are deleted
// when they are older than configured. A line is written as a whole or counted as lost. After a
// failed write, such as on a full disk, the next line begins on a line of its own, below a line
// with the number of missing ones. Its owner must call Close. All methods may be called from any
// goroutine.
type File struct {
	options FileOptions

	mu     sync.Mutex
	file   io.WriteCloser
	plain  bool // it is a regular file, and is rotated
	size   int64
	begun  time.Time // of the time until the next rotation
	half   bool      // the file ends inside of a line
	lost   uint64    // lines that are missing, and of which no line says so
	noted  uint64    // the highest number that missing was called with
	counts Counts
	last   time.Time // of the last line that was written
	failed bool      // the last line could not be written
	stuck  bool      // the last rotation has failed

	closing chan struct{} // closed by Close
	idle    chan struct{} // closed when the goroutine of tend has ended
	closed  error
	close   sync.Once
}

// OpenFile opens a file. If its last line has no end, as after a crash, it gets one, and the Logger
// is told.
func OpenFile(o FileOptions) (*File, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &File{options: o, begun: time.Now(), last: time.Now(), closing: make(chan struct{}), idle: make(chan struct{})}
	if err := f.open(0); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	if f.half {
		o.Logger.Warn("the last line of the file was not complete", "file", o.Path)
	}
	f.prune()
	go f.tend()
	return f, nil
}

// open opens the file at the path.
func (f *File) open(flags int) error {
	const readable = 0o600
	opened, err := os.OpenFile(f.options.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|flags, readable)
	if err != nil {
		return err
	}
	info, err := opened.Stat()
	if err != nil {
		return errors.Join(err, opened.Close())
	}
	f.file, f.size, f.plain, f.half = opened, info.Size(), info.Mode().IsRegular(), false
	if f.plain && f.size > 0 {
		f.half = endsInside(f.options.Path, f.size)
	}
	return nil
}

// endsInside reports whether the last byte of a file of this size is not the end of a line. Of a
// file that cannot be read, it is not known.
func endsInside(path string, size int64) bool {
	r, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = r.Close() }() // it was only read
	last := make([]byte, 1)
	_, err = r.ReadAt(last, size-1)
	return err == nil && last[0] != '\n'
}

// Append writes a line, which has no end of line. The error, which the Logger has got, says that
// the line is missing.
func (f *File) Append(line []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.write(line)
	if err != nil {
		f.lost++
		f.counts.Failed++
	}
	return err
}

// missing takes how many lines are missing in all for another reason than an error of the file.
func (f *File) missing(lines uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if lines > f.noted {
		f.lost, f.noted = f.lost+lines-f.noted, lines
	}
}

// fail counts a line that cannot be made.
func (f *File) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost++
	f.counts.Failed++
	f.report(&f.failed, "a line of a file is missing", err)
}

// Write appends a line with its end, so that a File may be the MessageLog of a node. The error is
// nil: the File counts and logs its own.
func (f *File) Write(line []byte) (int, error) {
	_ = f.Append(line[:len(line)-len("\n")]) // it is counted and logged
	return len(line), nil
}

// write writes a line. The end of a half line and the number of lost lines, if any, come before it.
func (f *File) write(line []byte) error {
	f.rotate(len(line))
	var before []byte
	if f.half {
		before = []byte("\n")
	}
	if f.lost > 0 {
		before = append(append(before, f.options.Lost(f.lost)...), '\n')
	}
	if len(before) > 0 {
		if err := f.put(before); err != nil {
			return err
		}
		if f.lost > 0 {
			f.counts.Written++
			f.options.Logger.Warn("lines of a file are missing", "file", f.options.Path, "lines", f.lost)
		}
		f.lost = 0
	}
	if line == nil {
		return nil
	}
	if err := f.put(append(line[:len(line):len(line)], '\n')); err != nil {
		return err
	}
	f.counts.Written++
	f.last, f.failed = time.Now(), false
	return nil
}

// put writes whole lines.
func (f *File) put(text []byte) error {
	n, err := f.file.Write(text)
	if f.size += int64(n); n > 0 {
		f.half = text[n-1] != '\n'
	}
	if err != nil {
		f.report(&f.failed, "a line of a file is missing", err)
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// report logs an error, unless the one before it was of the same row of errors.
func (f *File) report(row *bool, text string, err error) {
	if !*row {
		f.options.Logger.Error(text, "file", f.options.Path, "err", err)
	}
	*row = true
}

// backupTime is the form of the time in the name of a rotated file.
const backupTime = "2006-01-02T15-04-05.000"

// rotate renames the file and opens a new one, if it is time, or a line of a length would make the
// file too large. If that fails, the old file goes on. A half line is left in the old file.
func (f *File) rotate(length int) {
	reason := "size"
	switch {
	case !f.plain:
		return
	case f.size == 0 && time.Since(f.begun) >= day:
		f.begun = time.Now()
		f.prune()
		return
	case f.size == 0:
		return
	case time.Since(f.begun) >= day:
		reason = "time"
	case f.size+int64(length)+1 <= int64(f.options.Megabytes)<<20:
		return
	}
	if f.half && f.put([]byte("\n")) != nil {
		return // the disk is full: a rotation would not help
	}
	old, backup := f.file, f.backup(reason)
	if err := os.Rename(f.options.Path, backup); err != nil && !errors.Is(err, fs.ErrNotExist) { // another process has moved it
		f.report(&f.stuck, "a file is not rotated", err)
		return
	}
	if err := f.open(os.O_EXCL); err != nil {
		f.report(&f.stuck, "a file is not rotated", errors.Join(err, os.Rename(backup, f.options.Path)))
		return
	}
	_ = old.Close() // each line has been written
	f.begun, f.stuck = time.Now(), false
	f.prune()
}

// backup returns a free name for the file that is rotated now.
func (f *File) backup(reason string) string {
	prefix, ext := f.affixes()
	for at := time.Now().UTC(); ; at = at.Add(time.Millisecond) {
		name := filepath.Join(filepath.Dir(f.options.Path), prefix+at.Format(backupTime)+"-"+reason+ext)
		if _, err := os.Lstat(name); err != nil { // mostly there is none; any other error is that of the renaming
			return name
		}
	}
}

// affixes returns what stands before and after the time and the reason in the names of rotated
// files.
func (f *File) affixes() (prefix, ext string) {
	base := filepath.Base(f.options.Path)
	ext = filepath.Ext(base)
	return strings.TrimSuffix(base, ext) + "-", ext
}

// prune deletes rotated files that are older than they have to be kept.
func (f *File) prune() {
	dir, oldest := filepath.Dir(f.options.Path), time.Now().Add(-f.options.Keep)
	prefix, ext := f.affixes()
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		name, is := strings.CutPrefix(e.Name(), prefix)
		if !is || !strings.HasSuffix(name, ext) || len(name) < len(backupTime) || name[len(backupTime):] == ext {
			continue
		}
		if at, bad := time.Parse(backupTime, name[:len(backupTime)]); bad == nil && at.Before(oldest) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	if err != nil {
		f.options.Logger.Error("old files are not deleted", "file", f.options.Path, "err", err)
	}
}

// Counts returns how much was written and lost.
func (f *File) Counts() Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts
}

// tend rotates the file when it is time, also if no line is written. It writes the line about
// missing lines when the file can be written again, and that of FileOptions.Alive after a day
// without any other.
func (f *File) tend() {
	defer close(f.idle)
	check := time.NewTicker(time.Hour)
	defer check.Stop()
	for {
		select {
		case <-f.closing:
			return
		case <-check.C:
		}
		f.mu.Lock()
		var alive []byte
		if f.options.Alive != nil && time.Since(f.last) >= day {
			alive = f.options.Alive()
		}
		_ = f.write(alive) // it is logged; that it is missing says nothing else
		f.mu.Unlock()
	}
}

// Close closes the file. If lines are missing, a last line says so. The error says that it, or a
// line before it, is missing. Closing again returns the same.
func (f *File) Close() error {
	f.close.Do(func() {
		close(f.closing)
		<-f.idle
		f.mu.Lock()
		defer f.mu.Unlock()
		f.closed = errors.Join(f.write(nil), f.file.Close())
	})
	return f.closed
}
