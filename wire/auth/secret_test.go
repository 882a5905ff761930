package auth

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/wire"
)

// No exported type prints a secret, in any format.
func TestRedaction(t *testing.T) {
	const hidden = "hunter2-Vq0m8cQy5m3kz7o2hZ4p1A-hunter2"
	list := []Token{{Value: hidden, Name: "crm"}}
	client := ClientCredentialsOptions{URL: "https://a/", ClientID: "crm", Secret: hidden, Client: http.DefaultClient}
	signed := JWTOptions{Secret: hidden}
	file := must(FileToken(writeFile(t, []byte(hidden))))
	known := must(Tokens(list))
	set := must(newKeySet(JWKSOptions{URL: "https://a/"}))
	_, errWeak := Tokens([]Token{{Value: hidden + " "}})
	_, errTwice := ParseTokens([]byte("a " + hidden + "\na " + hidden))
	_, errSecret := JWT(JWTOptions{Secret: Secret(hidden[:20])})
	_, errUnknown := known.Authenticate(t.Context(), wire.Credentials{Token: hidden + hidden})
	_, errSigned := must(JWT(signed)).Authenticate(t.Context(), wire.Credentials{Token: sign(t, "HS256", hidden, []byte(hidden+hidden), claims(with("iss", hidden)))})
	granted := must(ClientCredentials(client))
	for name, v := range map[string]any{
		"Secret": Secret(hidden), "Token": list[0], "[]Token": list, "*Token": &list[0],
		"JWTOptions": signed, "*JWTOptions": &signed, "ClientCredentialsOptions": client, "*ClientCredentialsOptions": &client,
		"Tokens": known, "JWT": must(JWT(signed)), "Any": Any(known, must(JWT(signed))), "Certificates": must(Certificates(CertOptions{})),
		"FileToken": file, "ClientCredentials": granted, "keys": set,
		"weak": errWeak, "twice": errTwice, "short": errSecret, "unknown": errUnknown, "signed": errSigned,
		"map": map[string]Secret{"a": hidden}, "struct": struct{ T TokenSource }{file},
	} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
				checkHidden(t, verb, fmt.Sprintf(verb, v), hidden)
			}
			var text bytes.Buffer
			slog.New(slog.NewJSONHandler(&text, nil)).Info("", "v", v)
			slog.New(slog.NewTextHandler(&text, nil)).Info("", "v", v)
			checkHidden(t, "slog", text.String(), hidden)
			b, _ := json.Marshal(v) // a value that cannot be encoded must not show the secret either
			checkHidden(t, "JSON", string(b), hidden)
		})
	}
}

func checkHidden(t *testing.T, how, text, hidden string) {
	t.Helper()
	numbers := strings.Trim(fmt.Sprintf("%d", []byte(hidden[:8])), "[]")
	for _, form := range []string{hidden[:12], fmt.Sprintf("%x", hidden[:8]), fmt.Sprintf("%X", hidden[:8]), numbers} {
		if strings.Contains(text, form) {
			t.Errorf("%s contains the secret: %s", how, text)
		}
	}
}

func TestSecretFromJSON(t *testing.T) {
	var s struct{ S Secret }
	if err := json.Unmarshal([]byte(`{"S":"abc"}`), &s); err != nil || string(s.S) != "abc" {
		t.Errorf("%v", err)
	}
	if text, err := json.Marshal(map[string]any{"a": Any(), "s": s}); err != nil || string(text) != `{"a":"auth.Any(0)","s":{"S":"[redacted]"}}` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestExposed(t *testing.T) {
	path := writeFile(t, []byte("token"))
	if w := Exposed(path) + Exposed(path+".missing"); w != "" {
		t.Errorf("got %q", w)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if w := Exposed(path); !strings.Contains(w, path) {
		t.Errorf("readable by other users: %q", w)
	}
}
