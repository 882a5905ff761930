package pydebug

import "strings"

// maxNesting bounds the depth of brackets, f-strings and blocks, and so the
// recursion of the parsers and of walk.
const maxNesting = 100

// lexer splits a source into tokens. It records the first syntax error and
// continues after it, so that the rest of the source can be examined too.
type lexer struct {
	src     string
	pos     int
	line    int
	tokens  []Token
	open    []int // the token indices of unclosed brackets
	fdepth  int   // nested f-strings
	problem *SyntaxError
}

// tokenize returns the tokens of src and the first syntax error, or nil.
func tokenize(src string) ([]Token, *SyntaxError) {
	l := &lexer{src: src, line: 1}
	l.pos = len(src) - len(strings.TrimPrefix(src, "\ufeff"))
	for l.pos < len(l.src) {
		l.next()
	}
	if len(l.open) > 0 {
		t := l.tokens[l.open[len(l.open)-1]]
		l.fail(t.Line, "'"+src[t.Start:t.End]+"' was never closed")
	}
	l.endLine()
	return l.tokens, l.problem
}

func (l *lexer) fail(line int, what string) {
	if l.problem == nil {
		l.problem = &SyntaxError{line, what}
	}
}

func (l *lexer) emit(k TokenKind, start, line int) {
	l.tokens = append(l.tokens, Token{Kind: k, Text: l.src[start:l.pos], Start: start, End: l.pos, Line: line, match: -1})
}

func (l *lexer) endLine() {
	if n := len(l.tokens); n > 0 && l.tokens[n-1].Kind != TokenNewline {
		l.emit(TokenNewline, l.pos, l.line)
	}
}

// next reads one token, or skips white space, a comment or a line ending.
func (l *lexer) next() {
	c := l.src[l.pos]
	switch {
	case c == '\n' || c == '\r':
		if len(l.open) == 0 {
			l.endLine()
		}
		l.newline()
	case c == ' ' || c == '\t' || c == '\f':
		l.pos++
	case c == '#':
		l.pos += lineLength(l.src[l.pos:])
	case c == '\\':
		l.backslash()
	case c == '"' || c == '\'':
		l.stringLiteral(l.pos, "")
	case isNameStart(c):
		l.name()
	case isDigit(c), c == '.' && l.pos+1 < len(l.src) && isDigit(l.src[l.pos+1]):
		l.number()
	default:
		l.operator()
	}
}

// newline skips one line ending: \n, \r\n or \r.
func (l *lexer) newline() {
	if strings.HasPrefix(l.src[l.pos:], "\r\n") {
		l.pos++
	}
	l.pos++
	l.line++
}

// lineLength returns the number of bytes before the first line ending.
func lineLength(s string) int {
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		return i
	}
	return len(s)
}

func (l *lexer) backslash() {
	l.pos++
	if l.pos < len(l.src) && (l.src[l.pos] == '\n' || l.src[l.pos] == '\r') {
		l.newline()
		return
	}
	l.fail(l.line, "a backslash that doesn't end its line")
}

func (l *lexer) name() {
	start := l.pos
	for l.pos < len(l.src) && isNamePart(l.src[l.pos]) {
		l.pos++
	}
	word := l.src[start:l.pos]
	if l.pos < len(l.src) && (l.src[l.pos] == '"' || l.src[l.pos] == '\'') && isStringPrefix(word) {
		l.stringLiteral(start, strings.ToLower(word))
		return
	}
	l.emit(TokenName, start, l.line)
}

func isStringPrefix(word string) bool {
	switch strings.ToLower(word) {
	case "r", "u", "b", "f", "t", "br", "rb", "fr", "rf", "ur", "tr", "rt":
		return true
	}
	return false
}

func (l *lexer) number() {
	start := l.pos
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		exponent := (c == '+' || c == '-') && l.src[l.pos-1]|0x20 == 'e' && !isHex(l.src[start:l.pos])
		if !isNamePart(c) && c != '.' && !exponent {
			break
		}
		l.pos++
	}
	l.emit(TokenNumber, start, l.line)
}

func isHex(s string) bool { return strings.HasPrefix(strings.ToLower(s), "0x") }

func (l *lexer) operator() {
	start := l.pos
	l.pos++
	for _, op := range operators {
		if op[0] == l.src[start] && strings.HasPrefix(l.src[start:], op) {
			l.pos = start + len(op)
			break
		}
	}
	l.emit(TokenOp, start, l.line)
	switch text := l.src[start:l.pos]; text {
	case "(", "[", "{":
		l.openBracket()
	case ")", "]", "}":
		l.closeBracket(text)
	case "$", "?", "`":
		l.fail(l.line, "'"+text+"' has no meaning in Python")
	}
}

func (l *lexer) openBracket() {
	l.open = append(l.open, len(l.tokens)-1)
	if len(l.open) > maxNesting {
		l.fail(l.line, "too many nested brackets")
		l.open, l.pos = nil, len(l.src)
	}
}

func (l *lexer) closeBracket(text string) {
	n := len(l.open)
	if n == 0 {
		l.fail(l.line, "'"+text+"' closes nothing")
		return
	}
	opener := l.open[n-1]
	t := l.tokens[opener]
	if closers[l.src[t.Start:t.End]] != text {
		l.fail(l.line, "'"+text+"' doesn't close '"+l.src[t.Start:t.End]+"'")
		return
	}
	l.open = l.open[:n-1]
	l.tokens[opener].match = len(l.tokens) - 1
	l.tokens[len(l.tokens)-1].match = opener
}
