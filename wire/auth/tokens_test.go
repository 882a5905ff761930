package auth

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

const (
	tokenA = "Vq0m8cQy5m3kz7o2hZ4p1A"
	tokenB = "cR8dXw2nT6uJf9aLs3kEyQ=="
)

func TestTokens(t *testing.T) {
	auth := must(Tokens([]Token{
		{Value: tokenA, Name: "crm", Agents: []performatives.AgentID{"billing"}, Scopes: []string{"read"}},
		{Value: tokenB, Name: "gateway"},
	}))
	got, err := auth.Authenticate(t.Context(), wire.Credentials{Token: tokenA})
	want := wire.Identity{Name: "crm", Agents: []performatives.AgentID{"billing"}, Method: "token", Scopes: []string{"read"}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v, difference (-want +got):\n%s", err, d)
	}
	if got, err := auth.Authenticate(t.Context(), wire.Credentials{Token: tokenB}); err != nil || got.Name != "gateway" {
		t.Errorf("%v, %v", got, err)
	}
	for _, token := range []string{tokenA + "x", tokenA[1:], strings.ToLower(tokenA), "x", " " + tokenA, "Bearer " + tokenA} {
		_, err := auth.Authenticate(t.Context(), wire.Credentials{Token: token})
		checkRejected(t, err, "not known")
	}
	for _, token := range []string{"", sign(t, "HS256", "", []byte(secret64), claims())} {
		if _, err := auth.Authenticate(t.Context(), wire.Credentials{Token: token}); !errors.Is(err, wire.ErrNoCredentials) {
			t.Errorf("%.20q: %v, want ErrNoCredentials", token, err)
		}
	}
}

// A token needs eight different characters.
func TestVariedToken(t *testing.T) {
	if _, err := Tokens([]Token{{Value: Secret(strings.Repeat("abcdefgh", 3)), Name: "crm"}}); err != nil {
		t.Error(err)
	}
}

func TestTokensRefuses(t *testing.T) {
	jwt := sign(t, "HS256", "", []byte(secret64), claims())
	for name, tt := range map[string]struct {
		list []Token
		want string
	}{
		"short":               {[]Token{{Value: Secret(tokenA[:21]), Name: "crm"}}, "token 0: the token is shorter"},
		"not varied":          {[]Token{{Value: Secret(strings.Repeat("abc", 10)), Name: "crm"}}, "different characters"},
		"7 characters":        {[]Token{{Value: Secret(strings.Repeat("abcdefg", 10)), Name: "crm"}}, "token 0: the token has fewer than 8 different characters: want a random one"},
		"begins with another": {[]Token{{Value: "!" + tokenA, Name: "crm"}}, "characters that a bearer token"},
		"a space":             {[]Token{{Value: tokenA + " a", Name: "crm"}}, "characters that a bearer token"},
		"twice":               {[]Token{{Value: tokenA, Name: "crm"}, {Value: tokenA, Name: "eddy"}}, "token 1: the token occurs twice"},
		"no name":             {[]Token{{Value: tokenA}}, "the id is empty"},
		"further, empty":      {[]Token{{Value: tokenA, Name: "crm", Agents: []performatives.AgentID{""}}}, "the id is empty"},
		"the form of a JWT":   {[]Token{{Value: Secret(jwt), Name: "crm"}}, "form of a JWT"},
		"a hidden character":  {[]Token{{Value: tokenA, Name: "cr\u200bm"}}, "which is not displayed"},
		"a name for the logs": {[]Token{{Value: tokenA, Name: "crm\nx"}}, "has the control character U+000A"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Tokens(tt.list)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), string(tt.list[0].Value)) {
				t.Errorf("%v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestParseTokens(t *testing.T) {
	got, err := ParseTokens([]byte("# agent token\n\ncrm\t" + tokenA + " billing scope:read scope:write # for the # office\r\ngateway " + tokenB + " *"))
	want := []Token{
		{Value: tokenA, Name: "crm", Agents: []performatives.AgentID{"billing"}, Scopes: []string{"read", "write"}},
		{Value: tokenB, Name: "gateway", Agents: []performatives.AgentID{"*"}},
	}
	if err != nil || len(got) != 2 {
		t.Fatalf("%d tokens, %v", len(got), err)
	}
	for i := range want {
		if got[i].Value != want[i].Value {
			t.Errorf("token %d differs", i)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("difference (-want +got):\n%s", d)
	}
	for text, want := range map[string]string{
		"\ufeffcrm " + tokenA:             "auth: it begins with a byte order mark",
		"crm # " + tokenA:                 "line 1: want the name of an agent and its token",
		"crm":                             "line 1: want the name of an agent and its token",
		"\ncrm short":                     "line 2: the token is shorter",
		"a " + tokenA + "\n\nb " + tokenA: "line 3: the token occurs in line 1 already",
	} {
		if _, err := ParseTokens([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), tokenA) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}

func TestAny(t *testing.T) {
	ca := newAuthority(t)
	opaqueOnes := must(Tokens([]Token{{Value: tokenA, Name: "static"}}))
	signed := must(JWT(JWTOptions{Secret: secret64}))
	both := Any(opaqueOnes, signed, must(Certificates(CertOptions{})))
	jwt := sign(t, "HS256", "", []byte(secret64), claims())
	cert := ca.leaf(t, func(c *certTemplate) { c.Subject.CommonName = "certified" })
	for name, tt := range map[string]struct {
		cred wire.Credentials
		want performatives.AgentID // empty: rejected
	}{
		"opaque":                           {wire.Credentials{Token: tokenA}, "static"},
		"JWT":                              {wire.Credentials{Token: jwt}, "crm"},
		"certificate":                      {cert, "certified"},
		"a bad token, a good certificate":  {wire.Credentials{Token: tokenB, Certificates: cert.Certificates}, ""},
		"a bad JWT, a good certificate":    {wire.Credentials{Token: jwt[:len(jwt)-4], Certificates: cert.Certificates}, ""},
		"a good token, a good certificate": {wire.Credentials{Token: tokenA, Certificates: cert.Certificates}, "static"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := both.Authenticate(t.Context(), tt.cred)
			if tt.want == "" {
				checkRejected(t, err, "auth: ")
				return
			}
			if err != nil || got.Name != tt.want {
				t.Errorf("%q, %v, want %q", got.Name, err, tt.want)
			}
		})
	}
	if _, err := both.Authenticate(t.Context(), wire.Credentials{}); !errors.Is(err, wire.ErrNoCredentials) {
		t.Errorf("no credentials: %v", err)
	}
	if _, err := Any().Authenticate(t.Context(), wire.Credentials{Token: tokenA}); !errors.Is(err, wire.ErrNoCredentials) {
		t.Errorf("no authenticators: %v", err)
	}
}
