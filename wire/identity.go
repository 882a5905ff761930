package wire

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Credentials is the evidence of identity that a peer presents.
type Credentials struct {
	// Token is a bearer token without the word Bearer. It must not be logged.
	Token string
	// Certificates is the verified chain of a client certificate, leaf first.
	Certificates []*x509.Certificate
	Peer         Peer
}

// Format writes a description without the token, for every verb.
func (c Credentials) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "credentials of %s: token %t, %d certificates", c.Peer.Addr, c.Token != "", len(c.Certificates))
}

// LogValue returns the description that Format writes.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// Identity is the result of an authentication.
type Identity struct {
	// Name is the agent id that the peer may send as, including all ids below it: crm covers
	// crm/invoices. When Name and Agents are empty, the peer may send as any agent.
	Name performatives.AgentID
	// Agents are further agent ids that the peer may send as. The entry * stands for all.
	Agents []performatives.AgentID
	// Method is the name of the authentication method, such as jwt. It appears in logs.
	Method string
	// Scopes is additional data for an [Authorizer], such as the scopes of a token.
	Scopes []string
	// Expires is when the identity stops being valid. Zero means never.
	Expires time.Time
}

// Authenticator verifies credentials. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns the identity that the credentials prove. It returns
	// [ErrNoCredentials] when c holds no credentials of a type that this authenticator
	// checks. Otherwise an error holds a [*performatives.Refusal]: CodeUnauthorized for
	// rejected credentials, CodeInternal for a failure of this end. The peer receives only
	// the code and text of the refusal. The complete error is logged, so it must not contain
	// credentials.
	Authenticate(ctx context.Context, c Credentials) (Identity, error)
}

// Authorizer decides whether a peer may send a message to its receiver with its act. An error
// refuses the message as forbidden; its text is logged and not sent to the peer. An
// Authorizer must not block and must be safe for concurrent use.
type Authorizer func(who Identity, m *performatives.Message) error
