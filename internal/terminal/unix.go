//go:build unix

package terminal

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// isTerminal reports whether a file has the size of a window, which only terminals have.
func isTerminal(f *os.File) (is bool) {
	c, err := f.SyscallConn()
	if err != nil {
		return false
	}
	_ = c.Control(func(fd uintptr) { // after an error it is none
		_, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ)
		is = err == nil
	})
	return is
}

// unread waits until the other end of a pipe or a socket is closed, or ctx ends. It reports whether
// the other end is closed.
func unread(ctx context.Context, f *os.File) (closed bool) {
	c, err := f.SyscallConn()
	if err != nil {
		return false
	}
	r, w, err := os.Pipe() // its end wakes poll
	if err != nil {
		return false
	}
	defer func() { _ = r.Close() }()
	ended := make(chan struct{})
	context.AfterFunc(ctx, func() {
		_ = w.Close()
		close(ended)
	})
	wake, err := r.SyscallConn()
	if err != nil {
		<-ended
		return false
	}
	_ = wake.Control(func(end uintptr) { // after an error it is not known
		_ = c.Control(func(fd uintptr) {
			all := []unix.PollFd{{Fd: int32(fd)}, {Fd: int32(end)}} //nolint:gosec // descriptors are small
			err := unix.EINTR
			for errors.Is(err, unix.EINTR) {
				_, e := unix.Poll(all, -1)
				if e == nil {
					break
				}
				err, _ = e.(unix.Errno) //nolint:errorlint // of a system call
			}
			closed = all[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
		})
	})
	if !closed {
		<-ended
	}
	return closed
}
