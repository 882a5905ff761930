package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"

	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/tcp"
)

// serveCommand is the first argument of a child. The others are the name of its node, the turns of its agents, and its place: listen or
// cluster, and then the address of a node to join, if any. It prints an address, then a line of JSON for each line that it reads: its
// usage, from which it begins anew after the line reset. It ends with its input, and so with its parent.
const serveCommand = "serve"

const (
	listenPlace  = "listen"
	clusterPlace = "cluster"
)

// serve is the main function of a child.
func serve(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) < 3 {
		return errors.New("usage: serve name turns listen|cluster [join]")
	}
	turns, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	s := new(sampler)
	var n *runtime.Node
	var addr string
	if args[2] == listenPlace {
		n, addr, err = listen(args[0])
	} else if n, err = newNode(args[0], &runtime.ClusterOptions{Gossip: "127.0.0.1:0", Join: args[3:]}); err == nil {
		addr = n.Members()[0].Gossip
		s.watch(ctx, n)
	}
	if err != nil {
		return err
	}
	if turns > 0 {
		if err := spawnWorkers(ctx, n, turns, s); err != nil {
			return err
		}
	}
	go s.run(ctx)
	fmt.Fprintln(out, addr)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		u, _ := s.read()
		if lines.Text() == "reset" {
			_ = s.reset()
		}
		if err := json.NewEncoder(out).Encode(u); err != nil {
			return err
		}
	}
	return nil
}

// newNode starts a node. Its log is discarded: failures are counted.
func newNode(name string, cluster *runtime.ClusterOptions) (*runtime.Node, error) {
	return runtime.New(runtime.Options{Name: name, Logger: slog.New(slog.DiscardHandler), Cluster: cluster})
}

// listen starts a node that programs reach by the address.
func listen(name string) (*runtime.Node, string, error) {
	n, err := newNode(name, nil)
	if err != nil {
		return nil, "", err
	}
	peers, err := runtime.NewPeers(n, runtime.PeerOptions{})
	if err != nil {
		return nil, "", err
	}
	server, err := wire.NewServer(wire.Options{Handler: peers, Dialects: []wire.Dialect{acl.Dialect{}}, Anonymous: true})
	if err != nil {
		return nil, "", err
	}
	listener, err := tcp.Listen(server, tcp.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		return nil, "", err
	}
	return n, "tcp://" + listener.Addr().String(), nil
}

// child is a node in a process of its own. Only one goroutine may use it.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	addr string
}

// startChild starts a child, which ends with ctx at the latest.
func startChild(ctx context.Context, args ...string) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, program, append([]string{serveCommand}, args...)...)}
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if !c.out.Scan() {
		return nil, fmt.Errorf("the child did not start: %w", errors.Join(c.out.Err(), c.cmd.Wait()))
	}
	c.addr = c.out.Text()
	return c, nil
}

// stop kills the child: its agents have nothing to lose.
func (c *child) stop() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait() // it was killed
}

func (c *child) reset() error {
	_, err := c.call("reset")
	return err
}

func (c *child) read() (usage, error) { return c.call("read") }

// call writes a line, and reads the usage.
func (c *child) call(line string) (u usage, err error) {
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		return u, err
	}
	if !c.out.Scan() {
		return u, fmt.Errorf("a child has ended: %w", c.out.Err())
	}
	return u, json.Unmarshal(c.out.Bytes(), &u)
}
