package console

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed static
var static embed.FS

// policy is the Content-Security-Policy of all files: scripts, styles and requests of this site
// only, none of them inline, and no text that becomes markup (Trusted Types).
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// New returns the handler of /console and of all paths below it, for api.Options.Console. Its files
// hold no data of the node, so they need no authentication.
func New() http.Handler { return http.HandlerFunc(serve) }

// mediaTypes are the types of the files, so that no table of the system decides.
var mediaTypes = map[string]string{
	".html": mime.FormatMediaType("text/html", map[string]string{"charset": "utf-8"}),
	".css":  mime.FormatMediaType("text/css", map[string]string{"charset": "utf-8"}),
	".js":   mime.FormatMediaType("text/javascript", map[string]string{"charset": "utf-8"}),
	".svg":  "image/svg+xml",
}

// serve serves one file.
func serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "the console has only files to read", http.StatusMethodNotAllowed)
		return
	}
	_, name, below := strings.Cut(r.URL.Path, "/console/")
	if !below {
		header.Set("Location", path.Base(r.URL.Path)+"/") // relative: a program may serve it below a prefix
		w.WriteHeader(http.StatusPermanentRedirect)
		return
	}
	name = cmp.Or(name, "index.html")
	content, err := static.ReadFile("static/" + name)
	if err != nil {
		http.Error(w, "the console has no such file; it begins at /console/", http.StatusNotFound)
		return
	}
	sum := sha256.Sum256(content)
	header.Set("Content-Type", mediaTypes[path.Ext(name)])
	header.Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:12])+`"`)
	header.Set("Cache-Control", "no-cache") // a browser keeps it, and asks whether it has changed
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}
