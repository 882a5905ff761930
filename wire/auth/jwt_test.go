package auth

import (
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

func public(k crypto.Signer) any { return k.Public() }

func TestJWTAlgorithms(t *testing.T) {
	secret := []byte(secret64)
	signers := map[string]any{
		"HS256": secret, "HS384": secret, "HS512": secret, "RS256": rsaKey(), "RS384": rsaKey(), "RS512": rsaKey(),
		"PS256": rsaKey(), "PS384": rsaKey(), "PS512": rsaKey(), "ES256": p256(), "ES384": p384(), "ES512": p521(), "EdDSA": edKey(),
	}
	options := func(alg string) JWTOptions {
		o := JWTOptions{Issuer: "https://id.example.org", Audience: "ribosome"}
		if alg[0] == 'H' {
			o.SecretFile = writeFile(t, append(secret, '\n'))
		} else {
			o.KeyFile = writeFile(t, publicPEM(t, public(signers[alg].(crypto.Signer))))
		}
		return o
	}
	for _, a := range algorithms {
		t.Run(a.name, func(t *testing.T) {
			auth := must(JWT(options(a.name)))
			for alg, key := range signers {
				_, err := auth.Authenticate(t.Context(), wire.Credentials{Token: sign(t, alg, "", key, claims())})
				if goes := a.fits(publicOf(key)) && fits(alg, publicOf(key)); goes != (err == nil) {
					t.Errorf("signed with %s: %v", alg, err)
				}
			}
			only := options(a.name)
			only.Algorithms = []string{a.name}
			auth = must(JWT(only))
			for alg, key := range signers {
				_, err := auth.Authenticate(t.Context(), wire.Credentials{Token: sign(t, alg, "", key, claims())})
				if (alg == a.name) != (err == nil) {
					t.Errorf("allowed alone, signed with %s: %v", alg, err)
				}
			}
		})
	}
}

func publicOf(key any) any {
	if s, ok := key.(crypto.Signer); ok {
		return s.Public()
	}
	return key
}

// A public key is not accepted as a shared secret, because every attacker has it.
func TestJWTConfusion(t *testing.T) {
	file := publicPEM(t, rsaKey().Public())
	auth := must(JWT(JWTOptions{KeyFile: writeFile(t, file)}))
	set := must(newKeySet(JWKSOptions{URL: "https://id.example.org/keys"}))
	set.keys.last.Store(&attempt[[]webKey]{value: must(parseKeys(jwks(jwkOf("a", rsaKey().Public())))), retry: time.Now().Add(time.Hour)})
	published := must(JWT(JWTOptions{JWKS: JWKSOptions{URL: "https://id.example.org/keys"}, Algorithms: []string{"HS256", "RS256"}}))
	published.(*jwtAuth).keys = set
	for name, key := range map[string][]byte{"PEM": file, "without newline": []byte(strings.TrimSpace(string(file)))} {
		for _, alg := range []string{"HS256", "HS384", "HS512"} {
			_, err := auth.Authenticate(t.Context(), wire.Credentials{Token: sign(t, alg, "a", key, claims())})
			checkRejected(t, err, "algorithm is not allowed")
			_, err = published.Authenticate(t.Context(), wire.Credentials{Token: sign(t, alg, "a", key, claims())})
			if err == nil {
				t.Errorf("%s, %s: accepted", name, alg)
			}
		}
	}
	for _, alg := range []string{"none", "None", "NONE", "nOnE"} {
		header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"` + alg + `"}`))
		_, rest, _ := strings.Cut(sign(t, "none", "", jwt.UnsafeAllowNoneSignatureType, claims()), ".")
		for _, a := range []wire.Authenticator{auth, published} {
			if _, err := a.Authenticate(t.Context(), wire.Credentials{Token: header + "." + rest}); err == nil || errors.Is(err, wire.ErrNoCredentials) {
				t.Errorf("alg %s: %v", alg, err)
			}
		}
	}
}

func TestJWTClaims(t *testing.T) {
	auth := must(JWT(JWTOptions{Secret: secret64, Issuer: "https://id.example.org", Audience: "ribosome", Leeway: 10 * time.Second}))
	in := func(d time.Duration) any { return time.Now().Add(d).Unix() }
	for name, tt := range map[string]struct {
		change func(jwt.MapClaims)
		why    string // empty: accepted
	}{
		"good":                      {func(jwt.MapClaims) {}, ""},
		"audiences":                 {with("aud", []string{"other", "ribosome"}), ""},
		"another issuer":            {with("iss", "https://evil.example.org"), "another issuer"},
		"no issuer":                 {without("iss"), "the claim iss is missing"},
		"another audience":          {with("aud", "other"), "another audience"},
		"no audience":               {without("aud"), "the claim aud is missing"},
		"expired":                   {with("exp", in(-11*time.Second)), "has expired"},
		"expired within the leeway": {with("exp", in(-5*time.Second)), ""},
		"no exp":                    {without("exp"), "the claim exp is missing"},
		"exp of the wrong type":     {with("exp", "tomorrow"), "wrong type"},
		"not yet valid":             {with("nbf", in(20*time.Second)), "not valid yet"},
		"issued in the future":      {with("iat", in(20*time.Second)), "in the future"},
		"no sub":                    {without("sub"), "sub is not a valid"},
		"empty sub":                 {with("sub", ""), "sub is not a valid"},
		"sub of the wrong type":     {with("sub", 7), "sub is not a valid"},
		"sub with a newline":        {with("sub", "crm\nlevel=ERROR"), "sub is not a valid"},
		"long sub":                  {with("sub", strings.Repeat("a", performatives.MaxIDLength+1)), "sub is not a valid"},
		"agents is a string":        {with("agents", "billing"), "not an array"},
		"many agents":               {with("agents", slices.Repeat([]string{"a"}, maxClaimed)), ""},
		"too many agents":           {with("agents", slices.Repeat([]string{"a"}, maxClaimed+1)), "not an array"},
		"agents with a number":      {with("agents", []any{"billing", 7}), "not an array"},
		"agents with empty id":      {with("agents", []any{""}), "not a valid agent id"},
		"a claim twice":             {with("x", json.RawMessage(`{"a":1,"a":2}`)), "a claim occurs twice"},
		"scope of the wrong type":   {with("scope", 7), "scope or scp"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := auth.Authenticate(t.Context(), wire.Credentials{Token: sign(t, "HS256", "", []byte(secret64), claims(tt.change))})
			switch {
			case tt.why != "":
				checkRejected(t, err, tt.why)
			case err != nil:
				t.Error(err)
			}
		})
	}
}

func TestJWTIdentity(t *testing.T) {
	auth := must(JWT(JWTOptions{Secret: secret64, Leeway: 10 * time.Second}))
	exp := time.Now().Add(time.Hour).Truncate(time.Second)
	for name, tt := range map[string]struct {
		claim  string
		value  any
		scopes []string
	}{
		"scope":        {"scope", "read  write", []string{"read", "write"}},
		"scp, text":    {"scp", "read write", []string{"read", "write"}},
		"scp, array":   {"scp", []string{"read", "write"}, []string{"read", "write"}},
		"neither":      {"other", "read", nil},
		"scope, array": {"scope", []string{"read"}, []string{"read"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := claims(with("exp", exp.Unix()), with("agents", []string{"billing", "*"}), with(tt.claim, tt.value))
			got, err := auth.Authenticate(t.Context(), wire.Credentials{Token: sign(t, "HS512", "", []byte(secret64), c)})
			want := wire.Identity{Name: "crm", Agents: []performatives.AgentID{"billing", "*"}, Method: "jwt", Scopes: tt.scopes, Expires: exp.Add(10 * time.Second)}
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Errorf("%v, difference (-want +got):\n%s", err, d)
			}
		})
	}
}

// Only the clock differs between the two attempts.
func TestJWTExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		auth := must(JWT(JWTOptions{Secret: secret64}))
		cred := wire.Credentials{Token: sign(t, "HS256", "", []byte(secret64), claims())}
		time.Sleep(time.Hour - time.Second)
		if _, err := auth.Authenticate(t.Context(), cred); err != nil {
			t.Errorf("a second before its end: %v", err)
		}
		time.Sleep(time.Second)
		_, err := auth.Authenticate(t.Context(), cred)
		checkRejected(t, err, "has expired")
	})
}

func TestJWTForm(t *testing.T) {
	auth := must(JWT(JWTOptions{Secret: secret64}))
	good := sign(t, "HS256", "", []byte(secret64), claims())
	parts := strings.Split(good, ".")
	crit := jwt.NewWithClaims(jwt.SigningMethodHS256, claims())
	crit.Header["crit"] = []string{"b64"}
	kid := jwt.NewWithClaims(jwt.SigningMethodHS256, claims())
	kid.Header["kid"] = 7
	for name, tt := range map[string]struct{ token, why string }{
		"another signature":    {parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 32)), "signature"},
		"no signature":         {parts[0] + "." + parts[1] + ".", "signature"},
		"claims that are none": {parts[0] + ".e30x." + parts[2], "malformed"},
		"extension":            {must(crit.SignedString([]byte(secret64))), "crit"},
		"kid is no string":     {must(kid.SignedString([]byte(secret64))), "kid"},
		"as long as may be":    {good + strings.Repeat("A", maxJWT-len(good)), "signature"},
		"too long":             {good + strings.Repeat("A", maxJWT), "too long"},
		"of another secret":    {sign(t, "HS256", "", []byte(strings.ToUpper(secret64)), claims()), "signature"},
		"an unknown algorithm": {base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"XX"}`)) + "." + parts[1] + "." + parts[2], "cannot be verified"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := auth.Authenticate(t.Context(), wire.Credentials{Token: tt.token})
			checkRejected(t, err, tt.why)
		})
	}
	for _, token := range []string{"", "opaque", "a.b.c", parts[0] + "." + parts[1], good + ".x", "e30." + parts[1] + "." + parts[2]} {
		if _, err := auth.Authenticate(t.Context(), wire.Credentials{Token: token}); !errors.Is(err, wire.ErrNoCredentials) {
			t.Errorf("%.20q: %v, want ErrNoCredentials", token, err)
		}
	}
}

func TestJWTOptions(t *testing.T) {
	public := writeFile(t, publicPEM(t, rsaKey().Public()))
	for name, tt := range map[string]struct {
		o    JWTOptions
		want string
	}{
		"nothing":             {JWTOptions{}, "want one of"},
		"two keys":            {JWTOptions{KeyFile: public, Secret: secret64}, "want one of"},
		"short secret":        {JWTOptions{Secret: Secret(secret64[:31])}, "at least 32 bytes"},
		"short secret file":   {JWTOptions{SecretFile: writeFile(t, []byte(secret64[:31]+"\n"))}, "at least 32 bytes"},
		"public key, secret":  {JWTOptions{SecretFile: public}, "not a shared secret"},
		"HS512, 32 bytes":     {JWTOptions{Secret: Secret(secret64[:32]), Algorithms: []string{"HS512"}}, "HS512 does not accept"},
		"HS256, public key":   {JWTOptions{KeyFile: public, Algorithms: []string{"RS256", "HS256"}}, "HS256 does not accept"},
		"none":                {JWTOptions{Secret: secret64, Algorithms: []string{"none"}}, `"none" is not supported`},
		"none, published":     {JWTOptions{JWKS: JWKSOptions{URL: "https://a"}, Algorithms: []string{"none"}}, `"none" is not supported`},
		"private key":         {JWTOptions{KeyFile: writeFile(t, privatePEM(rsaKey()))}, "private key"},
		"no key":              {JWTOptions{KeyFile: writeFile(t, []byte("hello"))}, "no PEM block"},
		"no file":             {JWTOptions{KeyFile: t.TempDir() + "/missing"}, "missing"},
		"negative leeway":     {JWTOptions{Secret: secret64, Leeway: -1}, "Leeway"},
		"http":                {JWTOptions{JWKS: JWKSOptions{URL: "http://id.example.org/keys"}}, "want https"},
		"no URL":              {JWTOptions{JWKS: JWKSOptions{URL: "https://a b"}}, "it is not a URL"},
		"no host":             {JWTOptions{JWKS: JWKSOptions{URL: "/keys"}}, "want an https URL"},
		"password in the URL": {JWTOptions{JWKS: JWKSOptions{URL: "https://a:hunter2@b/"}}, "without a password"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := JWT(tt.o)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v, want %q in it", err, tt.want)
			}
		})
	}
	for _, url := range []string{"https://id.example.org/", "http://127.0.0.1:1/", "http://[::1]:1/", "http://localhost/"} {
		if _, err := JWT(JWTOptions{JWKS: JWKSOptions{URL: url}}); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	if names := must(allowed(nil, []byte(secret64[:32]))); !slices.Equal(names, []string{"HS256"}) {
		t.Errorf("algorithms for a secret of 32 bytes: %v", names)
	}
}
