package swarm

import "testing"

func TestBaseName(t *testing.T) {
	for name, want := range map[string]string{
		"":                   "",
		"new.py":             "new.py",
		"/home/me/new.py":    "new.py",
		`C:\Users\me\new.py`: "new.py",
		"my file.py":         "my file.py",
		"..":                 "",
		"/":                  "",
		"a\n+++ b/b":         "b",
		"a/x\ny":             "",
		"x\x1b[2J":           "",
	} {
		if got := baseName(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
