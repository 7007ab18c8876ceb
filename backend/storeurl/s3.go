package storeurl

import (
	"context"
	"net/url"
	"strings"

	"memento"
	"memento/backend/s3store"
)

func openS3(ctx context.Context, l location, o *Options) (memento.Backend, error) {
	at, opts, err := l.s3()
	if err != nil {
		return nil, err
	}
	opts.Existing = o.Existing
	b, err := s3store.Open(ctx, at, opts)
	if err != nil {
		return nil, err // not b, which would be a non-nil Backend
	}
	return b, nil
}

func checkS3(l *location) error {
	_, _, err := l.s3()
	return err
}

// s3 interprets an S3 URL: the bucket, and the options for using it.
func (l *location) s3() (at s3store.Location, opts *s3store.Options, err error) {
	authority, ok := strings.CutPrefix(l.server, "//")
	bucket, _, _ := strings.Cut(authority, "/")
	switch {
	case !ok || bucket == "":
		return at, nil, invalid("%s: write %s://BUCKET or %s://BUCKET/PREFIX", l.scheme, l.scheme, l.scheme)
	case strings.ContainsRune(bucket, '@'):
		return at, nil, invalid("%s: keys are not allowed in the URL; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use the shared credentials file, or the role of the machine", l.scheme)
	case strings.ContainsRune(bucket, ':'):
		return at, nil, invalid("%s: what follows // is a bucket, without a port; the server is in ?endpoint=https://HOST:PORT", l.scheme)
	}
	if err := l.only("endpoint", "region", "path_style", "inline", "cache"); err != nil {
		return at, nil, err
	}
	at = s3store.Location{Bucket: bucket, Prefix: strings.Trim(l.path, "/")}
	if at.Endpoint, err = l.one("endpoint"); err != nil {
		return at, nil, err
	}
	if u, err := url.Parse(at.Endpoint); err != nil || at.Endpoint != "" && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") || u.User != nil {
		return at, nil, invalid("%s: the query key \"endpoint\" must be a URL such as https://HOST:PORT, without user and password", l.scheme)
	}
	if at.Region, err = l.one("region"); err != nil {
		return at, nil, err
	}
	if l.query.Has("path_style") {
		style, err := l.boolean("path_style")
		if err != nil {
			return at, nil, err
		}
		if at.PathStyle = "false"; style {
			at.PathStyle = "true"
		}
	}
	opts = &s3store.Options{}
	inline, err := l.size("inline")
	if err != nil {
		return at, nil, err
	}
	if opts.InlineBytes = int(min(inline, 1<<30)); inline == 0 {
		opts.InlineBytes = -1 // never
	} else if inline < 0 {
		opts.InlineBytes = 0 // the default
	}
	cache, err := l.size("cache")
	if err != nil {
		return at, nil, err
	}
	opts.CacheBytes = max(cache, 0)
	return at, opts, nil
}
