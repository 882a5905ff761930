package wire

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Credentials are what a peer shows to prove who it is.
type Credentials struct {
	// Token is a bearer token without the word Bearer. It must never be logged.
	Token string
	// Certificates is the verified chain of a client certificate, leaf first.
	Certificates []*x509.Certificate
	Peer         Peer
}

// Format writes who shows what, and nothing of the token, whatever the verb.
func (c Credentials) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "credentials of %s: token %t, %d certificates", c.Peer.Addr, c.Token != "", len(c.Certificates))
}

// LogValue returns what Format writes.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// Identity is who a peer has proved to be.
type Identity struct {
	// Name is the agent that it may speak as, and all below it: crm also covers
	// crm/invoices. Empty means that it may speak as anyone whom no other does.
	Name performatives.AgentID
	// Agents are further agents that it may speak as. An entry * stands for all.
	Agents []performatives.AgentID
	// Method is how it was proved, such as jwt; for the log.
	Method string
	// Scopes are what an [Authorizer] may want to know, such as the scopes of a token.
	Scopes []string
	// Expires is when the proof ends. Zero means never.
	Expires time.Time
}

// Authenticator finds out who a peer is. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns who the credentials prove the peer to be. The error is a
	// [*performatives.Refusal] with CodeUnauthorized and a text that says no more than
	// the peer may know; CodeInternal when the fault is ours; it is ErrNoCredentials
	// when there is nothing that this authenticator looks at. An error that wraps the
	// refusal is logged, and must hold no credential; the peer gets the refusal alone.
	Authenticate(ctx context.Context, c Credentials) (Identity, error)
}

// Authorizer says whether a peer may send a message: to that agent or namespace, with
// that act. An error is told to the peer as forbidden, and its text is not. It must not
// block, and is called from many goroutines.
type Authorizer func(who Identity, m *performatives.Message) error
