package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/examples/program"
)

const usage = `rag answers a question from the documents of a folder, and cites them.

    go run . [flags] question

    --docs DIR          the folder with .md, .txt, .csv and .pdf files; empty for those of --index (testdata/docs)
    --index DIR         keep the index in this folder; the next run reads only what has changed (in memory)
    --file NAME         search only this document; a path below --docs or a name; may come several times
    --type KIND         search only documents of this kind: md, txt, csv or pdf; may come several times
    --under PREFIX      search only documents whose path below --docs begins so
    --dates FROM,TO     search only documents that were changed last on these days, such as 2024-01-01,2024-03-31
    --top N             how many passages to find, at most 100 (5)
    --threshold SHARE   which share of the question a passage must have, 0 to 1 (0.3)
    --ws ADDR       no question: host the agents for peers, over WebSocket, until interrupted; ADDR is one of this machine
    --tcp ADDR      the same, over TCP
    --timeout TIME      how long everything may take (10m)
    --trace=false       no tree of the conversations at the end
    --quiet             no progress

The answer is an extract. With RAG_LLM_URL and RAG_LLM_MODEL in the environment, an OpenAI-compatible endpoint such as
https://api.openai.com/v1 writes it, and gets the passages. RAG_LLM_KEY is its key, and RAG_LLM_TIMEOUT its time (1m).
It exits with 0 when there is an answer, 1 when there is none, and 2 when the arguments are wrong.
`

// options are the arguments of the program.
type options struct {
	index        string
	question     question
	ws, tcp      string
	timeout      time.Duration
	trace, quiet bool
}

func parse(args []string) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.StringVar(&o.question.Folder, "docs", "testdata/docs", "")
	f.StringVar(&o.index, "index", "", "")
	q := &o.question.Ask
	f.IntVar(&q.Top, "top", defaultTop, "")
	f.Float64Var(&q.Threshold, "threshold", 0.3, "")
	f.StringVar(&q.Filters.Prefix, "under", "", "")
	f.Func("file", "", appendTo(&q.Filters.Files))
	f.Func("type", "", appendTo(&q.Filters.Kinds))
	f.Func("dates", "", func(text string) error {
		q.Filters.Dates = strings.Split(text, ",")
		return nil
	})
	f.StringVar(&o.ws, "ws", "", "")
	f.StringVar(&o.tcp, "tcp", "", "")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "")
	f.BoolVar(&o.trace, "trace", true, "")
	f.BoolVar(&o.quiet, "quiet", false, "")
	if err := program.Parse(f, args); err != nil {
		return nil, err
	}
	q.Query = strings.TrimSpace(strings.Join(f.Args(), " "))
	for flag, addr := range map[string]string{"--ws": o.ws, "--tcp": o.tcp} {
		if host, _, err := net.SplitHostPort(addr); addr != "" && (err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback()) {
			return nil, fmt.Errorf("%s %q: want an address of this machine, such as 127.0.0.1:8443: nobody has to authenticate", flag, addr)
		}
	}
	serves := o.ws+o.tcp != ""
	switch {
	case serves && q.Query != "":
		return nil, errors.New("with --ws or --tcp, peers ask the questions; leave yours out")
	case serves:
		return o, nil
	case q.Query == "":
		return nil, errors.New(`ask something, such as: go run . "How long does a refund take?"; --help lists the flags`)
	case o.timeout <= 0:
		return nil, errors.New("--timeout leaves no time; give it some, such as 10m")
	case o.question.Folder == "" && o.index == "":
		return nil, errors.New("without --docs there is nothing to search but an --index")
	case q.Top < 1 || q.Top > maxTop:
		return nil, errors.New("--top: want 1 to 100")
	}
	return o, q.validate()
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
