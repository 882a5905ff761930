package gateway

// found names a member of an object, and the variable for its value.
type found struct {
	name  string
	value *[]byte
}

// object reads the members of an object: those in want into their variables, and the
// others by a call of rest, which may be nil. Of a name that comes twice, the last value
// counts, as in encoding/json.
func object(text []byte, rest func(name string, v []byte), want ...found) {
	w := walk(text)
	if !w.enter('{') {
		return
	}
members:
	for {
		name, v, ok := w.member()
		if !ok {
			return
		}
		for _, f := range want {
			if f.name == string(name) {
				*f.value = v
				continue members
			}
		}
		if rest != nil {
			rest(string(name), v)
		}
	}
}

// text returns a JSON string's text, or nothing for any other value.
func text(v []byte) string {
	if !is(v, '"') {
		return ""
	}
	return string(unquote(v))
}

// key returns an id as the key of a map. The string "1" and the number 1 differ.
func key(id []byte) string {
	if is(id, '"') {
		return `"` + string(unquote(id))
	}
	return string(id)
}
