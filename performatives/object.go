package performatives

import "encoding/json"

// eachMember calls f with the name and the value of each member of the JSON
// object b, in their order. b must be valid JSON ([json.Valid]). The value is a slice
// of b. It runs for every received message, and a map of json.RawMessage would copy
// every value.
func eachMember(b []byte, f func(name string, value []byte) error) error {
	i := skipSpace(b, 0) + 1 // past {
	for {
		i = skipSpace(b, i)
		switch b[i] {
		case '}':
			return nil
		case ',':
			i++
			continue
		}
		end := stringEnd(b, i)
		name := memberName(b[i:end])
		i = skipSpace(b, skipSpace(b, end)+1) // past :
		end = valueEnd(b, i)
		if err := f(name, b[i:end]); err != nil {
			return err
		}
		i = end
	}
}

func memberName(quoted []byte) (name string) {
	if s, ok := plainString(quoted); ok {
		return s
	}
	_ = json.Unmarshal(quoted, &name) // it is part of valid JSON
	return name
}

// plainString returns the text of a quoted string that needs no decoding.
func plainString(quoted []byte) (string, bool) {
	if len(quoted) < 2 || quoted[0] != '"' {
		return "", false
	}
	text := quoted[1 : len(quoted)-1]
	for _, c := range text {
		if c == '\\' || c >= 0x80 {
			return "", false
		}
	}
	return string(text), true
}

func skipSpace(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n' {
		i++
	}
	return i
}

// stringEnd returns the index past the string that starts at i.
func stringEnd(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// valueEnd returns the index past the value that starts at i.
func valueEnd(b []byte, i int) int {
	for depth := 0; ; {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			i++
		}
		if depth == 0 && endsValue(b, i) {
			return i
		}
	}
}

// endsValue reports whether the value before i ends at i: a comma, a brace or space
// follows a value of an object.
func endsValue(b []byte, i int) bool {
	switch b[i] {
	case ',', '}', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}
