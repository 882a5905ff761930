package wire

import "github.com/ribosome-agents/ribosome/internal/jsonscan"

// HasMember reports whether frame begins with a JSON object that has one of names as a
// top-level member. It scans the JSON until the member is found, and validates no more of it. It
// does not allocate. Implementations of [Dialect].Recognizes use it.
func HasMember(frame []byte, names ...string) bool {
	name, _ := jsonscan.Seek(frame, names...)
	return name != ""
}
