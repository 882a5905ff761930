package overload

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/runtime"
)

var (
	measure  = flag.Bool("measure", false, "measure, for a quarter of an hour, and print the table")
	markdown = flag.String("markdown", "", "replace the table in this file, between "+tableBegin+" and "+tableEnd)
	where    = flag.String("where", "local,tcp,node", "the places of the agents")
	work     = flag.String("kinds", "cpu,wait,mixed,tenthousand", "the kinds of work")
	loads    = flag.String("loads", "1,2,5,10", "multiples of the capacity")
	length   = flag.Duration("time", 20*time.Second, "how long each load lasts")
)

// A child is this program with other arguments.
func TestMain(m *testing.M) {
	if args := os.Args[1:]; len(args) > 0 && args[0] == serveCommand {
		runtime.SpareProcessor() // as ribosome node does
		serve(args[1:])
		return
	}
	leakcheck.Main(m)
}

// TestMeasure prints the table. It is what make overload runs.
func TestMeasure(t *testing.T) {
	if !*measure {
		t.Skip("make overload measures")
	}
	runtime.SpareProcessor()
	r := run{where: strings.Split(*where, ","), kinds: strings.Split(*work, ","), length: *length, turns: calibrate(), many: 10_000}
	for text := range strings.SplitSeq(*loads, ",") {
		r.loads = append(r.loads, must(strconv.ParseFloat(text, 64)))
	}
	// A product that never answers must not keep the program. The children end with it.
	defer time.AfterFunc(r.bound(), func() { check(fmt.Errorf("not ended after %v", r.bound())) }).Stop()

	var table strings.Builder
	out := io.MultiWriter(os.Stdout, &table)
	fmt.Fprint(out, header(command()))
	r.print = func(w *row) { fmt.Fprint(out, w) }
	r.all(t.Context())
	if *markdown != "" {
		check(replaceTable(*markdown, table.String()))
	}
}

// command returns the command that measures as this one does.
func command() string {
	var given []string
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") && f.Name != "measure" && f.Name != "markdown" {
			given = append(given, "-"+f.Name+" "+f.Value.String())
		}
	})
	return fmt.Sprintf("make overload OVERLOAD=%q", strings.Join(given, " "))
}

// check ends the program if there is an error, and with it its children.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "overload:", err)
		os.Exit(1)
	}
}

// must returns v, and ends the program if there is an error.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// The markers around the table in a document.
const (
	tableBegin = "<!-- overload -->"
	tableEnd   = "<!-- /overload -->"
)

// columns are the titles of the table. Their lengths are the least widths of the cells.
var columns = []string{
	"where, kind, load", "capacity/s", "offered/s", "goodput/s", "of capacity", "busy ", "late ", "other", "held ", "never",
	"refusal p99 ms", "told late (p99 ms)", "URGENT idle p50/p99 ms (failed)", "URGENT hot p50/p99 ms (failed)", "quiet", "memory MB (first, last)",
	"goroutines", "handlers", "lost", "others",
}

// header returns the lines above the rows.
func header(command string) string {
	return fmt.Sprintf("`%s`, %s, GOMAXPROCS %d\n\n", command, goruntime.Version(), goruntime.GOMAXPROCS(0)) +
		line(columns...) + strings.Repeat("|---", len(columns)) + "|\n"
}

// line returns a line of the table.
func line(cells ...string) string {
	text := ""
	for i, cell := range cells {
		text += fmt.Sprintf("| %-*s ", utf8.RuneCountInString(columns[i]), cell)
	}
	return text + "|\n"
}

// String returns the line of a row.
func (w *row) String() string {
	t, u, seconds := &w.tasks, w.usage, w.length.Seconds()
	offered, goodput := float64(t.offered+w.quiet.offered)/seconds, float64(t.goodput+w.quiet.goodput)/seconds
	return line(fmt.Sprintf("%s %s %g×", w.where, w.kind, w.load), fmt.Sprintf("%.0f", w.capacity), fmt.Sprintf("%.0f", offered), fmt.Sprintf("%.0f", goodput),
		fmt.Sprintf("%.0f%%", 100*goodput/min(w.capacity, offered)),
		t.percent(busy), t.percent(late), t.percent(other), t.percent(held), t.percent(never),
		t.refused.quantile(.99), fmt.Sprintf("%d (%s)", t.after.all, t.after.quantile(.99)),
		w.idle.urgent(), w.hot.urgent(), w.quiet.percent(done),
		fmt.Sprintf("%.0f (%.0f, %.0f)", u.Peak, u.First, u.Last), fmt.Sprint(u.Goroutines), fmt.Sprint(u.Handlers), fmt.Sprint(u.Lost),
		fmt.Sprintf("%.0f%%", 100*w.others))
}

// percent returns the part of an outcome, and a dash if nothing was offered. Only zero is 0.
func (t *tally) percent(o outcome) string {
	switch {
	case t.offered == 0:
		return "-"
	case t.n[o] == 0:
		return "0"
	}
	return fmt.Sprintf("%.3g%%", 100*float64(t.n[o])/float64(t.offered))
}

// urgent returns the times of URGENT tasks, and how many had no result in time.
func (t *tally) urgent() string {
	return fmt.Sprintf("%s/%s (%d of %d)", t.took.quantile(.5), t.took.quantile(.99), t.offered-t.n[done], t.offered)
}

// replaceTable replaces the text between the markers in a document.
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
	return os.WriteFile(file, []byte(before+tableBegin+"\n"+table+tableEnd+after), 0o600)
}
