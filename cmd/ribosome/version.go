package main

import (
	"context"
	"fmt"
	goruntime "runtime"
	"runtime/debug"
)

// versionCmd is ribosome version.
type versionCmd struct{}

func (*versionCmd) run(_ context.Context, std streams) error {
	p := newPrinter(std.out)
	info, _ := debug.ReadBuildInfo()
	p.line(versionOf(info))
	return p.end()
}

// versionOf returns the version, the commit, the Go release and the platform.
func versionOf(info *debug.BuildInfo) string {
	version, commit := "(devel)", ""
	if info != nil {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = fmt.Sprintf(" commit %.12s", s.Value) + commit
			case s.Key == "vcs.modified" && s.Value == "true":
				commit += " with changes"
			}
		}
	}
	return fmt.Sprintf("ribosome %s%s %s %s/%s", version, commit, goruntime.Version(), goruntime.GOOS, goruntime.GOARCH)
}
