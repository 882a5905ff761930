//go:build !unix

package pydebug

import "os/exec"

// killGroup does nothing on systems without process groups: the end of the context
// kills only the interpreter.
func killGroup(*exec.Cmd) {}

func endGroup(*exec.Cmd) {}
