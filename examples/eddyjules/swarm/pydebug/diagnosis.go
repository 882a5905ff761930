package pydebug

import "errors"

// Input is a failing script with its traceback and its language.
type Input struct {
	// Code is the source. A fix keeps its line endings and its indentation.
	Code string
	// Traceback is Python's output. Text around the traceback and chained exceptions
	// are ignored.
	Traceback string
	// FileName is the name of the script in the header of the diff. Empty means the name in the
	// traceback.
	FileName string
	// Language is "python" in any spelling that begins with "py"; empty means python.
	Language string
}

// Status is the outcome of a diagnosis.
type Status string

const (
	// NeedsInput means that the input is incomplete; RequestForUser names the missing part.
	NeedsInput Status = "needs-input"
	// Fixed means that FixedCode is expected to run without the error.
	Fixed Status = "fixed"
	// Unfixed means that there is no fix; Analysis describes the cause.
	Unfixed Status = "unfixed"
)

// Diagnosis is the result of [Diagnose].
type Diagnosis struct {
	Status Status

	// ErrorType and ErrorMessage are the two parts of the traceback's last line.
	ErrorType, ErrorMessage string
	// Line is the failing line of the code, counted from 1; zero if unknown.
	Line int
	// Expression is the source text of the operation that failed.
	Expression string

	// Summary is one sentence for the user.
	Summary string
	// Explanation describes the cause, the fix and the change in behaviour; empty
	// unless Fixed.
	Explanation string
	// FixedCode is the whole changed source; empty unless Fixed.
	FixedCode string
	// Diff is a unified diff from the source to FixedCode, for patch; empty unless Fixed.
	Diff string
	// RequestForUser asks the user for the missing input; empty unless NeedsInput.
	RequestForUser string
	// Analysis describes the failure and its probable cause; empty unless Unfixed.
	Analysis string

	// Confidence is the estimated probability, from 0 to 1, that the fix removes
	// the error: the same for every fix, and zero unless Fixed.
	Confidence float64
	// ExitCode is the expected exit code of FixedCode on the same input: 0, or 1
	// if the fix ends the script on purpose because an argument is missing.
	ExitCode int
}

// The limits of an input, in bytes.
const (
	MaxCode      = 1 << 20
	MaxTraceback = 1 << 20
)

// Errors of [Diagnose] and [ParsePart].
var (
	// ErrCodeTooLarge means that Code is longer than [MaxCode], or a part than [MaxPart].
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
