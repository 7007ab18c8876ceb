package s3store_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"memento"
	"memento/backend/s3store"
	"memento/test/services"
)

// proxy returns a server in front of the real one that changes requests first.
func proxy(t *testing.T, change func(*http.Request), start func(http.Handler) *httptest.Server) *httptest.Server {
	t.Helper()
	srv, err := services.S3(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(srv.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
		r.Out.Host = r.In.Host // which is signed
		change(r.Out)
	}}
	server := start(p)
	t.Cleanup(server.Close)
	return server
}

// Open refuses a storage that ignores conditions.
func TestRefusesWithoutConditions(t *testing.T) {
	direct, opts, err := server(services.S3).at(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	core := minio.Core{Client: client(t, direct, opts)}
	for _, header := range []string{"If-None-Match", "If-Match"} {
		pass := proxy(t, func(*http.Request) {}, httptest.NewServer)
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPut || r.Header.Get(header) == "" {
				pass.Config.Handler.ServeHTTP(w, r)
				return
			}
			bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/") // written without the condition
			info, err := core.PutObject(r.Context(), bucket, key, r.Body, r.ContentLength, "", "", minio.PutObjectOptions{DisableContentSha256: true})
			if err != nil {
				t.Error(err)
			}
			w.Header().Set("ETag", `"`+info.ETag+`"`)
		}))
		defer front.Close()
		at, opts, err := server(services.S3).at(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		at.Endpoint = front.URL
		b, err := s3store.Open(t.Context(), at, opts)
		if !errors.Is(err, memento.ErrUnsupported) {
			t.Errorf("without %s: %v, want ErrUnsupported", header, err)
		}
		if b != nil {
			b.Close()
		}
	}
}

// A server with an untrusted certificate is refused.
func TestTLS(t *testing.T) {
	front := proxy(t, func(*http.Request) {}, httptest.NewTLSServer)
	front.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that fails
	at, opts, err := server(services.S3).at(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at.Endpoint = front.URL
	opts.RetryTimeout = time.Second
	if _, err := s3store.Open(t.Context(), at, opts); !errors.Is(err, memento.ErrUnavailable) {
		t.Errorf("an unknown certificate: %v, want ErrUnavailable", err)
	}
	opts.Transport = front.Client().Transport
	b, err := s3store.Open(t.Context(), at, opts)
	if err != nil {
		t.Fatal(err)
	}
	info := newStore(t, b)
	put(t, b, info.ID, "/a", "over TLS")
	if m, err := b.Get(t.Context(), info.ID, memento.ByPath("/a")); err != nil || m.Content != "over TLS" {
		t.Errorf("%+v, %v", m, err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// No error contains the storage's address or credentials.
func TestErrorsKeepSecrets(t *testing.T) {
	srv, err := services.S3(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const canary, secret, hidden = "CANARYACCESSKEY", "canary/secret/key", "canary-bucket"
	stalled := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	defer stalled.Close()
	good := credentials.NewStaticV4(srv.AccessKey, srv.SecretKey, "")
	bad := credentials.NewStaticV4(canary, secret, "")
	for name, tt := range map[string]struct {
		at    s3store.Location
		creds *credentials.Credentials
		want  error
	}{
		"unknown key":     {s3store.Location{Bucket: hidden, Endpoint: srv.Endpoint}, bad, memento.ErrDenied},
		"wrong secret":    {s3store.Location{Bucket: hidden, Endpoint: srv.Endpoint}, credentials.NewStaticV4(srv.AccessKey, secret, ""), memento.ErrDenied},
		"no bucket":       {s3store.Location{Bucket: hidden, Endpoint: srv.Endpoint}, good, memento.ErrInvalid},
		"nobody listens":  {s3store.Location{Bucket: hidden, Endpoint: "http://127.0.0.1:1"}, bad, memento.ErrUnavailable},
		"server fails":    {s3store.Location{Bucket: hidden, Endpoint: stalled.URL}, bad, memento.ErrUnavailable},
		"no host":         {s3store.Location{Bucket: hidden, Endpoint: "http://canary.invalid"}, bad, memento.ErrUnavailable},
		"no URL":          {s3store.Location{Bucket: hidden, Endpoint: "canary:1"}, bad, memento.ErrInvalid},
		"key in endpoint": {s3store.Location{Bucket: hidden, Endpoint: "http://" + canary + ":x@canary.invalid"}, bad, memento.ErrInvalid},
		"empty prefix":    {s3store.Location{Bucket: hidden, Prefix: "canary//x", Endpoint: srv.Endpoint}, bad, memento.ErrInvalid},
		"no such style":   {s3store.Location{Bucket: hidden, PathStyle: "canary", Endpoint: srv.Endpoint}, bad, memento.ErrInvalid},
		"bad bucket":      {s3store.Location{Bucket: "Canary_//Bucket", Endpoint: srv.Endpoint}, bad, memento.ErrInvalid},
		"no bucket named": {s3store.Location{Endpoint: srv.Endpoint}, bad, memento.ErrInvalid},
	} {
		tt.at.Region = srv.Region
		if tt.at.PathStyle == "" {
			tt.at.PathStyle = "true"
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		b, err := s3store.Open(ctx, tt.at, &s3store.Options{Credentials: tt.creds, RetryTimeout: 200 * time.Millisecond})
		cancel()
		if b != nil {
			b.Close()
		}
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
			continue
		}
		for _, word := range []string{"canary", "127.0.0.1", "localhost", srv.AccessKey, srv.SecretKey} {
			if strings.Contains(strings.ToLower(err.Error()), strings.ToLower(word)) {
				t.Errorf("%s: the error %q says %q", name, err, word)
			}
		}
	}
}
