package tcp

// dataType returns the type of a data frame in the versioned form (addenda §5: request or
// response). It scans the JSON only as far as needed: an envelope whose mcp_payload, or the
// first one of a batch, has a method is a request, one with a result or an error is a
// response. Otherwise a server's frame is a response and a client's a request.
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

// scanner scans valid JSON. For invalid JSON the result is arbitrary, but the scan
// terminates.
type scanner struct {
	b []byte
	i int
}

// enter moves into an object or array if the next token is open.
func (s *scanner) enter(open byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == open {
		s.i++
		return true
	}
	return false
}

// find moves to the value of a member of the current object.
func (s *scanner) find(name string) bool { return s.findAny(name) != "" }

// findAny moves to the value of the first member with one of the names, and returns its name,
// or an empty string if there is none.
func (s *scanner) findAny(names ...string) string {
	for {
		s.space()
		start := s.i + 1
		if !s.str() {
			return ""
		}
		key := s.b[start : s.i-1]
		s.space()
		s.i++ // colon
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

// str skips a string, if there is one.
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

// skip skips a value and the comma after it. It returns false at the end of the object.
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
