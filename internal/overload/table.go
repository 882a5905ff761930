package main

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"strings"
	"unicode/utf8"
)

// The markers around the table in a document.
const (
	tableBegin = "<!-- overload -->"
	tableEnd   = "<!-- /overload -->"
)

// columns are the titles of the table. Their lengths are the least widths of the cells.
var columns = []string{
	"where, kind, load    ", "capacity/s", "offered/s", "goodput/s", "of capacity", "busy ", "late ", "other", "held ", "never",
	"refusal p99 ms", "told late (p99 ms)", "URGENT idle p50/p99 ms (failed)", "URGENT hot p50/p99 ms (failed)", "quiet", "memory MB (first, last)",
	"goroutines", "handlers", "lost", "others",
}

// header returns the lines above the rows.
func header(command string) string {
	rule := make([]string, len(columns))
	for i := range rule {
		rule[i] = strings.Repeat("-", utf8.RuneCountInString(columns[i]))
	}
	return fmt.Sprintf("`%s`, %s, GOMAXPROCS %d\n\n%s%s", command, goruntime.Version(), goruntime.GOMAXPROCS(0), line(columns), line(rule))
}

// line returns a line of the table.
func line(cells []string) string {
	var b strings.Builder
	for i, cell := range cells {
		fmt.Fprintf(&b, "| %-*s ", utf8.RuneCountInString(columns[i]), cell)
	}
	return b.String() + "|\n"
}

// String returns the line of a row.
func (w *row) String() string {
	name, t, u := w.where+" "+w.kind, &w.tasks, w.usage
	if w.load > 0 {
		name += fmt.Sprintf(" %g×", w.load)
	}
	seconds := w.length.Seconds()
	offered := float64(t.offered+w.quiet.offered) / seconds
	goodput := float64(t.goodput+w.quiet.goodput) / seconds
	quiet := "-"
	if w.quiet.offered > 0 {
		quiet = percent(w.quiet.n[done], w.quiet.offered)
	}
	cells := []string{
		name, fmt.Sprintf("%.0f", w.capacity), fmt.Sprintf("%.0f", offered), fmt.Sprintf("%.0f", goodput),
		fmt.Sprintf("%.0f%%", 100*goodput/min(w.capacity, offered)),
	}
	for _, o := range []outcome{busy, late, other, held} {
		cells = append(cells, percent(t.n[o], t.offered))
	}
	cells = append(cells, percent(t.open(), t.offered),
		t.refused.quantile(.99), fmt.Sprintf("%d (%s)", t.after.all, t.after.quantile(.99)), urgency(&w.idle), urgency(&w.hot), quiet,
		fmt.Sprintf("%.0f (%.0f, %.0f)", u.Peak, u.First, u.Last), fmt.Sprint(u.Goroutines), fmt.Sprint(u.Handlers), fmt.Sprint(u.Lost),
		fmt.Sprintf("%.0f%%", 100*w.others))
	return line(cells)
}

// percent returns a part of a whole. Only zero is 0%.
func percent(n, of int) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%.3g%%", 100*float64(n)/float64(of))
}

// urgency returns the times of URGENT tasks, and how many had no result in time.
func urgency(t *tally) string {
	return fmt.Sprintf("%s/%s (%d of %d)", t.took.quantile(.5), t.took.quantile(.99), t.offered-t.n[done], t.offered)
}

// replaceTable replaces what is between the markers in a document.
func replaceTable(file, table string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(text), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return errors.New(file + " has no " + tableBegin + " with " + tableEnd + " after it")
	}
	return os.WriteFile(file, []byte(before+tableBegin+"\n"+table+"\n"+tableEnd+after), 0o600)
}
