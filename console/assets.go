package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed dist
var dist embed.FS

// assets are the files of the console, by their path below [Path].
type assets map[string]asset

type asset struct {
	kind          string // its media type
	plain, zipped []byte
	etag          string
	hashed        bool // whether its name changes with its contents
}

// policy is the Content-Security-Policy of the pages: scripts and styles are files of the
// console, nothing is loaded from elsewhere, no page may contain them, and strings never
// become markup.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// loadAssets reads and compresses the files of dist.
func loadAssets(files fs.FS) (assets, error) {
	all := assets{}
	err := fs.WalkDir(files, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		kind, ok := mediaTypes[path.Ext(name)]
		if !ok {
			return fmt.Errorf("console: %s has no known media type", name)
		}
		var zipped bytes.Buffer
		z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // the level is valid
		_, _ = z.Write(data)                                       // to memory
		_ = z.Close()
		sum := sha256.Sum256(data)
		shown := strings.TrimPrefix(name, "dist/")
		all[shown] = asset{kind: kind, plain: data, zipped: zipped.Bytes(), etag: `"` + hex.EncodeToString(sum[:8]) + `"`, hashed: strings.HasPrefix(shown, "assets/")}
		return nil
	})
	if _, ok := all["index.html"]; err == nil && !ok {
		err = fmt.Errorf("console: dist has no index.html")
	}
	return all, err
}

// ServeHTTP answers with a file.
func (all assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, Path)
	if name == "" {
		name = "index.html"
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	a, ok := all[name]
	if !ok {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	h.Set("Content-Type", a.kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-cache")
	if a.hashed {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("ETag", a.etag)
	h.Set("Vary", "Accept-Encoding")
	data := a.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && len(a.zipped) < len(a.plain) {
		h.Set("Content-Encoding", "gzip")
		h.Set("ETag", strings.TrimSuffix(a.etag, `"`)+`-gzip"`)
		data = a.zipped
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}
