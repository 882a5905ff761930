package main

import (
	"strings"

	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/dialect/rag"
	"github.com/ribosome-agents/ribosome/wire/dialect/rossnet"
)

// dialects has all dialects of JSON. A first frame of none of them is refused in the form of wire.
func dialects(o gateway.Options) ([]wire.Dialect, error) {
	envelopes, err := gateway.New(o)
	if err != nil {
		return nil, err
	}
	return []wire.Dialect{
		envelopes,
		bridge.Dialect{Node: o.Name},
		acl.Dialect{},
		rag.Dialect{},
		rossnet.Dialect{},
	}, nil
}

// dialectNamed returns the dialect that a flag names.
func dialectNamed(flag, name string) (wire.Dialect, error) {
	all, err := dialects(gateway.Options{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range all {
		if d.Name() == name {
			return d, nil
		}
		names = append(names, d.Name())
	}
	return nil, usagef("%s %s: there is no such dialect; want one of %s", flag, shown(name), strings.Join(names, ", "))
}
