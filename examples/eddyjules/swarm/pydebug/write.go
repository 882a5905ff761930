package pydebug

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// write makes the fixes of all hazards, applies them together and fixes the
// remaining operations that fail for the same reason.
func (s *session) write() *Diagnosis {
	var joint *fix
	for _, h := range s.hazards {
		f, reason := s.fixFor(h)
		if f == nil {
			return s.noFix(h.candidate, reason+s.advice(h))
		}
		f.edits = append(slices.Clone(h.prelude), f.edits...)
		joint = join(joint, f)
	}
	fixed := s.script.changed(joint.edits)
	if fixed == nil {
		return s.noFix(s.hazards[0].candidate, "the changes that would be needed get in each other's way")
	}
	if !joint.final {
		var reason string
		if fixed, reason = s.fixRemaining(fixed); reason != "" {
			return s.noFix(s.hazards[0].candidate, reason)
		}
	}
	return s.fixedDiagnosis(joint, fixed.src)
}

// changed returns the script with the edits made; nil if the edits overlap, change
// nothing or cause a syntax error.
func (s *script) changed(edits []edit) *script {
	src, ok := apply(s.src, edits)
	if !ok || src == s.src {
		return nil
	}
	if next := parseScript(src); next.problem == nil {
		return next
	}
	return nil
}

// fixFor calls the recogniser of the error type. If there is no fix, it returns
// nil and the reason.
func (s *session) fixFor(h *hazard) (*fix, string) {
	switch h.kind {
	case indexError:
		return s.script.indexFix(h, s.site)
	case keyError:
		return s.script.keyFix(h, s.site)
	}
	return s.script.zeroFix(h, s.site)
}

// advice tells the user how to guard the operation by hand.
func (s *session) advice(h *hazard) string {
	return fmt.Sprintf(". It fails when %s; decide what should happen then, and ask for `%s` in front of it", h.cause, h.safe)
}

// join adds the edits of b to those of a, each once.
func join(a, b *fix) *fix {
	if a == nil {
		return b
	}
	c := *a
	c.edits = slices.Clone(a.edits)
	for _, e := range b.edits {
		if !slices.Contains(c.edits, e) {
			c.edits = append(c.edits, e)
		}
	}
	if b.change != a.change {
		c.change += " " + b.change
	}
	c.confidence = 0.8 * math.Min(a.confidence, b.confidence)
	c.exit = max(a.exit, b.exit)
	return &c
}

func (s *session) fixedDiagnosis(f *fix, fixed string) *Diagnosis {
	h := s.hazards[0]
	confidence := f.confidence
	if s.site.guessed || s.site.moved != 0 {
		confidence *= 0.85
	}
	return &Diagnosis{
		Status:      Fixed,
		Shape:       f.shape,
		Summary:     fmt.Sprintf("Line %d fails when %s; the fix handles that.", s.site.line, h.cause),
		Explanation: s.explain(h, f),
		FixedCode:   fixed,
		Diff:        unifiedDiff(s.fileName(), s.in.Code, fixed),
		Confidence:  confidence,
		ExitCode:    f.exit,
	}
}

// explain returns the text of Diagnosis.Explanation.
func (s *session) explain(h *hazard, f *fix) string {
	start, end := h.span()
	var b strings.Builder
	fmt.Fprintf(&b, "Cause: line %d evaluates `%s`, which raises %s when %s.\n", s.site.line, s.in.Code[start:end], s.tb.kind, h.cause)
	fmt.Fprintf(&b, "Fix: %s\n", f.change)
	fmt.Fprintf(&b, "Effect: %s", f.effect)
	if s.site.guessed {
		b.WriteString("\nThe traceback names no line; this is the only place in the code that can raise the error.")
	}
	if s.site.moved != 0 {
		fmt.Fprintf(&b, "\nThe traceback counts the failing line as %d; the same text is line %d of the code that was sent.", s.site.line-s.site.moved, s.site.line)
	}
	return b.String()
}

// fileName returns the script's file name for the diff: that of the innermost
// frame with a plain name, else script.py.
func (s *session) fileName() string {
	for i := len(s.tb.frames) - 1; i >= 0; i-- {
		name := baseName(s.tb.frames[i].file)
		if strings.HasSuffix(name, ".py") && !isLibrary(s.tb.frames[i].file) && !strings.ContainsAny(name, " \t\"<>") {
			return name
		}
	}
	return "script.py"
}
