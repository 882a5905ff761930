package codemutants

import (
	"regexp"
	"slices"
)

// excuse is a pattern of mutants that are not made: their faults are none that tests should notice.
// A pattern is one of the code, and names no place in it.
type excuse struct {
	operator string         // empty for all
	function *regexp.Regexp // of the function; nil for all
	node     *regexp.Regexp // of the text of the node; nil for all
	call     *regexp.Regexp // of one of the mutant's calls; nil for all
	lint     string         // the linter that finds the fault; empty for all
	reason   string
}

var excuses = []excuse{
	{call: regexp.MustCompile(`^\(\*log/slog\.Logger\)\.`), reason: "the log is for people"},
	{call: regexp.MustCompile(`\.log[A-Z]\w*$`), reason: "the log is for people"},
	{function: regexp.MustCompile(`\.log[A-Z]\w*$`), reason: "the log is for people"},
	{operator: "drop", node: regexp.MustCompile(`(?i)^(\w+\.)*(log|logger)(\(\))?\.`), reason: "the log is for people"},
	{operator: "drop", node: regexp.MustCompile(`^(defer )?([\w.]+\.)?R?(Unl|L)ock\(\)$`), reason: "locks are for the race detector"},
	{function: regexp.MustCompile(`\.(String|GoString|LogValue)$`), reason: "texts for people who debug"},
	{call: regexp.MustCompile(`^(capacity of make|slices\.Grow|\(\*(strings\.Builder|bytes\.Buffer)\)\.Grow)$`), reason: "memory comes earlier or later"},
	{operator: "drop", call: regexp.MustCompile(`^\(\*sync\.Pool\)\.Put$`), reason: "memory comes earlier or later"},
	{lint: "nilerr", reason: "a lost error is for the linter nilerr"},
}

// excuseOf returns the first excuse of a mutant, or nil.
func excuseOf(m *mutant) *excuse {
	for i, e := range excuses {
		if (e.operator == "" || e.operator == m.operator) && (e.lint == "" || e.lint == m.lint) &&
			matches(e.function, m.function) && matches(e.node, m.node) && matches(e.call, m.calls...) {
			return &excuses[i]
		}
	}
	return nil
}

// matches reports whether a pattern matches one of the texts.
func matches(pattern *regexp.Regexp, texts ...string) bool {
	return pattern == nil || slices.ContainsFunc(texts, pattern.MatchString)
}
