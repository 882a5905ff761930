package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// program is the program as a process of its own.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	p := exec.CommandContext(t.Context(), os.Args[0], args...)
	p.Env = append(os.Environ(), asProgram+"=1")
	return p
}

// A node and a call as processes: the node stops in order when it is told to.
func TestProcesses(t *testing.T) {
	node := program(t, "node", "--swarm", "eddyjules", "--tcp", "127.0.0.1:0", "--no-auth")
	var log bytes.Buffer
	node.Stderr = &log
	stdout, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("%v: it says %q; log: %s", err, line, &log)
	}

	call := program(t, "call", "Jules", "debug_code", "-d", "@testdata/task.json")
	call.Env = append(call.Env, "RIBOSOME_ADDR="+url)
	if out, err := call.Output(); err != nil || !strings.HasPrefix(string(out), "success: ") {
		t.Errorf("%v: %s", err, out)
	}

	if err := node.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := node.Wait(); err != nil || !strings.Contains(log.String(), `"msg":"agent stopped","node":"node","agent":"Jules"`) {
		t.Errorf("%v; log: %s", err, &log)
	}
}

// A second signal ends a node that takes its time. It is not SIGINT, which a shell has its
// background jobs ignore.
func TestSecondSignal(t *testing.T) {
	node := program(t, "node", "--tcp", "127.0.0.1:0", "--no-auth", "--stop-timeout", "1h")
	stdout, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := node.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	stuck(t, strings.TrimSpace(strings.TrimPrefix(line, "listening on ")))
	if err := node.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for log := bufio.NewScanner(stderr); log.Scan() && !strings.Contains(log.Text(), `"stopping"`); {
	}
	if err := node.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = node.Wait()
	status, ok := node.ProcessState.Sys().(syscall.WaitStatus)
	if err == nil || !ok || !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", node.ProcessState)
	}
}
