package pydebug

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// session is the state of one diagnosis.
type session struct {
	ctx      context.Context
	in       Input
	progress func(step string)
	script   *Module
	tb       *traceback
	site     *site
	hazard   *hazard
}

// Diagnose determines why in.Code failed with in.Traceback, and writes a fix where
// it can. It executes nothing. It calls progress synchronously before each step;
// progress may be nil.
//
// The error is the cause of ctx, [ErrCodeTooLarge] or [ErrTracebackTooLarge].
// Every other problem of the input is reported in the Diagnosis.
func Diagnose(ctx context.Context, in Input, progress func(step string)) (Diagnosis, error) {
	switch {
	case len(in.Code) > MaxCode:
		return Diagnosis{}, fmt.Errorf("%w: %d bytes, at most %d", ErrCodeTooLarge, len(in.Code), MaxCode)
	case len(in.Traceback) > MaxTraceback:
		return Diagnosis{}, fmt.Errorf("%w: %d bytes, at most %d", ErrTracebackTooLarge, len(in.Traceback), MaxTraceback)
	}
	if err := context.Cause(ctx); err != nil {
		return Diagnosis{}, err
	}
	s := &session{ctx: ctx, in: in, progress: progress}
	return s.run()
}

// run executes the steps until one of them returns a diagnosis.
func (s *session) run() (Diagnosis, error) {
	steps := []struct {
		name string
		do   func() *Diagnosis
	}{
		{"reading the traceback", s.read},
		{"locating the failing line", s.locate},
		{"recognising the mistake", s.recognise},
		{"writing the fix", s.write},
	}
	for _, step := range steps {
		if s.progress != nil {
			s.progress(step.name)
		}
		d := step.do()
		if err := context.Cause(s.ctx); err != nil {
			return Diagnosis{}, err
		}
		if d != nil {
			return s.complete(*d), nil
		}
	}
	return Diagnosis{}, nil // not reached: the last step returns a diagnosis
}

// complete adds the fields that every diagnosis has: the error, the line and the
// expression, as far as they are known.
func (s *session) complete(d Diagnosis) Diagnosis {
	if s.tb != nil {
		d.ErrorType, d.ErrorMessage = s.tb.kind, s.tb.message
	}
	if s.site != nil {
		d.Line = s.site.line
	}
	if s.hazard != nil {
		d.Expression = s.script.sourceOf(s.hazard.operation)
	}
	return d
}

// read parses the traceback and the source. It returns a diagnosis if either
// can't be used.
func (s *session) read() *Diagnosis {
	if l := strings.ToLower(strings.TrimSpace(s.in.Language)); l != "" && !strings.HasPrefix(l, "py") {
		return needsInput("This is code in "+l+"; only Python can be debugged here.", "Please send a Python script and its traceback.")
	}
	if t := s.in.Traceback; !strings.Contains(t, `File "`) && (strings.Contains(t, ".js:") || strings.Contains(t, ".ts:")) {
		return needsInput("This looks like JavaScript; only Python can be debugged here.", "Please send a Python script and its traceback.")
	}
	s.tb = readTraceback(s.in.Traceback)
	switch {
	case strings.TrimSpace(s.in.Code) == "" && s.tb == nil:
		return needsInput("There is neither code nor a traceback.", "Please send the script and the complete traceback that it ended with.")
	case strings.TrimSpace(s.in.Code) == "":
		return needsInput("The code is missing.", "Please send the source of the script that produced this traceback.")
	case strings.TrimSpace(s.in.Traceback) == "":
		return needsInput("The traceback is missing.", "Please run the script and send everything that it prints, from \"Traceback (most recent call last)\" to its last line.")
	case s.tb == nil:
		return needsInput("What was sent as the traceback names no Python error.", "Please send everything that Python prints, from \"Traceback (most recent call last)\" to its last line.")
	case s.tb.kind == "":
		return needsInput("The traceback is cut off before its last line, which names the error.", "Please send the traceback with its last line.")
	}
	var problem *SyntaxError
	s.script, problem = parse(s.in.Code)
	if errorKinds[s.tb.kind] == nil {
		return s.unsupported(problem)
	}
	if problem != nil {
		return needsInput("The code isn't valid Python, or has syntax that isn't understood here: "+problem.Error()+".",
			"Please send the script exactly as it was run, with its indentation.")
	}
	return nil
}

// unsupported returns the diagnosis of an error that this package can't fix.
func (s *session) unsupported(problem *SyntaxError) *Diagnosis {
	kind := s.tb.kind
	where := ""
	if n := len(s.tb.frames); n > 0 {
		f := s.tb.frames[n-1]
		where = fmt.Sprintf(" on line %d", f.line)
		if f.text != "" {
			where += fmt.Sprintf(", `%s`", f.text)
		}
		s.site = &site{line: f.line}
	}
	switch kind {
	case "SyntaxError", "IndentationError", "TabError":
		first := ""
		if problem != nil {
			first = " The first thing that can't be read is on " + problem.Error() + "."
		}
		return needsInput("Python refused to read the script"+where+": "+s.tb.message+"."+first,
			"Please correct the syntax there, run the script again and send the new traceback; or say what that line is meant to do.")
	}
	return unfixed(fmt.Sprintf("%s is not a kind of error that can be fixed here.", kind),
		fmt.Sprintf("The script failed%s with %s. %s", where, describe(s.tb), cmp.Or(advice[kind], "Only IndexError, KeyError and ZeroDivisionError can be fixed here.")))
}

// advice is given for the most frequent errors that can't be fixed here.
var advice = map[string]string{
	"TypeError":           "A value there has another type than the operation wants, often None from a function that returns nothing. Print type() of each operand just before that line.",
	"AttributeError":      "The object there has no such attribute; if the message speaks of NoneType, look for what returned None.",
	"NameError":           unassigned,
	"UnboundLocalError":   unassigned,
	"ValueError":          "A value has the right type and the wrong content, such as int('') or an unpacking of another length. Print repr() of it just before that line.",
	"FileNotFoundError":   wrongPath,
	"PermissionError":     wrongPath,
	"ModuleNotFoundError": notInstalled,
	"ImportError":         notInstalled,
}

const (
	unassigned   = "A name is read before it is assigned, or misspelt. Look for the assignment, and whether every path reaches it."
	wrongPath    = "The path in the message is relative to where the script is started. Check it there."
	notInstalled = "A module isn't installed in the Python that ran the script, or a file of the script hides it by having its name."
)

// locate finds the operations that can have failed, and returns a diagnosis if
// there is none or there are too many.
func (s *session) locate() *Diagnosis {
	at, unmatched := s.script.locate(s.tb)
	if unmatched != nil {
		return unmatched
	}
	s.site = at
	if len(at.operations) == 0 {
		return s.noOperation()
	}
	at.operations = s.script.narrow(at.operations)
	switch len(at.operations) {
	case 0:
		return needsInput(fmt.Sprintf("Line %d is already guarded against %s: the traceback is of an older version, or a statement in between undoes the guard.", at.line, s.tb.kind),
			"Please run the code that you sent once more and send the traceback of that run, if it still fails.")
	case 1:
		return nil
	}
	return needsInput(fmt.Sprintf("Line %d has %d operations that can raise %s.", at.line, len(at.operations), describe(s.tb)),
		"Please run the script with Python 3.11 or newer, which marks the failing expression, and send that traceback.")
}

// noOperation returns the diagnosis for a line without an operation that can
// raise the error.
func (s *session) noOperation() *Diagnosis {
	text := strings.TrimSpace(s.script.LineText(s.site.line))
	if file := s.tb.frames[len(s.tb.frames)-1].file; isLibrary(file) {
		return unfixed(fmt.Sprintf("The error was raised inside %s, called by line %d.", baseName(file), s.site.line),
			fmt.Sprintf("`%s` passes something to a library that it can't handle (%s). Look at the arguments of that call: an empty sequence or a missing key is the usual cause.", text, describe(s.tb)))
	}
	return unfixed(fmt.Sprintf("Nothing on line %d is known to raise %s.", s.site.line, describe(s.tb)),
		fmt.Sprintf("`%s` has no subscript, call or division that fits the message; it may come from a class of your own or from a format string.", text))
}

// narrow drops operations that are guarded, or that the guard of another one covers:
// of the literal indices into one sequence it keeps the greatest. Inner operations
// come first.
func (s *Module) narrow(all []operation) []operation {
	greatest := map[string]int{}
	var rest []operation
	for _, o := range all[:min(len(all), maxOperations)] {
		if s.guarded(o) {
			continue
		}
		k, base := s.literalIndex(o), s.text(o.base)
		i, covered := greatest[base]
		switch {
		case k < 0 || !covered:
			rest = append(rest, o)
		case k > s.literalIndex(rest[i]):
			rest[i] = o
		}
		if k >= 0 && !covered {
			greatest[base] = len(rest) - 1
		}
	}
	slices.SortFunc(rest, func(a, b operation) int {
		aStart, aEnd := a.span()
		bStart, bEnd := b.span()
		return cmp.Or(aEnd-bEnd, bStart-aStart)
	})
	return rest
}

// literalIndex returns the literal index of a subscript; -1 if o has none.
func (s *Module) literalIndex(o operation) int {
	if k, ok := s.integer(o.key); ok && o.node.is(ExprSubscript) {
		return k
	}
	return -1
}

// recognise finds the hazard of the operation. It returns a diagnosis if it can't
// be guarded.
func (s *session) recognise() *Diagnosis {
	s.hazard = &hazard{operation: s.site.operations[0]}
	if reason := s.hazard.kind.complete(s.script, s.hazard); reason != "" {
		return s.noFix(reason)
	}
	return nil
}

// noFix returns the diagnosis for an operation without a safe fix.
func (s *session) noFix(reason string) *Diagnosis {
	failed := s.script.sourceOf(s.hazard.operation)
	return unfixed(
		fmt.Sprintf("Line %d fails at `%s`, and there is no safe fix.", s.site.line, failed),
		fmt.Sprintf("`%s` raised %s. It wasn't changed, because %s.", failed, describe(s.tb), reason))
}
