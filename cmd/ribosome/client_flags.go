package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// listFlags are the flags of commands that print a list.
type listFlags struct {
	JSON     bool          `name:"json" help:"Print one JSON array"`
	Deadline time.Duration `default:"10s" type:"positive" help:"How long the node may take"`
}

// print prints a list, of which the rows are the table for people.
func (f *listFlags) print(std streams, all any, rows [][]string) error {
	out := newPrinter(std.out)
	if f.JSON {
		out.json(all)
	} else {
		out.text(table(rows))
	}
	return out.end()
}

// clientFlags has the address of the node and the credentials of the client.
type clientFlags struct {
	Addr    string `placeholder:"URL" help:"Address of the node: ws://, wss://, tcp://, tcps://, grpc:// or grpcs://, or the http:// or https:// that it serves by --http; with host and port"`
	As      string `placeholder:"NAME" help:"Name to speak under; without it, the subject of a token that is a JWT, or a random name"`
	Verbose bool   `short:"v" help:"Print on stderr the name that is used, and where it is from"`

	credentialFlags
	clientSealFlags

	MaxFrame size `default:"16MiB" help:"Longest frame"`

	OAuth oauthFlags `embed:""`
}

// credentialFlags has the credentials of a client, and what it expects of the node's.
type credentialFlags struct {
	Token     string `placeholder:"TOKEN" help:"Bearer token; better in the environment or a file, since others can see the flags of a process"`
	TokenFile string `placeholder:"FILE" help:"File with the bearer token"`
	CA        string `name:"ca" placeholder:"FILE" help:"Authorities in PEM that the certificate of the node is checked against; without it, those of the system"`
	Cert      string `placeholder:"FILE" help:"Client certificate in PEM"`
	Key       string `placeholder:"FILE" help:"Private key of the client certificate in PEM"`
}

// bearer returns the source of the token; nil for none. A file is read again when it changes;
// failed, which may be nil, is called when it cannot be read, and the token before stays in use.
func (f *credentialFlags) bearer(failed func(error)) (func() string, error) {
	switch {
	case f.Token != "" && f.TokenFile != "":
		return nil, usagef("there is a token from --token or %s, and --token-file names another; leave one", variable("token"))
	case f.Token != "":
		token := strings.TrimPrefix(f.Token, "Bearer ")
		return func() string { return token }, checkToken("--token", token)
	case f.TokenFile == "":
		return nil, nil //nolint:nilnil // without one
	}
	text, err := readFile("--token-file", f.TokenFile, maxSecret)
	if err != nil {
		return nil, err
	}
	if err := checkToken("--token-file "+f.TokenFile, strings.TrimSpace(string(text))); err != nil {
		return nil, err
	}
	source, err := auth.FileToken(f.TokenFile)
	if err != nil {
		return nil, usagef("--token-file %s: %s; write the token into it", f.TokenFile, reason(err))
	}
	return auth.Func(context.Background(), source, failed), nil
}

// checkToken returns an error for text that cannot be sent as a token. The error does not
// contain the text.
func checkToken(from, token string) error {
	switch {
	case token == "":
		return usagef("%s is empty; write the token into it", from)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return usagef("%s is no token: there are spaces or special characters in it; give the bare token", from)
	}
	return nil
}

// speaker returns the sender of the messages: the name of --as, or a random one.
func (f *clientFlags) speaker() (performatives.AgentID, error) {
	if f.As == "" {
		return performatives.AgentID("cli-" + strings.ToLower(rand.Text()[:8])), nil
	}
	switch {
	case !canSpeak(f.As):
		return "", usagef("--as %.40q is no name for an agent; want one without spaces around it, of at most %d bytes", f.As, performatives.MaxIDLength)
	case isNamespace(f.As):
		return "", usagef("--as %s stands for all agents of a node; choose another name", f.As)
	}
	return performatives.AgentID(f.As), nil
}

// listOf joins words with commas and a final or.
func listOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return fmt.Sprintf("%s or %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
}
