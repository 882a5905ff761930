package main

import (
	"errors"
	"flag"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/examples/rag/swarm"
)

const usage = `rag answers a question from the documents of a folder, and cites them.

    go run ./examples/rag [flags] question

    --docs DIR          the folder with .md, .txt, .csv and .pdf files; without it, a few sample documents
    --file NAME         search only this document; a path below --docs or a name; may come several times
    --type KIND         search only documents of this kind: md, txt, csv or pdf; may come several times
    --under PREFIX      search only documents whose path below --docs begins so
    --dates FROM,TO     search only documents that were changed last on these days, such as 2024-01-01,2024-03-31
    --top N             how many passages to find, at most 100 (5)
    --threshold SHARE   which share of the question a passage must have, 0 to 1 (0.3)
    --timeout TIME      how long everything may take (10m)
    --trace=false       no list of the conversations at the end
    --quiet             no progress

The answer is an extract. With RAG_LLM_URL and RAG_LLM_MODEL in the environment, an OpenAI-compatible endpoint such as
https://api.openai.com/v1 writes it, and gets the passages. RAG_LLM_KEY is its key, and RAG_LLM_TIMEOUT its time (1m).
It exits with 0 when there is an answer, 1 when there is none, and 2 when the arguments are wrong.
`

// options are the arguments of the program.
type options struct {
	swarm        swarm.Options
	query        swarm.Query
	timeout      time.Duration
	trace, quiet bool
}

func parse(args []string) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.StringVar(&o.swarm.Docs, "docs", "", "")
	q := &o.query
	f.IntVar(&q.Top, "top", swarm.DefaultTop, "")
	f.Float64Var(&q.Threshold, "threshold", 0.3, "")
	f.StringVar(&q.Filters.Prefix, "under", "", "")
	f.Func("file", "", appendTo(&q.Filters.Files))
	f.Func("type", "", appendTo(&q.Filters.Kinds))
	f.Func("dates", "", func(text string) error {
		q.Filters.Dates = strings.Split(text, ",")
		return nil
	})
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "")
	f.BoolVar(&o.trace, "trace", true, "")
	f.BoolVar(&o.quiet, "quiet", false, "")
	if err := program.Parse(f, args); err != nil {
		return nil, err
	}
	q.Text = strings.TrimSpace(strings.Join(f.Args(), " "))
	switch {
	case q.Text == "":
		return nil, errors.New(`ask something, such as: go run ./examples/rag "How long does a refund take?"; --help lists the flags`)
	case o.timeout <= 0:
		return nil, errors.New("--timeout leaves no time; give it some, such as 10m")
	case q.Top < 1 || q.Top > swarm.MaxTop:
		return nil, errors.New("--top: want 1 to 100")
	}
	return o, q.Validate()
}

func appendTo(list *[]string) func(string) error {
	return func(text string) error {
		if text == "" {
			return errors.New("want a value")
		}
		*list = append(*list, text)
		return nil
	}
}
