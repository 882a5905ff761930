package pydebug

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

// keywords are the names that can't be variables.
var keywords = map[string]bool{
	"False": true, "None": true, "True": true, "and": true, "as": true, "assert": true,
	"async": true, "await": true, "break": true, "class": true, "continue": true,
	"def": true, "del": true, "elif": true, "else": true, "except": true, "finally": true,
	"for": true, "from": true, "global": true, "if": true, "import": true, "in": true,
	"is": true, "lambda": true, "nonlocal": true, "not": true, "or": true, "pass": true,
	"raise": true, "return": true, "try": true, "while": true, "with": true, "yield": true,
}

// stringPrefixes are the letters in front of a string, in lower case.
var stringPrefixes = map[string]bool{
	"r": true, "u": true, "b": true, "f": true, "t": true, "br": true, "rb": true,
	"fr": true, "rf": true, "ur": true, "tr": true, "rt": true,
}

// closers maps an opening bracket to the one that closes it.
var closers = map[string]string{"(": ")", "[": "]", "{": "}"}

// operators are the operators of more than one character, longest first.
var operators = []string{
	"**=", "//=", ">>=", "<<=", "...",
	"**", "//", ">>", "<<", "<=", ">=", "==", "!=", "<>", "->", ":=",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=",
}

func isNameStart(c byte) bool {
	return c == '_' || c >= 0x80 || (c|0x20 >= 'a' && c|0x20 <= 'z')
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNamePart(c byte) bool { return isNameStart(c) || isDigit(c) }
