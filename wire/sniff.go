package wire

import "github.com/ribosome-agents/ribosome/internal/jsonscan"

// HasMember reports whether frame begins with a JSON object that has one of names as a
// top-level member. It does not validate the JSON: it scans until the member is found or the
// object ends. It does not allocate. Implementations of [Dialect].Recognizes use it.
func HasMember(frame []byte, names ...string) bool {
	name, _ := jsonscan.Seek(frame, names...)
	return name != ""
}
