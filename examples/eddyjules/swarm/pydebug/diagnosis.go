package pydebug

import "errors"

// Input is what a person gives: a script, what it printed when it failed, and
// the language that they believe it is in.
type Input struct {
	// Code is the source; its line endings and indentation are kept as they are.
	Code string
	// Traceback is what Python printed. Text around it, chained exceptions and
	// the prefixes of log lines don't matter.
	Traceback string
	// Language is "python" in any spelling that begins with "py"; empty means python.
	Language string
}

// Status is how a diagnosis ended.
type Status int

const (
	// NeedsInput means that something is missing; RequestForUser says what.
	NeedsInput Status = iota
	// Fixed means that FixedCode is believed to run without the error.
	Fixed
	// Unfixed means that there is no fix; Analysis says what was found out.
	Unfixed
)

// String returns the status in lower case.
func (s Status) String() string {
	switch s {
	case Fixed:
		return "fixed"
	case Unfixed:
		return "unfixed"
	case NeedsInput:
		return "needs-input"
	}
	return "unknown"
}

// Diagnosis is the result of [Diagnose].
type Diagnosis struct {
	Status Status

	// ErrorType and ErrorMessage are the last line of the traceback.
	ErrorType, ErrorMessage string
	// Line is the failing line of the code, from 1; zero if it isn't known.
	Line int
	// Expression is the operation that failed, as it stands in the source.
	Expression string
	// Shape is a stable name for the kind of mistake, such as
	// "fixed-field-after-split"; empty if it wasn't recognised.
	Shape string

	// Summary is one sentence.
	Summary string
	// Explanation tells the cause, the fix and what changes in behaviour; empty
	// unless Fixed.
	Explanation string
	// FixedCode is the whole changed source; empty unless Fixed.
	FixedCode string
	// Diff is a unified diff from the source to FixedCode, for patch; empty unless Fixed.
	Diff string
	// RequestForUser asks for what is missing; empty unless NeedsInput.
	RequestForUser string
	// Analysis is what was found out; empty unless Unfixed.
	Analysis string

	// Confidence is between 0 and 1; how sure Fixed is, and zero otherwise.
	Confidence float64
	// ExitCode is what FixedCode ends with when it is run as the source was:
	// 0, or 1 if the fix ends the script on purpose for want of an argument.
	ExitCode int
}

// The limits of an input, in bytes.
const (
	MaxCode      = 1 << 20
	MaxTraceback = 1 << 20
)

// Errors of [Diagnose].
var (
	// ErrCodeTooLarge means that Code is longer than [MaxCode].
	ErrCodeTooLarge = errors.New("pydebug: code too large")
	// ErrTracebackTooLarge means that Traceback is longer than [MaxTraceback].
	ErrTracebackTooLarge = errors.New("pydebug: traceback too large")
)

func needsInput(summary, request string) *Diagnosis {
	return &Diagnosis{Status: NeedsInput, Summary: summary, RequestForUser: request}
}

func unfixed(summary, analysis string) *Diagnosis {
	return &Diagnosis{Status: Unfixed, Summary: summary, Analysis: analysis}
}
