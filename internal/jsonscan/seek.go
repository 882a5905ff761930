package jsonscan

// Seek finds the first member of an object whose name is one of names, without escapes, and returns
// the name with the text from the value of the member on. It returns an empty name if there is
// none, text does not begin with an object, or something malformed comes before the member. It
// reads no further than the member, and does not allocate.
func Seek(text []byte, names ...string) (name string, value []byte) {
	s := Scanner{Data: text, Depth: maxDepth}
	if !s.Open('{') {
		return "", nil
	}
	for first := true; ; first = false {
		quoted, more, ok := s.Key(first)
		if !ok || !more {
			return "", nil
		}
		for _, name := range names {
			if string(quoted[1:len(quoted)-1]) == name {
				return name, text[s.Pos:]
			}
		}
		if !s.Value() {
			return "", nil
		}
	}
}
