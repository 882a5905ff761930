package swarm

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// chunkRunes is the size from which a chunk takes no further part. A longer part is divided.
const chunkRunes = 800

// part is a paragraph, a record or the like of a document, with the position where it begins.
type part struct {
	Position
	text string
}

// chunked joins parts of the same page and section to chunks, in their order, with an empty line
// between two. It divides the long ones.
func chunked(document string, parts []part) []Chunk {
	var chunks []Chunk
	var open *part
	flush := func() {
		if open != nil {
			chunks = append(chunks, Chunk{ID: fmt.Sprintf("%s#%d", document, len(chunks)+1), Content: open.text, Metadata: open.Position})
			open = nil
		}
	}
	for _, p := range parts {
		for p.text = strings.TrimSpace(p.text); p.text != ""; {
			var text string
			text, p.text = divide(p.text, chunkRunes)
			if open != nil && (open.Page != p.Page || open.Section != p.Section || utf8.RuneCountInString(open.text)+utf8.RuneCountInString(text) > chunkRunes) {
				flush()
			}
			if open == nil {
				open = &part{p.Position, text}
			} else {
				open.text += "\n\n" + text
			}
			if p.Line > 0 {
				p.Line += strings.Count(text, "\n")
			}
		}
	}
	flush()
	return chunks
}

// divide returns the first limit characters of the text and the rest. It divides behind a sentence,
// else between words, if there is such a place in the second half.
func divide(text string, limit int) (head, rest string) {
	end := len(text)
	for i := range text {
		if limit--; limit < 0 {
			end = i
			break
		}
	}
	if end == len(text) {
		return text, ""
	}
	at := -1
	for i, r := range text[:end] {
		if i < end/2 || !unicode.IsSpace(r) {
			continue
		}
		if last, _ := utf8.DecodeLastRuneInString(text[:i]); strings.ContainsRune(".!?:;", last) || r == '\n' {
			at = i
		}
	}
	if at < 0 {
		at = strings.LastIndexFunc(text[:end], unicode.IsSpace)
	}
	if at < end/2 {
		at = end
	}
	return strings.TrimSpace(text[:at]), strings.TrimSpace(text[at:])
}

// sentences divides a text into sentences, and into lines that are no continuation of the line
// before.
func sentences(text string) (all []string) {
	for _, paragraph := range strings.Split(text, "\n\n") {
		begin := 0
		for i, r := range paragraph {
			if i > begin && unicode.IsSpace(r) && ends(paragraph[begin:i], r, strings.TrimLeftFunc(paragraph[i:], unicode.IsSpace)) {
				all = appendLine(all, paragraph[begin:i])
				begin = i
			}
		}
		all = appendLine(all, paragraph[begin:])
	}
	return all
}

// ends reports whether a sentence ends before white space. A wrapped line goes on with a letter.
func ends(before string, space rune, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	if space == '\n' {
		return strings.ContainsRune(".!?:", last) || !unicode.IsLetter(next)
	}
	return strings.ContainsRune(".!?", last) && !unicode.IsLower(next)
}

// appendLine appends a text as one line, if there is any.
func appendLine(all []string, text string) []string {
	if text = strings.Join(strings.Fields(text), " "); text != "" {
		all = append(all, text)
	}
	return all
}
