package leakcheck

import "strings"

// goroutine is one paragraph of a stack dump.
type goroutine struct {
	id    string   // the number, as written
	calls []string // the functions, innermost first, without arguments
	stack string   // the paragraph as it was
}

// standardCalls are functions of goroutines that the standard library starts
// once and keeps for the life of the process.
var standardCalls = []string{
	"os/signal.signal_recv",
	"os/signal.loop",
	"runtime.ensureSigM.func1",
	"runtime.ReadTrace",
	"runtime/trace.Start.func1",
	"runtime/pprof.profileWriter",
}

// standard reports whether g belongs to the standard library.
func (g goroutine) standard() bool {
	for _, call := range g.calls {
		for _, known := range standardCalls {
			if call == known {
				return true
			}
		}
	}
	return false
}

// parse splits a dump of [runtime.Stack]. Paragraphs that are no goroutine are
// left out.
func parse(dump string) []goroutine {
	var all []goroutine
	for paragraph := range strings.SplitSeq(dump, "\n\n") {
		if g, ok := parseOne(strings.TrimSpace(paragraph)); ok {
			all = append(all, g)
		}
	}
	return all
}

// parseOne reads "goroutine 7 [state]:" and the calls below it. Each call is a
// line "package.function(arguments)" and an indented line with its place; the
// line "created by …" is a place to look at and no call.
func parseOne(paragraph string) (goroutine, bool) {
	head, body, _ := strings.Cut(paragraph, "\n")
	rest, ok := strings.CutPrefix(head, "goroutine ")
	if !ok {
		return goroutine{}, false
	}
	id, _, ok := strings.Cut(rest, " ")
	if !ok || id == "" {
		return goroutine{}, false
	}
	g := goroutine{id: id, stack: paragraph}
	for line := range strings.SplitSeq(body, "\n") {
		if line == "" || line[0] == '\t' || strings.HasPrefix(line, "created by ") {
			continue
		}
		if i := strings.LastIndexByte(line, '('); i > 0 {
			line = line[:i]
		}
		g.calls = append(g.calls, line)
	}
	return g, true
}
