package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
)

const usage = `usage: external [flags]

A node that agents in Python and JavaScript join. Each gets a task, delegates a part
of it back, and reports how far it has come.

  --tcp ADDR    where agents connect over TCP (default 127.0.0.1:0, any port that is free)
  --ws ADDR     where they connect over WebSocket, and where the page is (the same)
  --spawn WHAT  which agents to start: python, js, both, none, or auto for those whose
                interpreters are installed (default auto)
  --stay        go on until interrupted, for agents of your own

Everybody may connect who can, so the addresses have to be of this machine. Exit codes:
0 done, 1 failed or interrupted, 2 called wrongly.
`

// options are the flags.
type options struct {
	tcp, ws string
	spawn   string
	stay    bool
}

var spawns = []string{"auto", "python", "js", "both", "none"}

var errHelp = errors.New("help was asked for")

func parse(args []string) (*options, error) {
	var o options
	f := flag.NewFlagSet("external", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.tcp, "tcp", "127.0.0.1:0", "")
	f.StringVar(&o.ws, "ws", "127.0.0.1:0", "")
	f.StringVar(&o.spawn, "spawn", "auto", "")
	f.BoolVar(&o.stay, "stay", false, "")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, errHelp
		}
		return nil, fmt.Errorf("%w; --help lists the flags", err)
	}
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; --help lists the flags", f.Arg(0))
	case !slices.Contains(spawns, o.spawn):
		return nil, fmt.Errorf("--spawn %q: want one of %s", o.spawn, strings.Join(spawns, ", "))
	}
	return &o, errors.Join(loopback("--tcp", o.tcp), loopback("--ws", o.ws))
}

// loopback checks that nobody else's machine reaches an address: there is no
// authentication.
func loopback(name, addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%s %q: want an address such as 127.0.0.1:8444", name, addr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s %q: want an address of this machine only, such as 127.0.0.1:8444: nobody has to authenticate", name, addr)
	}
	return nil
}
