package auth

import (
	"testing"

	"github.com/ribosome-agents/ribosome/wire"
)

func FuzzParseKeys(f *testing.F) {
	f.Add(jwks(jwkOf("a", rsaKey().Public()), jwkOf("b", p256().Public()), jwkOf("c", edKey().Public()), jwkOf("d", []byte(secret64))))
	f.Add(jwks(jwkOf("a", p384().Public()), jwkOf("a", p521().Public())))
	f.Add([]byte(`{"keys":[{"kty":"RSA","n":"AQ","e":"AQAB"},null,7]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := parseKeys(text)
		if (err == nil) != (len(keys) > 0) || len(keys) > maxKeys {
			t.Fatalf("%d keys, %v", len(keys), err)
		}
		for _, k := range keys {
			if _, secret := k.key.([]byte); !usable(k.key) || secret {
				t.Errorf("an unusable key of type %T", k.key)
			}
		}
		for _, a := range algorithms {
			if key := lookUp(keys, "a", a.name); key != nil && !a.fits(key) {
				t.Errorf("%s accepts a key of type %T", a.name, key)
			}
		}
	})
}

func FuzzParseTokens(f *testing.F) {
	f.Add([]byte("# agents\ncrm " + tokenA + " billing scope:read # all\ngateway " + tokenB + " *\n"))
	f.Add([]byte("a b\r\n\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := ParseTokens(text)
		if err != nil {
			return
		}
		if _, err := Tokens(list); err != nil {
			t.Errorf("parsed and not accepted: %v", err)
		}
	})
}

func FuzzParseRules(f *testing.F) {
	f.Add([]byte(`[{"agent":"crm","allow":["eddy","billing/*"],"acts":["TASK_REQUEST"]},{"scope":"admin","allow":["*"]}]`))
	f.Add([]byte(`[{"agent":"*","allow":[""]}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rules, err := ParseRules(text)
		if err != nil {
			return
		}
		if a, err := rules.Authorizer(); a == nil || err != nil {
			t.Errorf("parsed and not accepted: %v", err)
		}
	})
}

func FuzzIsJWT(f *testing.F) {
	f.Add(sign(f, "HS256", "a", []byte(secret64), claims()))
	f.Add("e30.e30.")
	a := must(JWT(JWTOptions{Secret: secret64}))
	f.Fuzz(func(t *testing.T, token string) {
		if isJWT(token) && Secret(token).check() == nil {
			t.Error("both authenticators accept the token")
		}
		_, _ = a.Authenticate(t.Context(), wire.Credentials{Token: token})
	})
}
