package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/ribosome-agents/ribosome/wire/sealed"
)

// keysCmd is ribosome keys.
type keysCmd struct {
	File string `arg:"" help:"File with the private keys: a JSON Web Key Set"`

	New  bool `help:"Make keys, and write them to the file, which must not exist"`
	JSON bool `name:"json" help:"Print one JSON object: the id, and the public keys as a JSON Web Key Set"`
}

// run prints the id of the keys, by which other agents trust them: see --trust.
func (c *keysCmd) run(_ context.Context, std streams) error {
	if c.New {
		if err := newKeys(c.File); err != nil {
			return err
		}
	}
	keys, err := readKeys("the file", c.File)
	if err != nil {
		return err
	}
	out := newPrinter(std.out)
	if !c.JSON {
		out.line(keys.ID())
		return out.end()
	}
	public, err := keys.Public()
	if err != nil {
		return failf("%v", err)
	}
	out.json(struct {
		ID     string          `json:"id"`
		Public json.RawMessage `json:"public"`
	}{keys.ID(), public})
	return out.end()
}

// newKeys writes new keys to a file that only its owner may read.
func newKeys(name string) error {
	keys, err := sealed.GenerateKeys()
	if err != nil {
		return failf("%v", err)
	}
	text, err := keys.Secret()
	if err != nil {
		return failf("%v", err)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s exists; leave out --new to see its keys, or name another file", shown(name))
	}
	if err != nil {
		return notWritable("the file", name, err)
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return notWritable("the file", name, err)
	}
	return nil
}

// readKeys reads the keys in the file that a flag names.
func readKeys(flag, name string) (sealed.Keys, error) {
	return parseFile(flag, name, sealed.ParseKeys, "make keys by ribosome keys --new")
}
