package pydebug

import (
	"strings"
	"testing"
)

func TestReadTracebackTakesTheLast(t *testing.T) {
	tb := readTraceback(strings.Join([]string{
		tracebackHeader,
		`  File "a.py", line 3, in f`,
		`    return d["x"]`,
		`           ~^^^^^`,
		`KeyError: 'x'`,
		``,
		`The above exception was the direct cause of the following exception:`,
		``,
		tracebackHeader,
		`  File "a.py", line 9, in <module>`,
		`    main()`,
		`  [Previous line repeated 3 more times]`,
		`  File "C:\Users\A B\a.py", line 5, in main`,
		`    größe = ä[0] + b[1]`,
		`                   ~^^^`,
		`IndexError: list index out of range`,
	}, "\n"))
	if tb == nil || tb.kind != "IndexError" || tb.message != "list index out of range" || len(tb.frames) != 2 {
		t.Fatalf("%+v", tb)
	}
	last := tb.frames[1]
	if last.file != `C:\Users\A B\a.py` || last.line != 5 || last.text != "größe = ä[0] + b[1]" {
		t.Errorf("%+v", last)
	}
	if last.marks == nil || *last.marks != (marks{15, 19}) {
		t.Errorf("marks %+v", last.marks)
	}
}

func TestReadTracebackWithoutFrames(t *testing.T) {
	tests := []struct{ text, kind, message string }{
		{"KeyError: 'a b'", "KeyError", "'a b'"},
		{"KeyError\n", "KeyError", ""},
		{"noise\n  json.decoder.JSONDecodeError: Expecting value\n", "json.decoder.JSONDecodeError", "Expecting value"},
		{"builtins.IndexError: x", "IndexError", "x"},
	}
	for _, tt := range tests {
		tb := readTraceback(tt.text)
		if tb == nil || tb.kind != tt.kind || tb.message != tt.message {
			t.Errorf("%q: %+v", tt.text, tb)
		}
	}
	for _, text := range []string{"", "no error here", "Error", "some error: x"} {
		if tb := readTraceback(text); tb != nil && tb.kind != "Error" {
			t.Errorf("%q: %+v", text, tb)
		}
	}
}
