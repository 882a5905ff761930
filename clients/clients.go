// Package clients has the files of the client packages for other languages, so that a program can
// start agents that use them: ribosome-client for Python in python, and for TypeScript and
// JavaScript in typescript. Each is published on its own, and its README says how to use it.
package clients

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed python/src/ribosome_client/*.py typescript/dist/*.js typescript/package.json
var files embed.FS

// Python returns the files of the Python package: the folder ribosome_client.
func Python() fs.FS { return below("python/src") }

// TypeScript returns the files of the npm package as far as programs need them: package.json and
// the folder dist.
func TypeScript() fs.FS { return below("typescript") }

func below(dir string) fs.FS {
	sub, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // it is embedded above
	}
	return sub
}

// Install writes both packages below dir, which must have neither. Programs in dir find that for
// JavaScript, which is node_modules/ribosome-client, and programs in Python find the other with
// PYTHONPATH=dir.
func Install(dir string) error {
	if err := os.CopyFS(dir, Python()); err != nil {
		return fmt.Errorf("clients: the Python package: %w", err)
	}
	if err := os.CopyFS(filepath.Join(dir, "node_modules", "ribosome-client"), TypeScript()); err != nil {
		return fmt.Errorf("clients: the npm package: %w", err)
	}
	return nil
}
