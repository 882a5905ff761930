package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// nodeProcess is a node of a cluster, as a process of its own.
type nodeProcess struct {
	*exec.Cmd
	t      *testing.T
	name   string
	tcp    string // its address for clients
	http   string // its operator's interface, with --http
	gossip string
	flags  []string    // of its clients
	log    chan string // its lines, as long as there is room
}

// startMember starts a node of a cluster on loopback.
func startMember(t *testing.T, name string, args ...string) *nodeProcess {
	t.Helper()
	if !slices.Contains(args, "--tokens") && !slices.Contains(args, "--client-ca") {
		args = append(args, "--no-auth")
	}
	n := &nodeProcess{
		Cmd: program(t, append([]string{"node", "--name", name, "--tcp", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--gossip", "127.0.0.1:0"}, args...)...),
		t:   t, name: name, log: make(chan string, 4096),
	}
	stdout, err := n.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := n.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = n.Process.Kill()
		_ = n.Wait()
	})
	go n.keepLog(stderr)
	for lines := bufio.NewScanner(stdout); n.gossip == "" && lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on tcp"); ok {
			n.tcp = "tcp" + url
		}
		if url, ok := strings.CutPrefix(lines.Text(), "serving "); ok {
			n.http = url
		}
		if addr, ok := strings.CutPrefix(lines.Text(), "gossiping on "); ok {
			n.gossip = addr
		}
	}
	if n.gossip == "" {
		t.Fatalf("%s does not say where it gossips", name)
	}
	return n
}

func (n *nodeProcess) keepLog(from io.Reader) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		select {
		case n.log <- lines.Text():
		default:
		}
	}
	close(n.log)
}

// logs waits for a line of the log with all of the texts, and returns its time.
func (n *nodeProcess) logs(texts ...string) time.Time {
	n.t.Helper()
	late := time.After(patience.Time)
	for {
		select {
		case line, ok := <-n.log:
			if !ok {
				n.t.Fatalf("it ended, and has not logged %q", texts)
			}
			all := true
			for _, text := range texts {
				all = all && strings.Contains(line, text)
			}
			if all {
				var at struct{ Time time.Time }
				_ = json.Unmarshal([]byte(line), &at) // the zero time will do
				return at.Time
			}
		case <-late:
			n.t.Fatalf("it does not log %q", texts)
		}
	}
}

// lookTime is the time between two lists: without a pause they would take the processor from the
// nodes that are waited for.
const lookTime = 50 * time.Millisecond

// lists waits until a node lists agents or members in the given lines, each with all of the words.
func (n *nodeProcess) lists(command string, want ...string) {
	n.t.Helper()
	var got string
	ticker := time.NewTicker(lookTime)
	defer ticker.Stop()
	for until := time.Now().Add(patience.Time); time.Now().Before(until); <-ticker.C {
		r := runs(n.t, append([]string{command, "--addr", n.tcp}, n.flags...)...)
		got = r.stdout + r.stderr
		lines := strings.Split(strings.TrimSpace(got), "\n")[1:]
		if len(lines) == len(want) {
			match := true
			for i, line := range lines {
				fields := strings.Join(strings.Fields(line), " ")
				match = match && strings.HasPrefix(fields, want[i])
			}
			if match {
				return
			}
		}
	}
	n.t.Fatalf("it lists %s\nwant %q", got, want)
}

// Three nodes as processes: one is killed while it works, stopped for longer than it takes to be
// given up, and started again.
func TestClusterProcesses(t *testing.T) {
	racetest.Skip(t)
	n1 := startMember(t, "n1")
	n2 := startMember(t, "n2", "--join", n1.gossip, "--swarm", "eddyjules", "--log-messages")
	n3 := startMember(t, "n3", "--join", n1.gossip, "--join", n2.gossip, "--label", "zone=b")
	for _, n := range []*nodeProcess{n1, n2, n3} {
		n.lists("members", "n1 alive 0", "n2 alive 3", "n3 alive 0")
		n.lists("agents", "Eddy n2", "Eliza n2", "Jules n2")
	}
	if out, err := program(t, "call", "Jules", "debug_code", "-q", "-d", "@testdata/task.json", "--addr", n3.tcp).Output(); err != nil || !strings.HasPrefix(string(out), "success: ") {
		t.Fatalf("%v: %s", err, out)
	}

	if r := runs(t, "members", "--json", "--addr", n1.tcp); strings.Count(r.stdout, `"labels":{}`) != 2 || !strings.Contains(r.stdout, `"labels":{"zone":"b"}`) {
		t.Errorf("the members are %+v", r)
	}

	deaf := program(t, "listen", "--as", "Deaf", "--action", "debug_code", "--addr", n2.tcp)
	if err := deaf.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = deaf.Process.Kill(); _ = deaf.Wait() }()
	n1.lists("agents", "Deaf n2", "Eddy n2", "Eliza n2", "Jules n2")
	if err := deaf.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	call := program(t, "call", "Deaf", "debug_code", "-d", "{}", "--addr", n1.tcp)
	var said bytes.Buffer
	call.Stderr = &said
	if err := call.Start(); err != nil {
		t.Fatal(err)
	}
	n2.logs("TASK_REQUEST", "Deaf")
	if err := n2.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	if err := call.Wait(); err == nil || !strings.Contains(said.String(), "the node n2 of the agent cannot be reached (disconnected)") {
		t.Errorf("the call ended with %v: %s", err, &said)
	}
	ended, noticed := time.Now(), n1.logs("a node is lost", `"peer":"n2"`)
	for noticed.Before(killed) { // on a busy machine, it may have seemed dead before
		noticed = n1.logs("a node is lost", `"peer":"n2"`)
	}
	t.Logf("the death was noticed after %v, and the asker was told after %v", noticed.Sub(killed), ended.Sub(killed))
	if later := ended.Sub(noticed); later > patience.Time/4 { // a busy machine may take some seconds to end the program of the call
		t.Errorf("the asker was told %v after that", later)
	}
	n3.logs("a node is lost", `"peer":"n2"`, "failed") // before it comes again, which would be the reason else
	n1.lists("members", "n1 alive", "n3 alive")
	n1.lists("agents")
	for _, n := range []*nodeProcess{n1, n3} {
		if r := runs(t, "call", "Jules", "debug_code", "-d", "{}", "--addr", n.tcp); r.code == 0 || !strings.Contains(r.stderr, "the node n2 of the agent cannot be reached") {
			t.Errorf("a call of an agent of the lost node: %+v", r)
		}
	}

	n2 = startMember(t, "n2", "--join", n1.gossip, "--swarm", "eddyjules") // under its name, at other addresses
	n3.lists("agents", "Eddy n2", "Eliza n2", "Jules n2")

	if err := n2.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	n3.logs("a node is lost", `"peer":"n2"`, "failed")
	n3.lists("agents")
	if err := n2.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	n3.lists("agents", "Eddy n2", "Eliza n2", "Jules n2")
	if out, err := program(t, "call", "Jules", "debug_code", "-q", "-d", "@testdata/task.json", "--addr", n3.tcp).Output(); err != nil || !strings.HasPrefix(string(out), "success: ") {
		t.Errorf("after the pause: %v: %s", err, out)
	}
	if err := n2.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	n3.logs("a node is lost", `"peer":"n2"`, "left")
}

// A program works at one node, and each of ten calls is a new asker at another one.
func TestCallsOverNodes(t *testing.T) {
	racetest.Skip(t)
	n1 := startMember(t, "n1")
	n2 := startMember(t, "n2", "--join", n1.gossip)
	listen := program(t, "listen", "--as", "Rubber", "--action", "explain=Listens.", "--answer", `{"said":"quack"}`, "--addr", n2.tcp)
	if err := listen.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listen.Process.Kill(); _ = listen.Wait() }()
	n1.lists("agents", "Rubber n2")
	for range 10 {
		if r := runs(t, "call", "Rubber", "explain", "-q", "--deadline", "30s", "--addr", n1.tcp); r.code != 0 || !strings.Contains(r.stdout, "quack") {
			t.Errorf("got %+v", r)
		}
	}
}

func TestClusterUsage(t *testing.T) {
	racetest.Skip(t)
	t.Chdir(t.TempDir())
	writeFile(t, "short", "c2hvcnQ=\n")
	writeFile(t, "none", "# nothing\n")
	for want, args := range map[string]string{
		"are about a cluster; add --gossip":                                      "--join 127.0.0.1:7946",
		"--gossip needs --grpc":                                                  "--gossip 127.0.0.1:0",
		"want a host and a port":                                                 "--gossip 127.0.0.1 --grpc 127.0.0.1:0",
		"say with --advertise":                                                   "--gossip 0.0.0.0:0 --grpc 127.0.0.1:0",
		"add --gossip-key, or use 127.0.0.1 or [::1]":                            "--gossip 192.0.2.1:0 --grpc 127.0.0.1:0",
		"add --tls-cert, --tls-key and --client-ca":                              "--gossip 192.0.2.1:0 --grpc 127.0.0.1:0 --gossip-key short",
		"--join nowhere: want a host":                                            "--gossip 127.0.0.1:0 --grpc 127.0.0.1:0 --join nowhere",
		"--label zone: want a name and a value":                                  "--gossip 127.0.0.1:0 --grpc 127.0.0.1:0 --label zone",
		"this label is set by --http":                                            "--gossip 127.0.0.1:0 --grpc 127.0.0.1:0 --label http=x",
		"a line is no key of 16, 24 or 32 bytes":                                 "--gossip 127.0.0.1:0 --grpc 127.0.0.1:0 --gossip-key short",
		"has no key in it":                                                       "--gossip 127.0.0.1:0 --grpc 127.0.0.1:0 --gossip-key none",
		"--gossip-key missing: no such file":                                     "--gossip 127.0.0.1:0 --grpc 127.0.0.1:0 --gossip-key missing",
		"--join [::1]: want a host and a port, with an IPv6 address in brackets": "--gossip [::1]:0 --grpc [::1]:0 --join [::1]",
		"--gossip ::1:7946: want a host and a port, with an IPv6 address":        "--gossip ::1:7946 --grpc [::1]:0",
		"--grpc [::g]:0: the host is no IP address, and no name either":          "--gossip [::1]:0 --grpc [::g]:0",
		"--join [[::1]]:1: want a host and a port":                               "--gossip [::1]:0 --grpc [::1]:0 --join [[::1]]:1",
		"--join [::1]:0: want the address of another node":                       "--gossip [::1]:0 --grpc [::1]:0 --join [::1]:0",
		"--join :7946: want the address of another node":                         "--gossip [::1]:0 --grpc [::1]:0 --join :7946",
		"--join [fe80::1%lo]:1: want the address of another node":                "--gossip [::1]:0 --grpc [::1]:0 --join [fe80::1%lo]:1",
		"--advertise [::1]:7946: want the host alone":                            "--gossip [::]:0 --grpc [::1]:0 --advertise [::1]:7946",
		"--advertise [::1: want the host alone":                                  "--gossip [::]:0 --grpc [::1]:0 --advertise [::1",
		"--advertise ::: want the host alone":                                    "--gossip [::1]:0 --grpc [::1]:0 --advertise [::]",
		"members cannot use an address of IPv6 with a zone":                      "--gossip [::1%lo]:0 --grpc [::1]:0",
		"--gossip [::]:0 is all addresses of this machine":                       "--gossip [::]:0 --grpc [::1]:0",
	} {
		r := runs(t, strings.Fields("node --tcp 127.0.0.1:0 --no-auth "+args)...)
		if r.code != exitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: got %+v, want %q", args, r, want)
		}
	}
}

// Three nodes as processes on the loopback address of IPv6, with the times for a WAN. One
// advertises the address in brackets.
func TestClusterProcessesOverIPv6(t *testing.T) {
	racetest.Skip(t)
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("this machine has no loopback address of IPv6: %v", err)
	}
	_ = l.Close()
	over := []string{"--tcp", "[::1]:0", "--grpc", "[::1]:0", "--gossip", "[::1]:0", "--profile", "wan"}
	n1 := startMember(t, "n1", over...)
	n2 := startMember(t, "n2", append(over, "--join", n1.gossip, "--swarm", "eddyjules")...)
	n3 := startMember(t, "n3", append(over, "--advertise", "[::1]", "--join", n1.gossip)...)
	for _, n := range []*nodeProcess{n1, n2, n3} {
		if !strings.HasPrefix(n.gossip, "[::1]:") || !strings.HasPrefix(n.tcp, "tcp://[::1]:") {
			t.Errorf("%s is at %s and %s", n.name, n.gossip, n.tcp)
		}
		n.lists("agents", "Eddy n2", "Eliza n2", "Jules n2")
	}
	if out, err := program(t, "call", "Jules", "debug_code", "-q", "-d", "@testdata/task.json", "--addr", n3.tcp).Output(); err != nil || !strings.HasPrefix(string(out), "success: ") {
		t.Errorf("%v: %s", err, out)
	}
	if err := n2.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	n3.logs("a node is lost", `"peer":"n2"`, "left")
	n3.lists("agents")
}

// The address of a member may be taken, and so may its name.
func TestClusterThatCannotBegin(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	r := runs(t, "node", "--grpc", "127.0.0.1:0", "--gossip", l.Addr().String(), "--no-auth")
	if r.code != exitFailed || !strings.Contains(r.stderr, "address already in use") {
		t.Errorf("got %+v", r)
	}
	first := startMember(t, "twin")
	r = runs(t, "node", "--name", "twin", "--grpc", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--join", first.gossip, "--no-auth")
	if r.code != exitFailed || !strings.Contains(r.stderr, "another node of the cluster has that name") {
		t.Errorf("got %+v", r)
	}
}
