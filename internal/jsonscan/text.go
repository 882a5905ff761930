package jsonscan

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// hex4 parses the four hexadecimal digits at the front of b.
func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// Unquote returns the text of a JSON string that a Scanner has scanned: a slice of token if
// there are no escapes. It returns false for an unpaired surrogate, which represents no
// character.
func Unquote(token []byte) ([]byte, bool) {
	text := token[1 : len(token)-1]
	if bytes.IndexByte(text, '\\') < 0 {
		return text, true
	}
	return unescape(make([]byte, 0, len(text)), text)
}

func unescape(dst, text []byte) ([]byte, bool) {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return append(dst, text...), true
		}
		dst = append(dst, text[:i]...)
		text = text[i:]
		if text[1] != 'u' {
			dst, text = append(dst, unescaped[text[1]]), text[2:]
			continue
		}
		r, n := escapedRune(text)
		if r == utf8.RuneError && n == 0 {
			return dst, false
		}
		dst, text = utf8.AppendRune(dst, r), text[n:]
	}
}

var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escapedRune decodes one \u sequence or a surrogate pair, and returns its length, or 0 for
// an unpaired surrogate.
func escapedRune(text []byte) (rune, int) {
	r, _ := hex4(text[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
		low, _ := hex4(text[8:])
		if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
			return r, 12
		}
	}
	return utf8.RuneError, 0
}

// AppendQuoted appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := len(dst)
	dst = append(dst, s...)
	if text := dst[start:]; PlainRun(text) == len(text) && utf8.Valid(text) {
		return append(dst, '"')
	}
	return append(appendEscaped(dst[:start], s), '"')
}

func appendEscaped(dst []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if !plain[c] {
				dst = appendEscape(append(dst, s[from:i]...), c)
				from = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(append(dst, s[from:i]...), "\ufffd"...)
			from = i + 1
		}
		i += n
	}
	return append(dst, s[from:]...)
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(strconv.AppendUint(append(dst, `\u00`...), uint64(c>>4), 16), "0123456789abcdef"[c&15])
}

// KindOf returns the type of a JSON value, as text for a peer.
func KindOf(v []byte) string {
	if len(v) == 0 {
		return "nothing"
	}
	switch v[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
