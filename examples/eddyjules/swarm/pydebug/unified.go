package pydebug

import (
	"fmt"
	"strings"
)

// diffContext is the number of unchanged lines around a change.
const diffContext = 3

// maxDiffEdits bounds the search for a shortest diff; beyond it, the whole
// stretch between the first and the last change is replaced.
const maxDiffEdits = 400

// change replaces a[aStart:aEnd] by b[bStart:bEnd].
type change struct{ aStart, aEnd, bStart, bEnd int }

// unifiedDiff writes the difference between two texts for patch; empty if they
// are equal. A "\ No newline at end of file" marks a last line without one.
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

// splitLines cuts a text after each "\n", which is all that patch counts.
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

// hunkRange is start,count with lines from 1; an empty range names the line
// before it.
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
// and Its Variations" (1986), §4, with the furthest points of each round kept
// for the way back.
func shortest(a, b []string) []change {
	whole := []change{{0, len(a), 0, len(b)}}
	limit := min(len(a)+len(b), maxDiffEdits)
	reach := make([]int, 2*limit+3)
	var rounds [][]int
	for d := 0; d <= limit; d++ {
		rounds = append(rounds, append([]int(nil), reach...))
		for k := -d; k <= d; k += 2 {
			x := furthest(reach, k, d, limit)
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			reach[k+limit+1] = x
			if x >= len(a) && x-k >= len(b) {
				return wayBack(rounds, len(a), len(b), limit)
			}
		}
	}
	return whole
}

// furthest is where diagonal k begins in round d: after a deletion or an insertion.
func furthest(reach []int, k, d, limit int) int {
	at := k + limit + 1
	if k == -d || k != d && reach[at-1] < reach[at+1] {
		return reach[at+1]
	}
	return reach[at-1] + 1
}

// wayBack collects the single edits of a shortest path as changes, in order.
func wayBack(rounds [][]int, x, y, limit int) []change {
	var steps []change
	for d := len(rounds) - 1; d > 0; d-- {
		reach, k := rounds[d], x-y
		down := k == -d || k != d && reach[k-1+limit+1] < reach[k+1+limit+1]
		if down {
			px := reach[k+1+limit+1]
			py := px - (k + 1)
			steps = append(steps, change{px, px, py, py + 1})
			x, y = px, py
		} else {
			px := reach[k-1+limit+1]
			py := px - (k - 1)
			steps = append(steps, change{px, px + 1, py, py})
			x, y = px, py
		}
	}
	return merged(steps)
}

// merged turns single edits, last first, into changes of adjacent lines.
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
