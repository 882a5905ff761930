package main

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
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
	cmd := exec.CommandContext(ctx, program, "-B", filepath.Join(dir, "python", "agent.py"), h.tcpURL())
	cmd.Env = append(cmd.Environ(), "PYTHONPATH="+dir)
	return cmd, nil
}

// node returns the command that starts the agent in JavaScript.
func node(ctx context.Context, dir string, h *host) (*exec.Cmd, error) {
	program, err := exec.LookPath("node")
	if err != nil {
		return nil, errors.New("node is not installed; use --spawn python")
	}
	return exec.CommandContext(ctx, program, filepath.Join(dir, "js", "agent.mjs"), h.wsURL()), nil
}
