package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// readFile reads a file of at most limit bytes. The error names the flag and has an advice;
// it hides a name that looks like a secret.
func readFile(flag, name string, limit int) ([]byte, error) {
	f, err := os.Open(name)
	if err == nil {
		defer f.Close()
		var text []byte
		if text, err = readAll(f, limit); err == nil && flag != "--config" { // YAML may begin with a mark
			err = auth.CheckMark(text)
		}
		if err == nil {
			return text, nil
		}
	}
	var at *fs.PathError
	if errors.As(err, &at) { // without the operation, which does not help
		return nil, usagef("%s %s: %v; name a file that can be read", flag, shown(name), at.Err)
	}
	return nil, usagef("%s %s: %v", flag, shown(name), err)
}

// parseFile reads the file of a flag, which may be secret. The advice names the wanted content.
func parseFile[T any](flag, name string, parse func(text []byte) (T, error), advice string) (v T, err error) {
	text, err := readFile(flag, name, maxSecret)
	if err != nil {
		return v, err
	}
	if v, err = parse(text); err != nil {
		return v, usagef("%s %s: %s; %s", flag, shown(name), reason(err), advice)
	}
	return v, nil
}

func readAll(r io.Reader, limit int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = fmt.Errorf("it is longer than %d bytes", limit)
	}
	return text, err
}

// readJSON reads the JSON value of a flag: the value itself, a file (@FILE), or stdin (@-).
func readJSON(flag, value string, stdin io.Reader, limit int) (json.RawMessage, error) {
	var (
		text = []byte(value)
		at   = flag
		err  error
	)
	switch name, file := strings.CutPrefix(value, "@"); {
	case file && name == "-":
		at = "stdin"
		if text, err = readAll(stdin, limit); err != nil {
			return nil, usagef("%s @-: %v", flag, err)
		}
	case file:
		at = name
		if text, err = readFile(flag, name, limit); err != nil {
			return nil, err
		}
	}
	if err := checkJSON(text); err != nil {
		return nil, usagef("%s is not JSON: %v; give JSON as it is, or @FILE, or @- for stdin", at, err)
	}
	return text, nil
}

// readObject is [readJSON] for a value that must be an object, of at most the size of a
// frame.
func readObject(flag, value string, stdin io.Reader) (performatives.Content, error) {
	text, err := readJSON(flag, value, stdin, wire.DefaultMaxFrame)
	if err != nil {
		return performatives.Content{}, err
	}
	if bytes.TrimSpace(text)[0] != '{' {
		return performatives.Content{}, usagef(`%s is not a JSON object; give one, such as {"name":"value"}`, flag)
	}
	return performatives.RawContent(text), nil
}

// checkJSON returns an error with the position of a syntax error. It never quotes the text.
func checkJSON(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("it is no UTF-8")
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return errors.New("it is empty")
	}
	var any json.RawMessage
	var syntax *json.SyntaxError
	switch err := json.Unmarshal(text, &any); {
	case err == nil:
		return nil
	case !errors.As(err, &syntax):
		return err
	}
	line, column := position(text, int(syntax.Offset))
	return fmt.Errorf("line %d, column %d: %s", line, column, syntax.Error())
}

// position returns the line and the column of the byte before offset, both from 1, the
// column in characters.
func position(text []byte, offset int) (line, column int) {
	before := text[:max(0, min(offset-1, len(text)))]
	line = bytes.Count(before, []byte("\n")) + 1
	column = utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return line, column
}
