//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// stopsInOrder sends SIGTERM to a program, and waits for its end with the exit code 0.
func stopsInOrder(t *testing.T, p *exec.Cmd, ended <-chan error) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	endsInOrder(t, p, ended)
}

// endsInOrder waits for the end of a program with the exit code 0.
func endsInOrder(t *testing.T, p *exec.Cmd, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%q: %v", p.Args[1:], err)
		}
	case <-time.After(patience.Time):
		t.Fatalf("%q does not end", p.Args[1:])
	}
}

// startsProgram starts a program, which is killed with the test, and reports its end.
func startsProgram(t *testing.T, p *exec.Cmd) (ended chan error) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	ended = make(chan error, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended <- p.Wait()
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-done
	})
	return ended
}

// A node that is told to stop while it reads its configuration or its tokens, which a pipe with a
// name delays, does so in order.
func TestStopWhileReadingFiles(t *testing.T) {
	racetest.Skip(t)
	t.Chdir(t.TempDir())
	for flag, content := range map[string]string{"--config": "no-auth: true\n", "--tokens": "Ana " + anasToken + "\n"} {
		name := strings.TrimPrefix(flag, "--")
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
		p := program(t, "node", "--swarm", "eddyjules", "--tcp", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--gossip", "127.0.0.1:0", flag, name)
		p.Stderr = t.Output()
		ended := startsProgram(t, p)
		opened := make(chan *os.File, 1)
		go func() {
			f, _ := os.OpenFile(name, os.O_WRONLY, 0) // waits until the node has opened it
			opened <- f
		}()
		select {
		case f := <-opened:
			if err := p.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(f, content)
			_ = f.Close()
			endsInOrder(t, p, ended)
		case err := <-ended:
			t.Errorf("it ended with %v, and has not read %s", err, name)
			if f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil { // for the other end
				_ = (<-opened).Close()
				_ = f.Close()
			}
		}
	}
}

// A node that is told to stop after any line that it logs or prints while it starts does so in
// order.
func TestStopAtEachLineOfTheStart(t *testing.T) {
	racetest.Skip(t)
	for n := 1; ; n++ {
		p := program(t, "node", "--swarm", "eddyjules", "--tcp", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--gossip", "127.0.0.1:0",
			"--http", "127.0.0.1:0", "--no-auth", "--log-level", "debug")
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p.Stdout, p.Stderr = w, w
		ended := startsProgram(t, p)
		_ = w.Close()
		lines, last := bufio.NewScanner(r), ""
		for i := 0; i < n && !strings.HasPrefix(last, "gossiping on ") && lines.Scan(); i++ {
			last = lines.Text()
		}
		rest := make(chan struct{})
		go func() {
			defer close(rest)
			_, _ = io.Copy(io.Discard, r)
		}()
		stopsInOrder(t, p, ended)
		<-rest
		_ = r.Close()
		if strings.HasPrefix(last, "gossiping on ") {
			return // the last line of the start
		}
		if t.Failed() || n == 100 {
			t.Fatalf("after line %d, %q", n, last)
		}
	}
}

// The commands that stay until a signal end in order, too, while the node has not answered them.
func TestStopWithoutAnAnswer(t *testing.T) {
	racetest.Skip(t)
	for _, args := range [][]string{{"listen", "--as", "Rubber"}, {"subscribe", "Exchange", "quotes"}, {"tail"}, {"top"}} {
		for _, scheme := range []string{"http", "tcp"} {
			if scheme == "tcp" && args[0] != "listen" {
				continue // tail and top are an operator's, and the end of a subscription that was asked for needs an answer
			}
			t.Run(fmt.Sprint(args[0], " ", scheme), func(t *testing.T) {
				t.Parallel() // each waits for two seconds
				mute, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = mute.Close() }()
				p := program(t, append(args, "--addr", scheme+"://"+mute.Addr().String())...)
				p.Stderr = t.Output()
				ended := startsProgram(t, p)
				c, err := mute.Accept()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = c.Close() }()
				stopsInOrder(t, p, ended)
			})
		}
	}
}

// A signal before the command has asked anything leads to an orderly end.
func TestStopBeforeTheFirstConnection(t *testing.T) {
	racetest.Skip(t)
	t.Chdir(t.TempDir())
	n := startMember(t, "n1", "--http", "127.0.0.1:0", "--swarm", "eddyjules")
	if err := syscall.Mkfifo("config", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{n.tcp, n.http} {
		p := program(t, "listen", "--as", "Rubber", "--addr", url, "--config", "config")
		p.Stderr = t.Output()
		ended := startsProgram(t, p)
		f, err := os.OpenFile("config", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		endsInOrder(t, p, ended)
	}
}

// A command ends when nobody reads its output any more: after a line as with head -1, and without
// one. To /dev/null, which is no terminal, top prints one list.
func TestEndsWithTheReader(t *testing.T) {
	racetest.Skip(t)
	n := startMember(t, "n1", "--http", "127.0.0.1:0")
	for _, args := range [][]string{{"listen", "--as", "Mute", "--addr", n.tcp}, {"tail", "--addr", n.http}, {"top", "--addr", n.http}} {
		p := program(t, args...)
		p.Stderr = t.Output()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if args[0] != "top" { // else its output is /dev/null
			p.Stdout = w
		}
		ended := startsProgram(t, p)
		_, _ = w.Close(), r.Close()
		endsInOrder(t, p, ended)
	}

	p := program(t, "listen", "--as", "Rubber", "--action", "explain=Listens.", "--answer", "{}", "--addr", n.tcp)
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stderr); lines.Scan() && !strings.HasPrefix(lines.Text(), "connected to "); {
	}
	if r := runs(t, "call", "Rubber", "explain", "-q", "--addr", n.tcp); r.code != exitDone {
		t.Errorf("got %+v", r)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || !strings.Contains(line, "explain") {
		t.Errorf("%v: %q", err, line)
	}
	_ = stdout.Close()
	if err := p.Wait(); err != nil {
		t.Errorf("listen: %v", err)
	}
}
