package main

import (
	"bytes"
	"io"
)

// escapes are the escape sequences by which encoding/json writes <, > and & for web pages.
var escapes = []struct {
	text  string // lower case, without the backslash
	plain byte
}{{"u003c", '<'}, {"u003e", '>'}, {"u0026", '&'}}

// plainJSON returns a JSON text with <, > and & as they are: code contains them. The result is JSON
// of the same value. It may share the memory of text.
func plainJSON(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\u00`)) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		if c, ok := unescaped(text[i+1:]); ok {
			out = append(out, c)
			i += len(escapes[0].text)
			continue
		}
		out = append(out, '\\', text[i+1]) // also the backslash of \\, which begins no other sequence
		i++
	}
	return out
}

// unescaped returns the character of the sequence at the beginning of text, if it is one of
// escapes.
func unescaped(text []byte) (byte, bool) {
	for _, e := range escapes {
		if len(text) >= len(e.text) && bytes.EqualFold(text[:len(e.text)], []byte(e.text)) && text[0] == 'u' {
			return e.plain, true
		}
	}
	return 0, false
}

// plainJSONWriter is a writer of lines with JSON in them: it writes <, > and & as they are. Each
// Write is one line.
type plainJSONWriter struct{ to io.Writer }

func (w plainJSONWriter) Write(line []byte) (int, error) {
	if _, err := w.to.Write(plainJSON(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}
