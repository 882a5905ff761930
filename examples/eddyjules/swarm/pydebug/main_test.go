package pydebug

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
)

// fakeFlag makes this test binary an interpreter that understands the lines of
// fakeLine instead of Python, so that Verify is tested without python3.
const fakeFlag = "--fake-interpreter"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == fakeFlag {
		runFake(os.Args[2:])
		return
	}
	leakcheck.Main(m)
}

func runFake(args []string) {
	source, err := os.ReadFile(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(70)
	}
	for line := range strings.Lines(string(source)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		fakeLine(word, rest, args)
	}
}

// fakeLine executes one line of a fake script.
func fakeLine(word, rest string, args []string) {
	switch word {
	case "print":
		fmt.Println(rest)
	case "raise":
		fmt.Fprintf(os.Stderr, "%s\n  File \"script.py\", line 1, in <module>\n    x\n%s\n", tracebackHeader, rest)
		os.Exit(1)
	case "exit":
		os.Exit(int(rest[0] - '0'))
	case "flood":
		for range 1 << 10 {
			fmt.Println(strings.Repeat("x", 1<<10))
		}
	case "env":
		fmt.Println(os.Environ())
	case "args":
		fmt.Println(args[1:])
	case "where":
		dir, _ := os.Getwd()
		fmt.Println(filepath.Base(filepath.Dir(args[0])) == filepath.Base(dir))
	case "stdin":
		n, err := os.Stdin.Read(make([]byte, 1))
		fmt.Println(n, err)
	case "hang":
		<-time.After(time.Minute)
	case "child":
		fakeChild(args)
	case "hold":
		holdConnection(args[1])
	}
}

// fakeChild starts a process that outlives its parent unless both are killed.
func fakeChild(args []string) {
	script := filepath.Join(filepath.Dir(args[0]), "child.py")
	if err := os.WriteFile(script, []byte("hold\n"), 0o600); err != nil {
		os.Exit(71)
	}
	cmd := exec.Command(os.Args[0], fakeFlag, script, args[1])
	cmd.Stdout = os.Stdout
	_ = cmd.Run()
}

// holdConnection keeps a connection open for as long as this process lives.
func holdConnection(address string) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		os.Exit(72)
	}
	_, _ = conn.Read(make([]byte, 1))
}
