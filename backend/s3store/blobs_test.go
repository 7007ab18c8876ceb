package s3store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"memento/backend/storetest"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// blobs returns the objects below a test's prefix.
func (s server) blobs(ctx context.Context, dir string) (found []storetest.Blob, err error) {
	at, _, err := s.at(ctx, dir)
	if err != nil {
		return nil, err
	}
	srv, err := s(ctx)
	if err != nil {
		return nil, err
	}
	_, host, _ := strings.Cut(srv.Endpoint, "://")
	c, err := minio.New(host, &minio.Options{Creds: credentials.NewStaticV4(srv.AccessKey, srv.SecretKey, ""), Region: srv.Region, BucketLookup: minio.BucketLookupPath,
		Transport: &http.Transport{DisableKeepAlives: true}})
	if err != nil {
		return nil, err
	}
	for info := range c.ListObjectsIter(ctx, at.Bucket, minio.ListObjectsOptions{Prefix: at.Prefix + "/", Recursive: true}) {
		if info.Err != nil {
			return nil, info.Err
		}
		object, err := c.GetObject(ctx, at.Bucket, info.Key, minio.GetObjectOptions{})
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(object)
		if err := errors.Join(err, object.Close()); err != nil {
			return nil, err
		}
		found = append(found, storetest.Blob{Name: strings.TrimPrefix(info.Key, at.Prefix), Data: data, Write: func(ctx context.Context, data []byte) error {
			_, err := c.PutObject(ctx, at.Bucket, info.Key, bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{})
			return err
		}})
	}
	return found, nil
}
