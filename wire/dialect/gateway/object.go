package gateway

// found is a member of an object that is looked for, and where its value goes.
type found struct {
	name  string
	value *[]byte
}

// object finds some members of an object. A name that comes twice counts as it came
// last, as in encoding/json; rest gets the members that nobody asked for.
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

// key is an id as a key of a map. The string "1" and the number 1 are two.
func key(id []byte) string {
	if is(id, '"') {
		return `"` + string(unquote(id))
	}
	return string(id)
}
