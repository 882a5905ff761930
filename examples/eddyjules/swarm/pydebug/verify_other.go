//go:build !unix

package pydebug

import "os/exec"

// killGroup has no process groups to work with here: only the interpreter
// itself is ended.
func killGroup(*exec.Cmd) {}

func endGroup(*exec.Cmd) {}
