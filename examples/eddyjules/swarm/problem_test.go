package swarm

import "testing"

func TestWithFileName(t *testing.T) {
	const diff = "--- a/old.py\n+++ b/old.py\n@@ -1 +1 @@\n-x\n+y\n"
	for name, want := range map[string]string{
		"":                   "old.py",
		"new.py":             "new.py",
		"/home/me/new.py":    "new.py",
		`C:\Users\me\new.py`: "new.py",
		"my file.py":         "my file.py",
		"..":                 "old.py",
		"/":                  "old.py",
		"a\n+++ b/b":         "b",
		"a/x\ny":             "old.py",
		"x\x1b[2J":           "old.py",
	} {
		if got := withFileName(diff, name); got != "--- a/"+want+"\n+++ b/"+want+"\n@@ -1 +1 @@\n-x\n+y\n" {
			t.Errorf("%q: got %q", name, got)
		}
	}
	if got := withFileName("", "new.py"); got != "" {
		t.Errorf("of no diff: %q", got)
	}
}
