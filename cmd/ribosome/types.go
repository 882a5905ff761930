package main

import (
	"errors"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/tool"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/rag"
	"github.com/ribosome-agents/ribosome/wire/dialect/rossnet"
)

// messageTypes returns the message types of --type.
func (c *nodeCmd) messageTypes() (*performatives.Registry, error) {
	types := new(performatives.Registry)
	for _, t := range c.Types {
		if err := register(types, t); err != nil {
			return nil, err
		}
	}
	return types, nil
}

// register registers the message type of one --type.
func register(types *performatives.Registry, text string) error {
	name, rest, _ := strings.Cut(text, "=")
	act, file, ok := strings.Cut(rest, ":")
	if !ok || name == "" || file == "" {
		return usagef("--type wants a name, an act and a file, such as CUSTOM_ANALYSIS=TASK_REQUEST:analysis.json")
	}
	p, err := performatives.ParsePerformative(act)
	switch {
	case performatives.CheckMessageType(name) != nil:
		return usagef("--type %s is no message type; want 1 to 64 letters, digits and _ - . : /", shown(name))
	case err != nil:
		return usagef("--type %s: %s is no act; want one such as TASK_REQUEST, REQUEST or INFORM", name, shown(act))
	case rag.Reserves(name) || rossnet.Reserves(name):
		return usagef("--type %s: a dialect has this type itself; choose another name", name)
	}
	schema, err := readFile("--type "+name, file, tool.MaxSchema)
	if err != nil {
		return err
	}
	if err := checkJSON(schema); err != nil {
		return usagef("--type %s: %s is not JSON: %v; want a JSON Schema", name, shown(file), err)
	}
	switch err := tool.RegisterMessageType(types, name, p, schema); {
	case errors.Is(err, performatives.ErrRegistered):
		return usagef("--type %s is given twice; leave one", name)
	case err != nil:
		return usagef("--type %s: %s is no JSON Schema of a payload: %s; see https://json-schema.org", name, shown(file), reasonOf(err))
	}
	return nil
}

// reasonOf returns the error of a schema as one line, without the name of the message type.
func reasonOf(err error) string {
	_, text, _ := strings.Cut(err.Error(), ": ") // the package
	_, text, _ = strings.Cut(text, ": ")         // the message type
	return strings.Join(strings.Fields(text), " ")
}
