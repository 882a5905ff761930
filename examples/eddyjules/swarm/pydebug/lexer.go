package pydebug

import (
	"regexp"
	"strings"
)

// maxNesting bounds the depth of brackets, expressions and blocks, and so the
// recursion of the parser and of walk.
const maxNesting = 100

// lexer splits a source into tokens, up to its first syntax error.
type lexer struct {
	src     string
	pos     int
	line    int
	tokens  []Token
	open    []opener // brackets and f-strings that are not closed yet
	problem *SyntaxError
}

// opener is an open bracket or f-string.
type opener struct {
	text, closer string
	line         int
	quote        string // of the f-string that it is, or is a replacement field of; else empty
	literal      bool   // what follows is literal text: of the f-string, or a format specification
}

// tokenize returns the tokens of src, and the first syntax error, or nil.
func tokenize(src string) ([]Token, *SyntaxError) {
	l := &lexer{src: src, line: 1}
	l.pos = len(src) - len(strings.TrimPrefix(src, "\ufeff"))
	for l.pos < len(l.src) {
		if top := l.top(); top.literal {
			l.literal(top)
		} else {
			l.next(top)
		}
	}
	switch top := l.top(); {
	case top.text != top.closer:
		l.fail(top.line, "'"+top.text+"' was never closed")
	case top.literal:
		l.fail(top.line, "a string that is never closed")
	}
	l.endLine()
	return l.tokens, l.problem
}

// top returns the innermost opener; an empty one outside of all brackets.
func (l *lexer) top() *opener {
	if n := len(l.open); n > 0 {
		return &l.open[n-1]
	}
	return &opener{}
}

func (l *lexer) push(o opener) {
	l.open = append(l.open, o)
	if len(l.open) > maxNesting {
		l.fail(l.line, "too many nested brackets")
	}
}

// fail records the first syntax error and ends the reading.
func (l *lexer) fail(line int, what string) {
	if l.problem == nil {
		l.problem = &SyntaxError{line, what}
	}
	l.pos = len(l.src)
}

func (l *lexer) emit(k TokenKind, start, line int) {
	l.tokens = append(l.tokens, Token{Kind: k, Text: l.src[start:l.pos], Start: start, End: l.pos, Line: line})
}

func (l *lexer) endLine() {
	if n := len(l.tokens); n > 0 && l.tokens[n-1].Kind != TokenNewline {
		l.emit(TokenNewline, l.pos, l.line)
	}
}

// next reads one token, or skips white space, a comment or a line ending.
func (l *lexer) next(top *opener) {
	rest := l.src[l.pos:]
	switch c := rest[0]; {
	case c == '\n' || c == '\r':
		if len(l.open) == 0 {
			l.endLine()
		}
		l.newline()
	case c == ' ' || c == '\t' || c == '\f':
		l.pos++
	case c == '#':
		l.pos += lineLength(rest)
	case c == '\\' && len(rest) > 1 && (rest[1] == '\n' || rest[1] == '\r'):
		l.pos++
		l.newline()
	case top.quote != "" && (c == ':' || c == '!' && !strings.HasPrefix(rest, "!=")):
		top.literal = true
	case c == '"' || c == '\'':
		l.stringLiteral("")
	case isNameStart(c):
		l.name()
	case isDigit(c), c == '.' && len(rest) > 1 && isDigit(rest[1]):
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

// nameText matches a name.
var nameText = regexp.MustCompile(`^[\w\x{80}-\x{10FFFF}]+`)

func (l *lexer) name() {
	start := l.pos
	l.pos += len(nameText.FindString(l.src[start:]))
	prefix := strings.ToLower(l.src[start:l.pos])
	if l.pos < len(l.src) && (l.src[l.pos] == '"' || l.src[l.pos] == '\'') && stringPrefixes[prefix] {
		l.stringLiteral(prefix)
		return
	}
	l.emit(TokenName, start, l.line)
}

// numberText matches a number, and letters or digits that follow it without a space. Only an
// exponent has a sign.
var numberText = regexp.MustCompile(`^(?:0[xX][\w.\x{80}-\x{10FFFF}]*|(?:[eE][+-]|[\w.\x{80}-\x{10FFFF}])+)`)

func (l *lexer) number() {
	start := l.pos
	l.pos += len(numberText.FindString(l.src[start:]))
	l.emit(TokenNumber, start, l.line)
}

func (l *lexer) operator() {
	start := l.pos
	l.pos++
	for _, op := range operators {
		if strings.HasPrefix(l.src[start:], op) {
			l.pos = start + len(op)
			break
		}
	}
	l.emit(TokenOp, start, l.line)
	switch text := l.src[start:l.pos]; text {
	case "(", "[", "{":
		top := opener{text: text, closer: closers[text], line: l.line}
		if l.top().literal {
			top.quote = l.top().quote
		}
		l.push(top)
	case ")", "]", "}":
		l.closeBracket(text)
	case "\\":
		l.fail(l.line, "a backslash that doesn't end its line")
	case "$", "?", "`", "!":
		l.fail(l.line, "'"+text+"' has no meaning in Python")
	}
}

func (l *lexer) closeBracket(text string) {
	switch top := l.top(); top.closer {
	case text:
		l.open = l.open[:len(l.open)-1]
	case "":
		l.fail(l.line, "'"+text+"' closes nothing")
	default:
		l.fail(l.line, "'"+text+"' doesn't close '"+top.text+"'")
	}
}

// stringLiteral reads a string. The lexer's position is at the opening quote.
func (l *lexer) stringLiteral(prefix string) {
	start, line := l.pos-len(prefix), l.line
	quote := l.src[l.pos : l.pos+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(l.src[l.pos:], triple) {
		quote = triple
	}
	l.pos += len(quote)
	if strings.ContainsAny(prefix, "ft") {
		l.emit(TokenFStart, start, line)
		l.push(opener{text: quote, closer: quote, line: line, quote: quote, literal: true})
		return
	}
	for l.pos < len(l.src) && !strings.HasPrefix(l.src[l.pos:], quote) {
		if !l.stringByte(len(quote) == 3) {
			break
		}
	}
	if !strings.HasPrefix(l.src[l.pos:], quote) {
		l.fail(line, "a string that is never closed")
		return
	}
	l.pos += len(quote)
	l.emit(TokenString, start, line)
}

// stringByte skips one byte or one escape sequence of a string. It returns false at
// a line ending in a string that is not multiline.
func (l *lexer) stringByte(multiline bool) bool {
	c := l.src[l.pos]
	escaped := c == '\\' && l.pos+1 < len(l.src)
	if escaped {
		l.pos++
		c = l.src[l.pos]
	}
	if c != '\n' && c != '\r' {
		l.pos++
		return true
	}
	if multiline || escaped {
		l.newline()
	}
	return multiline || escaped
}

// literal reads the text of an f-string up to a replacement field or the closing
// quote, or the format specification of a field up to its closing brace.
func (l *lexer) literal(top *opener) {
	start, line := l.pos, l.line
	inField := top.closer == "}"
	for !l.endsLiteral(top.quote, inField) {
		if rest := l.src[l.pos:]; !inField && (strings.HasPrefix(rest, "{{") || strings.HasPrefix(rest, "}}")) {
			l.pos += 2
		} else if !l.stringByte(len(top.quote) == 3) {
			l.fail(top.line, "a string that is never closed")
		}
	}
	if l.pos > start {
		l.emit(TokenFText, start, line)
	}
	switch rest := l.src[l.pos:]; {
	case rest == "":
	case rest[0] == '{' || rest[0] == '}':
		l.operator()
	case inField:
		l.fail(top.line, "an f-string whose '{' is never closed")
	default:
		end := l.pos
		l.pos += len(top.quote)
		l.emit(TokenFEnd, end, l.line)
		l.open = l.open[:len(l.open)-1]
	}
}

// endsLiteral reports whether the literal text of an f-string, or of a field in it,
// ends at the current position.
func (l *lexer) endsLiteral(quote string, inField bool) bool {
	rest := l.src[l.pos:]
	return rest == "" || strings.HasPrefix(rest, quote) ||
		rest[0] == '{' && (inField || !strings.HasPrefix(rest, "{{")) || rest[0] == '}' && inField
}
