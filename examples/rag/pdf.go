package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	goruntime "runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/ledongthuc/pdf"
)

// A PDF is read by a child process: this program itself, with childVariable in its environment and
// the file as stdin. A file that makes the library panic, hang or use up the memory ends that
// process alone.
const (
	childVariable = "RIBOSOME_RAG_READS_PDF"

	pdfTime   = time.Minute
	pdfMemory = 512 << 20 // bytes of the child's heap
	pdfText   = 16 << 20  // bytes of its output
)

// pdfPage is a line of the child's output. The first one has no page, but the PDF's dates.
type pdfPage struct {
	Changed string `json:"changed,omitempty"`
	Page    int    `json:"page"`
	Text    string `json:"text"`
}

// extractPDF returns the paragraphs of each page of a PDF, and the day of its last change.
func extractPDF(ctx context.Context, f *os.File) (parts []part, changed time.Time, err error) {
	return childReads(ctx, f, pdfTime)
}

func childReads(ctx context.Context, f *os.File, limit time.Duration) (parts []part, changed time.Time, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, changed, err
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	child := exec.CommandContext(within, self)
	child.Env = append(os.Environ(), childVariable+"=1")
	child.Stdin = f
	child.WaitDelay = time.Second
	stdout, stderr := &bounded{max: pdfText}, &bounded{max: 4 << 10}
	child.Stdout, child.Stderr = stdout, stderr
	err = child.Run()
	switch {
	case ctx.Err() != nil:
		return nil, changed, context.Cause(ctx)
	case within.Err() != nil:
		return nil, changed, fmt.Errorf("reading the PDF takes longer than %v", limit)
	case stdout.full:
		return nil, changed, fmt.Errorf("the PDF has more than %d MiB of text", pdfText>>20)
	case err != nil:
		reason, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, changed, fmt.Errorf("it is not a PDF that can be read: %s", cmp.Or(reason, err.Error()))
	}
	return pdfParts(stdout.Bytes())
}

func pdfParts(output []byte) (parts []part, changed time.Time, err error) {
	for d := json.NewDecoder(bytes.NewReader(output)); d.More(); {
		var p pdfPage
		if err := d.Decode(&p); err != nil {
			return nil, changed, err
		}
		if p.Page == 0 {
			changed = pdfDay(p.Changed)
		}
		for _, t := range textParts(p.Text) {
			parts = append(parts, part{position{Page: p.Page}, t.text})
		}
	}
	if len(parts) == 0 {
		return nil, changed, errors.New("the PDF has no text; it may be a scan")
	}
	return parts, changed, nil
}

// pdfDay returns the day of a date such as D:20240328091500+01'00', whose parts behind the year may
// be left out (PDF 32000-1, 7.9.4). It is zero for anything else.
func pdfDay(date string) time.Time {
	const layout = "20060102"
	digits := strings.TrimPrefix(date, "D:")
	digits = digits[:min(len(digits), len(layout))]
	if len(digits) < len("2006") {
		return time.Time{}
	}
	day, _ := time.Parse(layout[:len(digits)], digits)
	return day
}

// bounded is a buffer that refuses to grow beyond max bytes.
type bounded struct {
	bytes.Buffer

	max  int
	full bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.max {
		b.full = true
		return 0, io.ErrShortWrite
	}
	return b.Buffer.Write(p)
}

// readPDFAsChild is the child process: it writes the pages of the PDF in stdin to stdout. It
// returns the exit code.
func readPDFAsChild(stdin *os.File, stdout, stderr io.Writer) (code int) {
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintln(stderr, v)
			code = 1
		}
	}()
	watchMemory(stderr)
	info, err := stdin.Stat()
	if err == nil {
		err = writePages(stdin, info.Size(), stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// watchMemory ends the process when its heap has grown too large.
func watchMemory(stderr io.Writer) {
	debug.SetMemoryLimit(pdfMemory)
	go func() {
		var m goruntime.MemStats
		for range time.Tick(50 * time.Millisecond) {
			if goruntime.ReadMemStats(&m); m.HeapAlloc > pdfMemory {
				fmt.Fprintf(stderr, "it needs more than %d MiB of memory\n", pdfMemory>>20)
				os.Exit(1)
			}
		}
	}()
}

func writePages(f io.ReaderAt, size int64, w io.Writer) error {
	if size > maxFile {
		return fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	r, err := pdf.NewReader(f, size)
	if err != nil {
		return err
	}
	out := json.NewEncoder(w)
	about := r.Trailer().Key("Info")
	if err := out.Encode(pdfPage{Changed: cmp.Or(about.Key("ModDate").Text(), about.Key("CreationDate").Text())}); err != nil {
		return err
	}
	for n := 1; n <= r.NumPage(); n++ {
		if err := out.Encode(pdfPage{Page: n, Text: pageText(r.Page(n))}); err != nil {
			return err
		}
	}
	return nil
}

// pageText returns the text of a page, in the order of its content. The library's own function
// joins lines without a space.
func pageText(p pdf.Page) string {
	if p.V.IsNull() || p.V.Key("Contents").IsNull() {
		return ""
	}
	t := typesetter{page: p, fonts: make(map[string]pdf.TextEncoding)}
	pdf.Interpret(p.V.Key("Contents"), func(stack *pdf.Stack, operator string) {
		args := make([]pdf.Value, stack.Len())
		for i := range args {
			args[len(args)-1-i] = stack.Pop()
		}
		t.apply(operator, args)
	})
	return t.text.String()
}

// typesetter collects the text that the operators of a page show (PDF 32000-1, 9.4).
type typesetter struct {
	page     pdf.Page
	fonts    map[string]pdf.TextEncoding
	encoding pdf.TextEncoding
	text     strings.Builder
	y        float64
}

// wide is the shift to the left, in thousandths of the font's size, from which it stands for a
// space between words.
const wide = -180

func (t *typesetter) apply(operator string, args []pdf.Value) {
	switch operator {
	case "Tf":
		if len(args) == 2 {
			t.encoding = t.encodingOf(args[0].Name())
		}
	case "Td", "TD":
		if len(args) == 2 && args[1].Float64() != 0 {
			t.text.WriteByte('\n')
		} else {
			t.text.WriteByte(' ')
		}
	case "Tm":
		if len(args) == 6 && args[5].Float64() != t.y {
			t.y = args[5].Float64()
			t.text.WriteByte('\n')
		}
	case "T*", "BT":
		t.text.WriteByte('\n')
	case "'", "\"":
		t.text.WriteByte('\n')
		fallthrough
	case "Tj":
		if len(args) > 0 {
			t.show(args[len(args)-1])
		}
	case "TJ":
		if len(args) > 0 {
			t.showAll(args[0])
		}
	}
}

// encodingOf returns the encoding of a font of the page.
func (t *typesetter) encodingOf(font string) pdf.TextEncoding {
	if t.fonts[font] == nil {
		f := t.page.Font(font)
		t.fonts[font] = f.Encoder()
	}
	return t.fonts[font]
}

func (t *typesetter) showAll(pieces pdf.Value) {
	for i := range pieces.Len() {
		switch v := pieces.Index(i); v.Kind() {
		case pdf.String:
			t.show(v)
		case pdf.Integer, pdf.Real:
			if v.Float64() < wide {
				t.text.WriteByte(' ')
			}
		}
	}
}

func (t *typesetter) show(v pdf.Value) {
	if t.encoding == nil {
		t.text.WriteString(strings.ToValidUTF8(v.RawString(), "�"))
		return
	}
	t.text.WriteString(t.encoding.Decode(v.RawString()))
}
