package api

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// foreign refuses a request that is not from this site: of a page of another one, or without
// authentication from another machine or under a name that is not this machine's.
func (h *Handler) foreign(r *http.Request) *failure {
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, r.Host) {
			return forbidden("origin", "the Origin is that of another site; open the console of this node")
		}
	}
	switch {
	case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Method != http.MethodGet:
		return forbidden("origin", "the request is from a page of another site; open the console of this node")
	case h.options.Auth != nil:
		return nil
	case !isLoopback(hostOf(r.RemoteAddr)):
		return forbidden("not_local", "without authentication only this machine is served; give the node --tokens or another flag that says who may connect")
	case !isLoopback(hostOf(r.Host)) && !strings.EqualFold(hostOf(r.Host), "localhost"):
		return forbidden("host", "without authentication the Host has to be localhost or a loopback address, such as 127.0.0.1")
	}
	return nil
}

func forbidden(code, text string) *failure { return failed(http.StatusForbidden, code, text) }

// hostOf returns the host of an address, with or without a port.
func hostOf(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return strings.Trim(addr, "[]")
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// noRight is the right of every authenticated client.
const noRight auth.Right = ""

// SessionView is the answer of GET /api/session.
type SessionView struct {
	Node      string   `json:"node"`
	As        string   `json:"as,omitempty"` // the name that the client has authenticated as
	Listeners []string `json:"listeners"`    // the addresses where agents connect
}

// session says where the client can connect as an agent, and under which name.
func (h *Handler) session(who wire.Identity, w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, SessionView{h.options.Node.Name(), string(who.Name), append([]string{}, h.options.Listeners...)})
}

// admit returns the identity that has sent a request, or refuses one that has not the right, or is
// not accepted.
func (h *Handler) admit(r *http.Request, right auth.Right) (who wire.Identity, f *failure) {
	permits := func() bool { return right == noRight || h.options.Permits == nil || h.options.Permits(who, right) }
	if h.options.Auth == nil {
		if permits() {
			return who, nil
		}
		return who, h.refuse(r, who, right, forbidden("forbidden", "without authentication nobody has the right to "+string(right)+" here; give the node --tokens or another flag that says who may connect, or --no-auth"))
	}
	who, err := h.options.Auth.Authenticate(r.Context(), credentials(r))
	var refusal *performatives.Refusal
	switch {
	case errors.Is(err, wire.ErrNoCredentials):
		return who, failed(http.StatusUnauthorized, codeUnauthorized, "send a token in the header Authorization: Bearer TOKEN")
	case errors.As(err, &refusal) && refusal.Code == performatives.CodeUnauthorized:
		return who, h.refuse(r, who, right, failed(http.StatusUnauthorized, codeUnauthorized, "the node does not accept these credentials; use a token that it knows and that has not expired"))
	case err != nil:
		return who, failed(http.StatusServiceUnavailable, "internal", "the credentials cannot be checked now; try again")
	case !permits():
		return who, h.refuse(r, who, right, forbidden("forbidden", "this token has not the right to "+string(right)+"; a rule of the node has to grant it by \"operator\""))
	}
	return who, nil
}

// codeUnauthorized is the code of the answer to a request without accepted credentials.
const codeUnauthorized = "unauthorized"

func credentials(r *http.Request) wire.Credentials {
	var c wire.Credentials
	if scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " "); found && strings.EqualFold(scheme, "Bearer") {
		c.Token = strings.TrimSpace(token)
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		c.Certificates = r.TLS.VerifiedChains[0]
	}
	return c
}
