package main

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
)

// commands holds the command that starts each agent, by its value of --spawn.
var commands = []struct {
	spawn   string
	command func(ctx context.Context, dir string, h *host) (*exec.Cmd, error)
}{{"python", python}, {"js", node}}

// python returns the command that starts the agent in Python.
func python(ctx context.Context, dir string, h *host) (*exec.Cmd, error) {
	program, err := exec.LookPath("python3")
	if err != nil {
		return nil, errors.New("python3 is not installed; use --spawn js")
	}
	host, port, err := net.SplitHostPort(h.tcp.Addr().String())
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, program, "-B", filepath.Join(dir, "python", "agent.py"), "--host", host, "--port", port), nil
}

// node returns the command that starts the agent in JavaScript.
func node(ctx context.Context, dir string, h *host) (*exec.Cmd, error) {
	command, err := nodeCommand()
	if err != nil {
		return nil, err
	}
	args := append(slices.Clone(command[1:]), filepath.Join(dir, "js", "agent.mjs"), h.wsURL())
	return exec.CommandContext(ctx, command[0], args...), nil
}

// nodeCommand returns the command that runs Node.js with WebSocket.
var nodeCommand = sync.OnceValues(func() ([]string, error) {
	program, err := exec.LookPath("node")
	if err != nil {
		return nil, errors.New("node is not installed; use --spawn python")
	}
	for _, command := range [][]string{{program}, {program, "--experimental-websocket"}} {
		args := append(slices.Clone(command[1:]), "-e", "process.exit(globalThis.WebSocket ? 0 : 1)")
		if exec.CommandContext(context.Background(), program, args...).Run() == nil {
			return command, nil
		}
	}
	return nil, errors.New("this node has no WebSocket, version 22 has; use --spawn python")
})
