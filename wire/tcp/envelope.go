package tcp

// dataType says whether a data frame is a request or a response (addenda §5: types 1
// and 2), by a cheap look at its JSON that stops where the answer is: an envelope
// whose mcp_payload (or the first one of its batch) has a method is a request, one that
// has a result or an error is a response. Of anything else the side decides.
func dataType(b []byte, server bool) uint16 {
	s := scanner{b: b}
	otherwise := typeRequest
	if server {
		otherwise = typeResponse
	}
	if !s.enter('{') || !s.find("mcp_payload") {
		return otherwise
	}
	s.enter('[')
	if !s.enter('{') {
		return otherwise
	}
	switch s.findAny("method", "result", "error") {
	case "method":
		return typeRequest
	case "":
		return otherwise
	}
	return typeResponse
}

// scanner walks over JSON that is taken to be correct; over what is not, it ends
// somewhere.
type scanner struct {
	b []byte
	i int
}

// enter goes into an object or an array, if the next byte begins one.
func (s *scanner) enter(open byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == open {
		s.i++
		return true
	}
	return false
}

// find goes to the value of a member of the object that has been entered.
func (s *scanner) find(name string) bool { return s.findAny(name) != "" }

// findAny goes to the value of the first member that has one of the names, and returns
// its name.
func (s *scanner) findAny(names ...string) string {
	for {
		s.space()
		start := s.i + 1
		if !s.str() {
			return ""
		}
		key := s.b[start : s.i-1]
		s.space()
		s.i++ // the colon
		for _, name := range names {
			if string(key) == name {
				return name
			}
		}
		if !s.skip() {
			return ""
		}
	}
}

// str goes over a string, if there is one.
func (s *scanner) str() bool {
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		return false
	}
	for s.i++; s.i < len(s.b); s.i++ {
		switch s.b[s.i] {
		case '\\':
			s.i++
		case '"':
			s.i++
			return true
		}
	}
	return false
}

// skip goes over a value and the comma behind it. It reports false when the object ends.
func (s *scanner) skip() bool {
	for depth := 0; s.i < len(s.b); s.i++ {
		switch s.b[s.i] {
		case '"':
			if !s.str() {
				return false
			}
			s.i--
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return false
			}
		case ',':
			if depth == 0 {
				s.i++
				return true
			}
		}
	}
	return false
}

func (s *scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\n' || s.b[s.i] == '\r') {
		s.i++
	}
}
