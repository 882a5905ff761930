package pydebug

import (
	"fmt"
	"slices"
	"strings"
)

// diffContext is the number of unchanged lines around a change.
const diffContext = 3

// maxDiffEdits bounds the search for a shortest diff. Beyond it, the diff replaces
// everything between the first and the last change.
const maxDiffEdits = 400

// change replaces a[aStart:aEnd] by b[bStart:bEnd].
type change struct{ aStart, aEnd, bStart, bEnd int }

// unifiedDiff returns the difference between two texts in the format of patch;
// empty if they are equal. The line "\ No newline at end of file" follows a last
// line without line ending.
func unifiedDiff(name, before, after string) string {
	a, b := splitLines(before), splitLines(after)
	changes := diffLines(a, b)
	if len(changes) == 0 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- a/%s\n+++ b/%s\n", name, name)
	for first := 0; first < len(changes); {
		last := first + 1
		for last < len(changes) && changes[last].aStart-changes[last-1].aEnd <= 2*diffContext {
			last++
		}
		writeHunk(&out, a, b, changes[first:last])
		first = last
	}
	return out.String()
}

// splitLines splits a text after each "\n", the only line ending of patch.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func writeHunk(out *strings.Builder, a, b []string, changes []change) {
	first, last := changes[0], changes[len(changes)-1]
	aStart := max(0, first.aStart-diffContext)
	aEnd := min(len(a), last.aEnd+diffContext)
	bStart := first.bStart - (first.aStart - aStart)
	bEnd := last.bEnd + (aEnd - last.aEnd)
	fmt.Fprintf(out, "@@ -%s +%s @@\n", hunkRange(aStart, aEnd), hunkRange(bStart, bEnd))
	at := aStart
	for _, c := range changes {
		writeLines(out, ' ', a[at:c.aStart])
		writeLines(out, '-', a[c.aStart:c.aEnd])
		writeLines(out, '+', b[c.bStart:c.bEnd])
		at = c.aEnd
	}
	writeLines(out, ' ', a[at:aEnd])
}

// hunkRange returns "start,count" with lines counted from 1. For an empty range,
// start is the line before it.
func hunkRange(start, end int) string {
	switch end - start {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, end-start)
}

func writeLines(out *strings.Builder, mark byte, lines []string) {
	for _, line := range lines {
		out.WriteByte(mark)
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// diffLines returns the changes from a to b in order.
func diffLines(a, b []string) []change {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	if start+end == len(a) && start+end == len(b) {
		return nil
	}
	changes := shortest(a[start:len(a)-end], b[start:len(b)-end])
	for i := range changes {
		c := &changes[i]
		c.aStart, c.aEnd, c.bStart, c.bEnd = c.aStart+start, c.aEnd+start, c.bStart+start, c.bEnd+start
	}
	return changes
}

// shortest is the greedy algorithm of E. Myers, "An O(ND) Difference Algorithm
// and Its Variations" (1986), §4. The paper's names are kept: d counts edits, the
// diagonal k is x - y, and v[k+len(v)/2] is the largest x on k. vs holds v before
// each round, for [path].
func shortest(a, b []string) []change {
	limit := min(len(a)+len(b), maxDiffEdits)
	v := make([]int, 2*limit+3)
	var vs [][]int
	for d := 0; d <= limit; d++ {
		vs = append(vs, slices.Clone(v))
		for k := -d; k <= d; k += 2 {
			x, _ := extended(v, k, d)
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			v[k+len(v)/2] = x
			if x >= len(a) && x-k >= len(b) {
				return path(vs, len(a), len(b))
			}
		}
	}
	return []change{{0, len(a), 0, len(b)}}
}

// extended returns the largest x on diagonal k after edit d, which is a deletion
// or else an insertion.
func extended(v []int, k, d int) (x int, deletion bool) {
	at := k + len(v)/2
	if k == -d || k != d && v[at-1] < v[at+1] {
		return v[at+1], false
	}
	return v[at-1] + 1, true
}

// path returns the edits of the shortest path to (x, y) as changes, in order.
func path(vs [][]int, x, y int) []change {
	var steps []change
	for d := len(vs) - 1; d > 0; d-- {
		k := x - y
		to, deletion := extended(vs[d], k, d)
		if deletion {
			x, y = to-1, to-k
			steps = append(steps, change{x, x + 1, y, y})
		} else {
			x, y = to, to-k-1
			steps = append(steps, change{x, x, y, y + 1})
		}
	}
	return merged(steps)
}

// merged joins single edits, last first, to changes of adjacent lines, in order.
func merged(steps []change) []change {
	var changes []change
	for i := len(steps) - 1; i >= 0; i-- {
		s := steps[i]
		if n := len(changes); n > 0 && changes[n-1].aEnd == s.aStart && changes[n-1].bEnd == s.bStart {
			changes[n-1].aEnd, changes[n-1].bEnd = s.aEnd, s.bEnd
			continue
		}
		changes = append(changes, s)
	}
	return changes
}
