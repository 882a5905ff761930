package swarm

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
// the content as stdin. A file that makes the library panic, hang or use up the memory ends that
// process alone.
const (
	childVariable = "RIBOSOME_RAG_READS_PDF"

	pdfTime   = time.Minute
	pdfMemory = 512 << 20 // bytes of the child's heap
	pdfText   = 16 << 20  // bytes of the text
)

// readsPDFs says whether ReadPDFs has been called.
var readsPDFs bool

// pdfContent is the child's output.
type pdfContent struct {
	Changed string
	Pages   []string
}

// extractPDF returns the paragraphs of each page of a PDF, and the day of its last change.
func extractPDF(ctx context.Context, file []byte, limit time.Duration) (parts []part, changed time.Time, err error) {
	if !readsPDFs { // or the child would be the whole program
		return nil, changed, errors.New("the program cannot read PDF: its main function does not call ReadPDFs")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, changed, err
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	child := exec.CommandContext(within, self)
	child.Env = append(os.Environ(), childVariable+"=1")
	child.Stdin = bytes.NewReader(file)
	child.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	child.Stdout, child.Stderr = &stdout, &stderr
	err = child.Run()
	switch {
	case ctx.Err() != nil:
		return nil, changed, context.Cause(ctx)
	case within.Err() != nil:
		return nil, changed, fmt.Errorf("reading the PDF takes longer than %v", limit)
	case err != nil:
		reason, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, changed, fmt.Errorf("the PDF cannot be read: %s", cmp.Or(reason, err.Error()))
	}
	var content pdfContent
	if err := json.Unmarshal(stdout.Bytes(), &content); err != nil {
		return nil, changed, err
	}
	for i, text := range content.Pages {
		for _, t := range textParts(text) {
			parts = append(parts, part{Position{Page: i + 1}, t.text})
		}
	}
	if len(parts) == 0 {
		return nil, changed, errors.New("the PDF has no text; it may be a scan")
	}
	return parts, pdfDay(content.Changed), nil
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

// ReadPDFs is called by the main function of a program that hosts the swarm, before anything else.
// If the process is one that was begun to read a PDF, it reads that, and ends the process. Else it
// does nothing.
func ReadPDFs() {
	readsPDFs = true
	if os.Getenv(childVariable) == "" {
		return
	}
	go watchMemory()
	if err := writePages(os.Stdin, os.Stdout); err != nil {
		fail(err)
	}
	os.Exit(0)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// watchMemory ends the process when its heap has grown too large.
func watchMemory() {
	debug.SetMemoryLimit(pdfMemory)
	var m goruntime.MemStats
	for range time.Tick(50 * time.Millisecond) {
		if goruntime.ReadMemStats(&m); m.HeapAlloc > pdfMemory {
			fail(fmt.Errorf("it needs more than %d MiB of memory", pdfMemory>>20))
		}
	}
}

// writePages writes the pages of a PDF.
func writePages(from io.Reader, to io.Writer) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	file, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	r, err := pdf.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return err
	}
	about := r.Trailer().Key("Info")
	content, length := pdfContent{Changed: cmp.Or(about.Key("ModDate").Text(), about.Key("CreationDate").Text())}, 0
	for n := 1; n <= r.NumPage(); n++ {
		text := pageText(r.Page(n))
		if length += len(text); length > pdfText {
			return fmt.Errorf("it has more than %d MiB of text", pdfText>>20)
		}
		content.Pages = append(content.Pages, text)
	}
	return json.NewEncoder(to).Encode(content)
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
