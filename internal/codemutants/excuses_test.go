package codemutants

import "regexp"

// excuse is a pattern of mutants that are not made: their faults are none that tests should notice.
// A pattern is one of the code, and names no place in it.
type excuse struct {
	operator string         // empty for all
	function *regexp.Regexp // of the function; nil for all
	node     *regexp.Regexp // of the text of the node; nil for all
	reason   string
}

var excuses = []excuse{
	{operator: "drop", node: regexp.MustCompile(`(?i)^(\w+\.)*(log|logger)(\(\))?\.`), reason: "the log is for people"},
	{operator: "drop", node: regexp.MustCompile(`^(defer )?([\w.]+\.)?R?(Unl|L)ock\(\)$`), reason: "locks are for the race detector"},
	{function: regexp.MustCompile(`\.(String|GoString|LogValue)$`), reason: "texts for people who debug"},
}

// excuseOf returns the first excuse of a mutant, or nil.
func excuseOf(m *mutant) *excuse {
	for i, e := range excuses {
		if (e.operator == "" || e.operator == m.operator) && matches(e.function, m.function) && matches(e.node, m.node) {
			return &excuses[i]
		}
	}
	return nil
}

func matches(pattern *regexp.Regexp, text string) bool {
	return pattern == nil || pattern.MatchString(text)
}
