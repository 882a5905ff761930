package wire

import (
	"encoding/json"
	"testing"
)

func TestHasMember(t *testing.T) {
	for frame, want := range map[string]bool{
		`{"act":1}`:                        true,
		" \t\r\n{ \"act\" : 1}":            true,
		`{"x":{"y":[1,2,"}"]},"act":null}`: true,
		`{"x":"act","act":"x"}`:            true,
		`{"x":"\"act\":","act":1}`:         true,
		`{"x":"act"}`:                      false,
		`{"x":{"act":1}}`:                  false,
		`{"x":["act"]}`:                    false,
		`{"x":"\"act\":1"}`:                false,
		`[{"act":1}]`:                      false,
		`{}{"act":1}`:                      false,
		`"act":1`:                          false,
		`{"act`:                            false,
		`{"act"`:                           false,
		`{"\`:                              false,
		"":                                 false,
		"MC\x01":                           false,
		`{"acts":1}`:                       false,
		`{"x":nul,"act":1}`:                false,
		`{"x":,"act":1}`:                   false,
	} {
		if got := HasMember([]byte(frame), "act"); got != want {
			t.Errorf("%q: %v", frame, got)
		}
	}
}

// FuzzHasMember compares HasMember with encoding/json.
func FuzzHasMember(f *testing.F) {
	for _, seed := range []string{`{"act":1}`, `{"x":{"act":1}}`, `{"act`, `[]`, `{"a\"ct":"\\","act":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		got := HasMember(frame, "act")
		var members map[string]json.RawMessage
		if json.Unmarshal(frame, &members) != nil || members == nil {
			return
		}
		if _, want := members["act"]; got && !want {
			t.Errorf("%q: found a member that is not there", frame)
		} else if want && !got && !escapes(frame) {
			t.Errorf("%q: missed the member", frame)
		}
	})
}

// escapes reports whether frame holds a backslash, so that a name may be written with
// escapes.
func escapes(frame []byte) bool {
	for _, c := range frame {
		if c == '\\' {
			return true
		}
	}
	return false
}
