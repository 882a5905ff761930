package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if args := os.Args[1:]; len(args) > 0 && args[0] == serveCommand {
		err = serve(ctx, args[1:], os.Stdin, os.Stdout)
	} else {
		err = command(ctx, args)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "overload:", err)
		os.Exit(1)
	}
}

// command runs the program with its flags.
func command(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("overload", flag.ExitOnError)
	where := f.String("where", "local,tcp,node", "the places of the agents")
	kinds := f.String("kinds", "cpu,wait,mixed,tenthousand", "the kinds of work")
	loads := f.String("loads", "1,2,5,10", "multiples of the capacity")
	r := run{turns: calibrate(), askers: 10_000}
	f.DurationVar(&r.length, "time", 20*time.Second, "how long each load lasts")
	markdown := f.String("markdown", "", "replace the table in this file, between "+tableBegin+" and "+tableEnd)
	_ = f.Parse(args) // it exits
	for text := range strings.SplitSeq(*loads, ",") {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || x <= 0 {
			return fmt.Errorf("-loads: %q is no positive number", text)
		}
		r.loads = append(r.loads, x)
	}
	r.where, r.kinds = strings.Split(*where, ","), strings.Split(*kinds, ",")

	var table strings.Builder
	out := io.MultiWriter(os.Stdout, &table)
	fmt.Fprint(out, header("go run ./internal/overload "+strings.Join(args, " ")))
	r.print = func(w *row) {
		fmt.Fprint(out, w)
		for i, t := range w.tallies() {
			if t.reason != "" {
				fmt.Fprintf(os.Stderr, "overload: other, %s: %s\n", []string{"load", "quiet", "URGENT idle", "URGENT hot"}[i], t.reason)
			}
		}
	}
	// A product that never answers must not keep the program: the main goroutine ends it, and its children with it.
	ctx, cancel := context.WithTimeout(ctx, r.bound())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.all(ctx) }()
	select {
	case err := <-ended:
		if err != nil || *markdown == "" {
			return err
		}
		return replaceTable(*markdown, table.String())
	case <-ctx.Done():
		return fmt.Errorf("not ended in time: %w", context.Cause(ctx))
	}
}
