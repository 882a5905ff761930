package grpc

// scanner checks that text is one JSON value (RFC 8259) of a bounded depth, without
// recursion. Every payload passes here twice, and package json takes several times as
// long for the same.
type scanner struct {
	text []byte
	at   int
	open [maxDepth]byte // the brackets around at
	deep int
}

// scanResult is what a text is.
type scanResult uint8

const (
	scanned scanResult = iota
	notJSON
	tooDeep
)

// scan looks at the whole text.
func (s *scanner) scan() scanResult {
	for {
		s.space()
		if s.at >= len(s.text) {
			return notJSON
		}
		if c := s.text[s.at]; c == '{' || c == '[' {
			if s.deep == maxDepth {
				return tooDeep
			}
			s.open[s.deep] = c
			s.deep++
			s.at++
			if s.space(); !s.peek(c + 2) { // not empty: } is two after {, as ] is after [
				if c == '{' && !s.key() {
					return notJSON
				}
				continue
			}
		} else if !s.simple() {
			return notJSON
		}
		if done, ok := s.after(); done || !ok {
			if ok {
				return scanned
			}
			return notJSON
		}
	}
}

// after is what follows a value: the ends of what is around it, and a comma.
func (s *scanner) after() (done, ok bool) {
	for {
		s.space()
		if s.deep == 0 {
			return true, s.at == len(s.text)
		}
		c := s.open[s.deep-1]
		switch {
		case s.peek(c + 2):
			s.at++
			s.deep--
		case s.peek(','):
			s.at++
			return false, c == '[' || s.key()
		default:
			return false, false
		}
	}
}

// key is a member's name and its colon.
func (s *scanner) key() bool {
	if s.space(); !s.peek('"') || !s.str() {
		return false
	}
	if s.space(); !s.peek(':') {
		return false
	}
	s.at++
	return true
}

func (s *scanner) peek(c byte) bool { return s.at < len(s.text) && s.text[s.at] == c }

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// simple is a string, a number or a word.
func (s *scanner) simple() bool {
	switch s.text[s.at] {
	case '"':
		return s.str()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

func (s *scanner) word(w string) bool {
	if len(s.text)-s.at < len(w) || string(s.text[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}

// str is a string; its UTF-8 has been checked.
func (s *scanner) str() bool {
	text, i := s.text, s.at+1
	for ; i < len(text); i++ {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		s.at = i + 1
		if c != '\\' {
			return c == '"'
		}
		if !s.escape() {
			return false
		}
		i = s.at
	}
	return false
}

// escape is what follows a backslash, up to its last character.
func (s *scanner) escape() bool {
	if s.at >= len(s.text) {
		return false
	}
	switch s.text[s.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			if s.at++; s.at >= len(s.text) || !isHex(s.text[s.at]) {
				return false
			}
		}
		return true
	}
	return false
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// number is -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *scanner) number() bool {
	if s.peek('-') {
		s.at++
	}
	if s.peek('0') {
		s.at++
	} else if !s.digits() {
		return false
	}
	if s.peek('.') {
		if s.at++; !s.digits() {
			return false
		}
	}
	if s.peek('e') || s.peek('E') {
		if s.at++; s.peek('+') || s.peek('-') {
			s.at++
		}
		return s.digits()
	}
	return true
}

// digits is one digit or more.
func (s *scanner) digits() bool {
	from := s.at
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
	}
	return s.at > from
}
