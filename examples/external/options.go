package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/examples/program"
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

func parse(args []string) (*options, error) {
	var o options
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.StringVar(&o.tcp, "tcp", "127.0.0.1:0", "")
	f.StringVar(&o.ws, "ws", "127.0.0.1:0", "")
	f.StringVar(&o.spawn, "spawn", "auto", "")
	f.BoolVar(&o.stay, "stay", false, "")
	if err := program.Parse(f, args); err != nil {
		return nil, err
	}
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; --help lists the flags", f.Arg(0))
	case !slices.Contains(spawns, o.spawn):
		return nil, fmt.Errorf("--spawn %q: want one of %s", o.spawn, strings.Join(spawns, ", "))
	}
	return &o, errors.Join(loopback("--tcp", o.tcp), loopback("--ws", o.ws))
}

// loopback returns an error unless the address is reachable from this machine only: the
// node authenticates no connection.
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
