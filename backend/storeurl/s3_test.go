package storeurl_test

import (
	"crypto/rand"
	"errors"
	"net/url"
	"strings"
	"testing"

	"memento"
	"memento/backend"
	"memento/backend/storeurl"
	"memento/test/needs"
	"memento/test/services"
)

// bucket is a URL of a new place on an S3 server, whose keys are in the environment.
func bucket(t *testing.T, server func() (services.S3Server, error), more string) string {
	t.Helper()
	s, err := server()
	if err == nil {
		err = s.CreateBucket(t.Context(), "memento-storeurl")
	}
	needs.Check(t, err)
	t.Setenv("AWS_ACCESS_KEY_ID", s.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s.SecretKey)
	return "s3://memento-storeurl/" + strings.ToLower(rand.Text()) + "?region=" + s.Region + "&endpoint=" + url.QueryEscape(s.Endpoint) + more
}

func TestS3(t *testing.T) {
	for name, server := range map[string]func() (services.S3Server, error){
		"first":  func() (services.S3Server, error) { return services.S3(t.Context()) },
		"second": func() (services.S3Server, error) { return services.S3Second(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			at := bucket(t, server, "&path_style=true&inline=4KiB&cache=16MiB")
			if err := storeurl.Check(at); err != nil {
				t.Error(err)
			}
			b, err := storeurl.Open(t.Context(), at, nil)
			if err != nil {
				t.Fatal(err)
			}
			write(t, b)
			puts := 0.0
			for _, m := range b.(backend.MetricSource).Metrics() {
				if m.Name == "requests_total" && m.LabelValue == "put" {
					puts = m.Value
				}
			}
			if puts == 0 {
				t.Error("no puts were measured")
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			if same, err := storeurl.Same(at, strings.Replace(at, "?", "/?", 1)); !same || err != nil {
				t.Errorf("the same: %v, %v", same, err)
			}
			if same, err := storeurl.Same(at, strings.Replace(at, "?", "x?", 1)); same || err != nil {
				t.Errorf("another: %v, %v", same, err)
			}
			t.Setenv("AWS_SECRET_ACCESS_KEY", canary)
			if _, err := storeurl.Open(t.Context(), at, nil); !errors.Is(err, memento.ErrDenied) || strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), "127.0.0.1") {
				t.Errorf("with a wrong key: %v", err)
			}
		})
	}
}

func TestS3Refused(t *testing.T) {
	for at, says := range map[string]string{
		"s3:bucket":                                 "write s3://BUCKET",
		"s3:///prefix":                              "write s3://BUCKET",
		"s3://id:" + canary + "@bucket":             "keys are not allowed in the URL",
		"s3://" + canary + ":9000/bucket":           "a bucket, without a port",
		"s3://b?secret=" + canary:                   `unknown query key "secret"`,
		"s3://b?endpoint=localhost":                 `"endpoint" must be a URL`,
		"s3://b?endpoint=http://a:" + canary + "@h": `"endpoint" must be a URL`,
		"s3://b?path_style=maybe":                   `"path_style" must be true or false`,
		"s3://b?inline=lots":                        "a number of bytes",
		"s3://b?cache=1&cache=2":                    "is given twice",
	} {
		b, err := storeurl.Open(t.Context(), at, nil)
		switch {
		case err == nil:
			t.Errorf("%s was opened", at)
			b.Close()
		case !errors.Is(err, memento.ErrInvalid) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), canary):
			t.Errorf("%s: %v; want it to say %q", at, err, says)
		}
	}
}
