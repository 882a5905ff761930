package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
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

// file is a file of the console.
type file struct {
	content   []byte
	mediaType string
	etag      string
}

// handler serves the files by the rest of the path below /console/.
type handler map[string]file

// New returns the handler of /console and of all paths below it, for api.Options.Console. Its files
// hold no data of the node, so they need no authentication.
func New() http.Handler {
	h := make(handler)
	err := fs.WalkDir(static, "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := static.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		h[strings.TrimPrefix(name, "static/")] = file{content, mediaTypes[path.Ext(name)], `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("console: the embedded files cannot be read: %v", err))
	}
	return h
}

// mediaTypes are the types of the files, so that no table of the system decides.
var mediaTypes = map[string]string{
	".html": mime.FormatMediaType("text/html", map[string]string{"charset": "utf-8"}),
	".css":  mime.FormatMediaType("text/css", map[string]string{"charset": "utf-8"}),
	".js":   mime.FormatMediaType("text/javascript", map[string]string{"charset": "utf-8"}),
	".svg":  "image/svg+xml",
}

// ServeHTTP serves one file.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	if name == "" {
		name = "index.html"
	}
	f, found := h[name]
	if !found {
		http.Error(w, "the console has no such file; it begins at /console/", http.StatusNotFound)
		return
	}
	header.Set("Content-Type", f.mediaType)
	header.Set("ETag", f.etag)
	header.Set("Cache-Control", "no-cache") // a browser keeps it, and asks whether it has changed
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(f.content))
}
