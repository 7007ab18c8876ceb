package s3store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/minio/minio-go/v7"

	"memento"
)

// format is the object that holds the format of the stores below the prefix.
type format struct {
	Memento int `json:"memento"` // see recordFormat
}

// probe checks that the storage honours conditions and that this package can read its
// format, and finds out whether the bucket keeps old versions of objects.
func (b *Backend) probe(ctx context.Context, o *Options, region string) error {
	data, _, err := b.s3.get(ctx, formatKey)
	if errors.Is(err, errNoBucket) && o.MakeBucket {
		_, err = b.s3.try(ctx, func(ctx context.Context) error {
			err := b.s3.core.MakeBucket(ctx, b.s3.bucket, minio.MakeBucketOptions{Region: region})
			if code := minio.ToErrorResponse(err).Code; code == "BucketAlreadyOwnedByYou" || code == "BucketAlreadyExists" {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
		data, _, err = b.s3.get(ctx, formatKey)
	}
	switch {
	case err == nil:
		var f format
		if err := json.Unmarshal(data, &f); err != nil || f.Memento < 1 {
			return fmt.Errorf("%w: the prefix is used by another program", memento.ErrFormat)
		}
		if f.Memento > recordFormat {
			return fmt.Errorf("%w: a newer memento has written the stores", memento.ErrFormat)
		}
	case err == memento.ErrDenied:
		return fmt.Errorf("%w: the credentials may not read the bucket; allow s3:GetObject and s3:ListBucket", err)
	case !errors.Is(err, errNotFound):
		return err
	}
	young := err != nil
	switch {
	case young && o.Existing:
		return fmt.Errorf("%w: there are no stores below this prefix of the bucket", memento.ErrNotExist)
	case o.Existing:
		return b.probeVersions(ctx)
	}
	if err := b.probeConditions(ctx); err != nil {
		return err
	}
	if young {
		data, err := json.Marshal(format{recordFormat})
		if err == nil {
			err = b.s3.write(ctx, formatKey, data)
		}
		if err != nil {
			return err
		}
	}
	return b.probeVersions(ctx)
}

// probeConditions writes an object on condition that it does not exist, and checks that the
// storage refuses to do so again, and to overwrite it on condition of another ETag.
func (b *Backend) probeConditions(ctx context.Context) error {
	key := probesDir + random()
	first, second := []byte(random()), []byte(random())
	etag, err := b.s3.swap(ctx, key, first, ifAbsent)
	if err != nil {
		return err
	}
	defer b.s3.remove(context.WithoutCancel(ctx), key)
	refuses := func(cond condition) error {
		_, err := b.s3.swap(ctx, key, second, cond)
		switch {
		case errors.Is(err, errPrecondition):
			return nil
		case err == nil:
			return fmt.Errorf("%w: the object storage ignores the conditions If-None-Match and If-Match of PUT, so that servers would overwrite each other's changes; use a storage that honours them", memento.ErrUnsupported)
		}
		return err
	}
	if err := refuses(ifAbsent); err != nil {
		return err
	}
	if err := refuses(ifMatch("00000000000000000000000000000000")); err != nil {
		return err
	}
	if _, err := b.s3.swap(ctx, key, second, ifMatch(etag)); err != nil {
		if errors.Is(err, errPrecondition) {
			return fmt.Errorf("%w: the object storage refuses a PUT with If-Match and the object's own ETag", memento.ErrUnsupported)
		}
		return err
	}
	return nil
}

// probeVersions finds out whether the bucket keeps old versions of objects.
func (b *Backend) probeVersions(ctx context.Context) error {
	var config minio.BucketVersioningConfiguration
	_, err := b.s3.try(ctx, func(ctx context.Context) (err error) {
		config, err = b.s3.core.GetBucketVersioning(ctx, b.s3.bucket)
		return err
	})
	switch {
	case err == nil:
		b.s3.versioned = config.Status != "" // a bucket whose versioning is suspended has old versions, too
		return nil
	case errors.Is(err, memento.ErrDenied), errors.Is(err, memento.ErrUnsupported), errors.Is(err, errNotFound):
		return nil // assume that it does not: see docs/s3.md
	}
	return err
}
