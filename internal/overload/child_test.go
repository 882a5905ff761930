package overload

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/tcp"
)

// serveCommand is the first argument of a child, a process with a node. The others are the name
// of the node, the turns of its workers (0: it has none), and the place, tcp or node, with the
// address of a node to join, if any. It prints its address, then its usage in JSON for each
// command that it reads. It ends with its input, and so with its parent.
const serveCommand = "serve"

// The commands of a process: see [sampler.call].
const commandRead, commandReset = "read", "reset"

// serve is the main function of a child.
func serve(args []string) {
	ctx := context.Background()
	s := startSampler(ctx)
	var n *runtime.Node
	var addr string
	if args[2] == siteTCP {
		n = newNode(args[0], nil)
		peers := must(runtime.NewPeers(n, runtime.PeerOptions{}))
		server := must(wire.NewServer(wire.Options{Handler: peers, Dialects: []wire.Dialect{acl.Dialect{}}, Anonymous: true}))
		addr = "tcp://" + must(tcp.Listen(server, tcp.Options{Addr: "127.0.0.1:0"})).Addr().String()
	} else {
		n = newNode(args[0], &runtime.ClusterOptions{Gossip: "127.0.0.1:0", Join: args[3:]})
		s.watch(ctx, n)
		addr = n.Members()[0].Gossip
	}
	spawn(ctx, n, must(strconv.ParseInt(args[1], 10, 64)), s)
	fmt.Println(addr)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		check(json.NewEncoder(os.Stdout).Encode(s.call(lines.Text())))
	}
}

// newNode starts a node. Its log is discarded: failures are counted.
func newNode(name string, cluster *runtime.ClusterOptions) *runtime.Node {
	return must(runtime.New(runtime.Options{Name: name, Logger: slog.New(slog.DiscardHandler), Cluster: cluster}))
}

// spawn spawns the workers on a node, if turns is not 0.
func spawn(ctx context.Context, n *runtime.Node, turns int64, s *sampler) {
	for _, id := range agents {
		if turns > 0 {
			check(n.Spawn(ctx, id, func() actors.Agent { return worker{turns, s} }))
		}
	}
}

// child is a child of this process. Only one goroutine may use it.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	addr string
}

// startChild starts a child.
func startChild(ctx context.Context, args ...string) *child {
	c := &child{cmd: exec.CommandContext(ctx, must(os.Executable()), append([]string{serveCommand}, args...)...)}
	c.cmd.Stderr = os.Stderr
	c.in, c.out = must(c.cmd.StdinPipe()), bufio.NewScanner(must(c.cmd.StdoutPipe()))
	check(c.cmd.Start())
	c.addr = c.line()
	return c
}

// line reads a line from the child.
func (c *child) line() string {
	if !c.out.Scan() {
		check(fmt.Errorf("a child has ended: %w", c.cmd.Wait()))
	}
	return c.out.Text()
}

func (c *child) call(command string) (u usage) {
	must(fmt.Fprintln(c.in, command))
	check(json.Unmarshal([]byte(c.line()), &u))
	return u
}
