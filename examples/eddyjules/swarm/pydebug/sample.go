package pydebug

import _ "embed"

var (
	//go:embed sample/parse_logs.py
	sampleCode string
	//go:embed sample/traceback.txt
	sampleTraceback string
)

// Sample returns a script that fails, with the traceback that Python 3.11
// prints for it: a log reader that meets a line with too few fields.
func Sample() Input {
	return Input{Code: sampleCode, Traceback: sampleTraceback, Language: "python"}
}
