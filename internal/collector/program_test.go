package collector

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/internal/screen"
)

// program is the path of the executable of cmd/ribosome.
type program string

// build compiles cmd/ribosome in its own module, with the versions of its own go.mod and with the
// flags.
func build(t *testing.T, flags ...string) program {
	t.Helper()
	to := filepath.Join(t.TempDir(), "ribosome")
	args := append([]string{"build", "-buildvcs=false", "-o", to}, flags...)
	if racetest.Enabled {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, "./cmd/ribosome")...)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program(to)
}

// buildFaulty is build with the swarm of testdata/faulty.go.
func buildFaulty(t *testing.T) program {
	t.Helper()
	source, err := filepath.Abs("testdata/faulty.go")
	if err != nil {
		t.Fatal(err)
	}
	added, err := filepath.Abs("../../cmd/ribosome/faulty.go") // there is no such file
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {added: source}})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return build(t, "-overlay", overlay)
}

// command returns a run of the program, with the environment of the test without the variables of
// the program and of OpenTelemetry, and with env.
func (p program) command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, string(p), args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "RIBOSOME_") || strings.HasPrefix(v, "OTEL_") })
	cmd.Env = append(append(cmd.Env, "GORACE=atexit_sleep_ms=0"), env...)
	return cmd
}

// script has the parameters of a task that Eddy and Jules perform.
const script = "@../../cmd/ribosome/testdata/task.json"

// ana runs the program with a connection to the node for the agent Ana, and returns its exit code
// and what it has printed.
func (n *node) ana(args ...string) (code int, out string) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience.Time)
	defer cancel()
	cmd := n.program.command(ctx, nil, append(args, "--as", "Ana", "--addr", n.at)...)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		n.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// debug has an agent debug the script. The agent must succeed.
func (n *node) debug(agent string) {
	n.t.Helper()
	if code, out := n.ana("call", agent, "debug_code", "-d", script, "-q"); code != 0 || !strings.HasPrefix(out, "success: ") {
		n.t.Fatalf("call ends with %d: %s; the node says\n%s", code, out, n.stderr.String())
	}
}

// node is a process of ribosome node.
type node struct {
	t              *testing.T
	program        program
	cmd            *exec.Cmd
	at             string // its TCP address
	stdout, stderr screen.Screen
	ended          chan struct{}
}

// start starts a node with the swarm of Eddy and Jules.
func (p program) start(t *testing.T, env []string, args ...string) *node {
	t.Helper()
	return p.host(t, "eddyjules", env, args...)
}

// host starts a node with a swarm. It is killed at the end of the test if it runs then.
func (p program) host(t *testing.T, swarm string, env []string, args ...string) *node {
	t.Helper()
	args = append([]string{"node", "--swarm", swarm, "--tcp", "127.0.0.1:0", "--no-auth", "--log-format", "json"}, args...)
	n := &node{t: t, program: p, cmd: p.command(context.Background(), env, args...), ended: make(chan struct{})}
	n.cmd.Stdout, n.cmd.Stderr = &n.stdout, &n.stderr
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(n.ended)
		_ = n.cmd.Wait() // ProcessState has the exit code
	}()
	t.Cleanup(func() {
		_ = n.cmd.Process.Kill() // it may have ended
		<-n.ended
	})
	n.at = n.line(&n.stdout, "listening on ")
	return n
}

// line waits for a line that begins with a text, and returns the rest of it.
func (n *node) line(s *screen.Screen, begin string) string {
	n.t.Helper()
	all := n.shows(s, begin, "\n")
	_, rest, _ := strings.Cut(all, begin)
	rest, _, _ = strings.Cut(rest, "\n")
	return rest
}

// shows waits until the node has printed a text, and behind it another one. It returns all that the
// node has printed.
func (n *node) shows(s *screen.Screen, text, behind string) string {
	n.t.Helper()
	late := time.After(patience.Time)
	for ended := n.ended; ; {
		changed, all := s.Next()
		if _, rest, ok := strings.Cut(all, text); ok && strings.Contains(rest, behind) {
			return all
		}
		if ended == nil {
			n.t.Fatalf("the node has ended without %q: %s%s", text, n.stdout.String(), n.stderr.String())
		}
		select {
		case <-changed:
		case <-ended:
			ended = nil // all of its output is there
		case <-late:
			n.t.Fatalf("the node does not print %q: %s%s", text, n.stdout.String(), n.stderr.String())
		}
	}
}

// end sends SIGTERM to the node, and returns what it has printed on stderr. The node must end in
// order.
func (n *node) end() string {
	n.t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		n.t.Fatal(err)
	}
	select {
	case <-n.ended:
	case <-time.After(patience.Time):
		n.t.Fatalf("the node does not end: %s", n.stderr.String())
	}
	if code := n.cmd.ProcessState.ExitCode(); code != 0 {
		n.t.Errorf("the node ends with %d: %s", code, n.stderr.String())
	}
	return n.stderr.String()
}
