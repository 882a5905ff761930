package leakcheck

import "strings"

// goroutine is one entry of a stack dump.
type goroutine struct {
	id    string   // goroutine number
	calls []string // function names, innermost first, without arguments
	stack string   // complete entry
}

// standardCalls are functions of goroutines that the standard library starts once and keeps
// for the lifetime of the process.
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

// parse splits a dump of [runtime.Stack] into goroutines. It skips other paragraphs.
func parse(dump string) []goroutine {
	var all []goroutine
	for paragraph := range strings.SplitSeq(dump, "\n\n") {
		if g, ok := parseOne(strings.TrimSpace(paragraph)); ok {
			all = append(all, g)
		}
	}
	return all
}

// parseOne parses "goroutine 7 [state]:" and the calls below it. Each call is a line
// "package.function(arguments)", followed by an indented line with its position. The line
// "created by …" is not a call.
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
