package jsonscan

// Seek finds the first member of an object whose name is one of names, without escapes, and returns
// the name with the text from the value of the member on. It returns an empty name if there is
// none, or text does not begin with an object. It does not validate the JSON, and reads no further
// than the member or the end of the object. It does not allocate.
func Seek(text []byte, names ...string) (name string, value []byte) {
	i := skipSpace(text, 0)
	if i >= len(text) || text[i] != '{' {
		return "", nil
	}
	depth := 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return "", nil
			}
		case '"':
			end := endOfString(text, i)
			if colon := skipSpace(text, end); depth == 1 && colon < len(text) && text[colon] == ':' {
				for _, name := range names {
					if string(text[i+1:end-1]) == name {
						return name, text[colon+1:]
					}
				}
			}
			i = end - 1
		}
	}
	return "", nil
}

// endOfString returns the index after the string that begins at i, or the length of text.
func endOfString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	return i
}
