package services

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"time"
)

// do sends a request for a path without special characters, and returns the status of the
// response.
//
// Source: Amazon S3 API Reference, "Authenticating Requests: Using the Authorization
// Header (AWS Signature Version 4)".
func (s S3Server) do(ctx context.Context, method, path string, body []byte) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.Endpoint+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	now := time.Now().UTC()
	date, moment := now.Format("20060102"), now.Format("20060102T150405Z")
	hash := sha256.Sum256(body)
	sum := hex.EncodeToString(hash[:])
	const signed = "host;x-amz-content-sha256;x-amz-date"
	canonical := sha256.Sum256([]byte(strings.Join([]string{
		method, path, "", "host:" + req.URL.Host, "x-amz-content-sha256:" + sum, "x-amz-date:" + moment, "", signed, sum,
	}, "\n")))
	scope := date + "/" + s.Region + "/s3/aws4_request"
	key := []byte("AWS4" + s.SecretKey)
	for _, part := range []string{date, s.Region, "s3", "aws4_request"} {
		key = keyedHash(key, part)
	}
	signature := keyedHash(key, strings.Join([]string{"AWS4-HMAC-SHA256", moment, scope, hex.EncodeToString(canonical[:])}, "\n"))
	req.Header.Set("X-Amz-Date", moment)
	req.Header.Set("X-Amz-Content-Sha256", sum)
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+s.AccessKey+"/"+scope+
		",SignedHeaders="+signed+",Signature="+hex.EncodeToString(signature))

	// A connection kept open would outlive the tests.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

func keyedHash(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
