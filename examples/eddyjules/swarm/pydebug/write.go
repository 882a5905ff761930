package pydebug

import (
	"fmt"
	"strings"
)

// confidence is the estimated probability that a fix removes the error; see
// Diagnosis.Confidence.
const confidence = 0.85

// write makes the fix and applies it. It refuses a fix that only moves the error
// to a later operation.
func (s *session) write() *Diagnosis {
	h := s.hazard
	f, reason := s.script.fixFor(h)
	if f == nil {
		if h.safe != "" {
			reason += fmt.Sprintf(". It fails when %s; decide what should happen then, and ask for `%s` in front of it", h.cause, h.safe)
		}
		return s.noFix(reason)
	}
	fixed := s.script.changed(f.edits)
	if fixed == nil {
		return s.noFix("the change that would be needed isn't valid there")
	}
	if o, found := s.nextFailure(fixed); found && !f.final {
		return s.noFix(fmt.Sprintf("line %d reads `%s` as well and would fail next", o.stmt.Line, fixed.sourceOf(o)))
	}
	return &Diagnosis{
		Status:      Fixed,
		Summary:     fmt.Sprintf("Line %d fails when %s; the fix handles that.", s.site.line, h.cause),
		Explanation: s.explain(f),
		FixedCode:   fixed.Source,
		Diff:        Diff(s.fileName(), s.in.Code, fixed.Source),
		Confidence:  confidence,
		ExitCode:    f.exit,
	}
}

// explain returns the text of Diagnosis.Explanation.
func (s *session) explain(f *fix) string {
	return fmt.Sprintf("Cause: line %d evaluates `%s`, which raises %s when %s.\nFix: %s\nEffect: %s",
		s.site.line, s.script.sourceOf(s.hazard.operation), s.tb.kind, s.hazard.cause, f.change, f.effect)
}

// changed returns the script with the edits made; nil if the edits overlap, change
// nothing or cause a syntax error.
func (s *Module) changed(edits []Edit) *Module {
	src, ok := s.Apply(edits)
	if !ok || src == s.Source {
		return nil
	}
	if next, problem := parse(src); problem == nil {
		return next
	}
	return nil
}

// fileName returns the script's file name for the diff: the given one, that of the innermost
// frame with a plain name, or script.py.
func (s *session) fileName() string {
	if s.in.FileName != "" {
		return s.in.FileName
	}
	for i := len(s.tb.frames) - 1; i >= 0; i-- {
		name := baseName(s.tb.frames[i].file)
		if strings.HasSuffix(name, ".py") && !isLibrary(s.tb.frames[i].file) && !strings.ContainsAny(name, " \t\"<>") {
			return name
		}
	}
	return "script.py"
}
