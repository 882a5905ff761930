package pydebug

import _ "embed"

var (
	//go:embed sample/parse_logs.py
	sampleCode string
	//go:embed sample/traceback.txt
	sampleTraceback string
)

// Sample returns a script that fails, with the traceback of Python 3.11: a log
// reader whose input has a line with too few fields.
func Sample() Input {
	return Input{Code: sampleCode, Traceback: sampleTraceback, Language: "python"}
}
