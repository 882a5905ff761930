package pydebug

import "strings"

// TokenKind is the kind of a [Token].
type TokenKind uint8

// The kinds of tokens.
const (
	TokenName TokenKind = iota // a name or a keyword
	TokenNumber
	TokenString  // a string or bytes literal without interpolation
	TokenFStart  // the prefix and opening quote of an f-string
	TokenFText   // the literal text between interpolations
	TokenFEnd    // the closing quote of an f-string
	TokenOp      // operators, brackets and punctuation
	TokenNewline // the end of a logical line; it has no text
)

// Token is one lexical element; Start and End are byte offsets.
type Token struct {
	Kind       TokenKind
	Text       string
	Start, End int
	Line       int // 1-based line of start
}

// SetOf returns the set of the words of a text.
func SetOf(words string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// keywords are the names that can't be variables.
var keywords = SetOf(`False None True and as assert async await break class continue def del elif else except
	finally for from global if import in is lambda nonlocal not or pass raise return try while
	with yield`)

// stringPrefixes are the letters in front of a string, in lower case.
var stringPrefixes = SetOf(`r u b f t br rb fr rf ur tr rt`)

// closers maps an opening bracket to the one that closes it.
var closers = map[string]string{"(": ")", "[": "]", "{": "}"}

// operators are the operators of more than one character, longest first.
var operators = strings.Fields(`**= //= >>= <<= ... ** // >> << <= >= == != <> -> := += -= *= /= %= &= |= ^= @=`)

func isNameStart(c byte) bool {
	return c == '_' || c >= 0x80 || (c|0x20 >= 'a' && c|0x20 <= 'z')
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
