package wire

// HasMember reports whether frame begins with a JSON object that has one of names as a
// top-level member. It does not validate the JSON: it scans until the member is found or the
// object ends. It does not allocate. Implementations of [Dialect].Recognizes use it.
func HasMember(frame []byte, names ...string) bool {
	i := skipSpace(frame, 0)
	if i >= len(frame) || frame[i] != '{' {
		return false
	}
	depth := 0
	for ; i < len(frame); i++ {
		switch frame[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return false
			}
		case '"':
			end := endOfString(frame, i)
			if depth == 1 && isName(frame, end) && oneOf(frame[i+1:max(i+1, end-1)], names) {
				return true
			}
			i = end - 1
		}
	}
	return false
}

// endOfString returns the index after the string that begins at i, or the length of frame.
func endOfString(frame []byte, i int) int {
	for i++; i < len(frame); i++ {
		switch frame[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(frame)
}

// isName reports whether the string that ended at i is a member name.
func isName(frame []byte, i int) bool {
	i = skipSpace(frame, i)
	return i < len(frame) && frame[i] == ':'
}

func skipSpace(frame []byte, i int) int {
	for i < len(frame) && (frame[i] == ' ' || frame[i] == '\t' || frame[i] == '\n' || frame[i] == '\r') {
		i++
	}
	return i
}

func oneOf(name []byte, names []string) bool {
	for _, n := range names {
		if string(name) == n {
			return true
		}
	}
	return false
}
