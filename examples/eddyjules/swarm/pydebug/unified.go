package pydebug

import (
	"fmt"
	"strings"
)

// diffContext is the number of unchanged lines around a change.
const diffContext = 3

// maxDiffTable bounds the table of a shortest diff. Beyond it, the diff replaces
// everything between the first and the last change.
const maxDiffTable = 1 << 20

// change replaces a[aStart:aEnd] by b[bStart:bEnd].
type change struct{ aStart, aEnd, bStart, bEnd int }

// Diff returns the difference between two texts in the unified format of patch, under the file name
// a/name and b/name; empty if they are equal. The line "\ No newline at end of file" follows a last
// line without line ending.
func Diff(name, before, after string) string {
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

// shortest returns the changes from a to b that keep a longest common subsequence.
func shortest(a, b []string) []change {
	if len(a)*len(b) > maxDiffTable {
		return []change{{0, len(a), 0, len(b)}}
	}
	common := make([][]int, len(a)+1) // [i][j]: the length of the longest one of a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var changes []change
	for i, j := 0, 0; i < len(a) || j < len(b); i, j = i+1, j+1 {
		c := change{i, i, j, j}
		for i < len(a) || j < len(b) {
			if i < len(a) && j < len(b) && a[i] == b[j] {
				break
			}
			if j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1] {
				i++
			} else {
				j++
			}
		}
		if c.aEnd, c.bEnd = i, j; c.aStart < i || c.bStart < j {
			changes = append(changes, c)
		}
	}
	return changes
}
