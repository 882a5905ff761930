package pydebug

import "strings"

// stringLiteral reads a string whose prefix begins at start. The lexer's position
// is at the opening quote.
func (l *lexer) stringLiteral(start int, prefix string) {
	quote := l.src[l.pos : l.pos+1]
	if strings.HasPrefix(l.src[l.pos:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	line := l.line
	l.pos += len(quote)
	if strings.ContainsAny(prefix, "ft") {
		l.formatted(start, quote)
		return
	}
	for l.pos < len(l.src) {
		if strings.HasPrefix(l.src[l.pos:], quote) {
			l.pos += len(quote)
			l.emit(TokenString, start, line)
			return
		}
		if !l.stringByte(len(quote) == 3) {
			break
		}
	}
	l.fail(line, "a string that is never closed")
	l.emit(TokenString, start, line)
}

// stringByte skips one byte or one escape sequence of a string. It returns false at
// a line ending in a string that is not multiline.
func (l *lexer) stringByte(multiline bool) bool {
	switch c := l.src[l.pos]; {
	case c == '\\' && l.pos+1 < len(l.src):
		l.pos++
		if l.src[l.pos] == '\n' || l.src[l.pos] == '\r' {
			l.newline()
			return true
		}
	case c == '\n' || c == '\r':
		if multiline {
			l.newline()
		}
		return multiline
	}
	l.pos++
	return true
}

// formatted reads an f-string. Its interpolations become ordinary tokens.
func (l *lexer) formatted(start int, quote string) {
	line := l.line
	l.emit(TokenFStart, start, line)
	l.fdepth++
	defer func() { l.fdepth-- }()
	if l.fdepth > maxNesting/4 {
		l.fail(line, "too many nested f-strings")
		l.pos = len(l.src)
		return
	}
	if !l.formattedText(quote, false) {
		l.fail(line, "a string that is never closed")
	}
	end := l.pos
	if strings.HasPrefix(l.src[l.pos:], quote) {
		l.pos += len(quote)
	}
	l.emit(TokenFEnd, end, l.line)
}

// formattedText reads up to the closing quote or, in a format spec, up to the brace
// that ends the interpolation. It reports whether it found that end.
func (l *lexer) formattedText(quote string, spec bool) bool {
	start, line := l.pos, l.line
	flush := func() {
		if l.pos > start {
			l.emit(TokenFText, start, line)
		}
	}
	for l.pos < len(l.src) {
		rest := l.src[l.pos:]
		switch {
		case strings.HasPrefix(rest, quote), spec && rest[0] == '}':
			flush()
			return true
		case !spec && (strings.HasPrefix(rest, "{{") || strings.HasPrefix(rest, "}}")):
			l.pos += 2
		case rest[0] == '{':
			flush()
			l.interpolation(quote)
			start, line = l.pos, l.line
		case !l.stringByte(len(quote) == 3):
			flush()
			return false
		}
	}
	flush()
	return false
}

// interpolation reads {expr!r:spec} of an f-string, including the braces.
func (l *lexer) interpolation(quote string) {
	l.operator()
	opener := len(l.tokens) - 1
	depth := len(l.open)
	for l.pos < len(l.src) && len(l.open) >= depth {
		c := l.src[l.pos]
		if len(l.open) == depth && (c == ':' || c == '!' && !strings.HasPrefix(l.src[l.pos:], "!=")) {
			l.conversion(quote)
			break
		}
		if len(quote) == 1 && (c == '\n' || c == '\r') || c == '\\' && len(quote) == 1 {
			break
		}
		l.next()
	}
	if l.pos < len(l.src) && l.src[l.pos] == '}' && len(l.open) == depth {
		l.operator()
	}
	if len(l.open) >= depth {
		l.fail(l.tokens[opener].Line, "an f-string whose '{' is never closed")
		l.open = l.open[:min(len(l.open), max(depth-1, 0))]
	}
}

// conversion reads the !r and the :spec after the expression of an interpolation.
func (l *lexer) conversion(quote string) {
	start := l.pos
	if l.src[l.pos] == '!' {
		l.pos++
		for l.pos < len(l.src) && isNamePart(l.src[l.pos]) {
			l.pos++
		}
	}
	if l.pos < len(l.src) && l.src[l.pos] == ':' {
		l.pos++
	}
	l.emit(TokenFText, start, l.line)
	l.formattedText(quote, true)
}
