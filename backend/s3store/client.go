package s3store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"

	"memento"
)

// A client makes the requests. It retries by itself, and the retries of minio-go are
// switched off: the repetition of a conditional write may be refused because of the
// first attempt, so the caller must know that there was one.
type client struct {
	core           *minio.Core
	bucket         string
	prefix         string // of all keys; "" or ends in a slash
	secure         bool
	attemptTimeout time.Duration // timeout of one attempt
	retryTimeout   time.Duration // for how long a failing request is repeated
	retries        atomic.Int64
	versioned      bool // the bucket keeps old versions of objects, which must be deleted one by one
}

// Answers of S3 that the store handles itself. They are not returned to callers.
var (
	errNotFound     = errors.New("no such object")
	errPrecondition = errors.New("condition does not hold")
)

// An attemptError is the classified error of one attempt.
type attemptError struct {
	err       error
	retry     bool // another attempt may succeed
	uncertain bool // the request may have been carried out, or may yet be
}

// classify translates an error of minio-go.
func classify(ctx context.Context, err error) attemptError {
	if ctx.Err() != nil { // the caller's own, not that of the attempt
		return attemptError{err: ctx.Err(), uncertain: true}
	}
	var said minio.ErrorResponse
	if !errors.As(err, &said) || said.StatusCode == 0 && said.Code == "" {
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
			return attemptError{err: memento.ErrUnavailable, retry: true}
		}
		if strings.Contains(err.Error(), "x509:") || strings.Contains(err.Error(), "tls:") || strings.Contains(err.Error(), "HTTP response to HTTPS") {
			return attemptError{err: fmt.Errorf("%w: the server's certificate is not trusted, or the server does not speak TLS", memento.ErrUnavailable)}
		}
		if strings.Contains(err.Error(), "credentials") || strings.Contains(err.Error(), "Access Key") {
			return attemptError{err: fmt.Errorf("%w: there are no credentials for the object storage", memento.ErrDenied)}
		}
		return attemptError{err: memento.ErrUnavailable, retry: true, uncertain: true}
	}
	switch said.Code {
	case "NoSuchKey", "NoSuchVersion":
		return attemptError{err: errNotFound}
	case "NoSuchBucket":
		return attemptError{err: errNoBucket}
	case "PreconditionFailed":
		return attemptError{err: errPrecondition}
	case "ConditionalRequestConflict", "OperationAborted":
		return attemptError{err: memento.ErrUnavailable, retry: true}
	case "SlowDown", "SlowDownRead", "SlowDownWrite", "Throttling", "ThrottlingException", "RequestThrottled", "RequestLimitExceeded", "TooManyRequests":
		return attemptError{err: memento.ErrUnavailable, retry: true}
	case "InvalidBucketName":
		return attemptError{err: fmt.Errorf("%w: the name of the bucket", memento.ErrInvalid)}
	case "AccessDenied", "AllAccessDisabled":
		return attemptError{err: memento.ErrDenied}
	case "InvalidAccessKeyId", "XAdminUserNotFound", "SignatureDoesNotMatch", "InvalidToken", "AccountProblem":
		return attemptError{err: fmt.Errorf("%w: the object storage rejects these credentials", memento.ErrDenied)}
	case "ExpiredToken", "ExpiredTokenException":
		return attemptError{err: fmt.Errorf("%w: the credentials have expired", memento.ErrDenied), retry: true}
	case "RequestTimeTooSkewed":
		return attemptError{err: fmt.Errorf("%w: this machine's clock differs too much from that of the object storage", memento.ErrUnavailable)}
	case "QuotaExceeded", "XMinioAdminBucketQuotaExceeded", "XMinioStorageFull", "InsufficientStorage", "NoSpaceLeftOnDevice":
		return attemptError{err: errFull}
	case "MethodNotAllowed", "ObjectLocked", "InvalidObjectState":
		return attemptError{err: memento.ErrReadOnly}
	case "InvalidRange":
		return attemptError{err: fmt.Errorf("%w: an object is shorter than when it was written", memento.ErrFormat)}
	case "NotImplemented":
		return attemptError{err: fmt.Errorf("%w: the object storage does not implement a request", memento.ErrUnsupported)}
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "IllegalLocationConstraintException":
		return attemptError{err: fmt.Errorf("%w: the bucket is in another region; set its region", memento.ErrInvalid)}
	}
	switch s := said.StatusCode; {
	case s == http.StatusNotFound && (said.Code == "" || said.Code == "NotFound"):
		return attemptError{err: errNotFound}
	case s == http.StatusPreconditionFailed:
		return attemptError{err: errPrecondition}
	case s == http.StatusForbidden || s == http.StatusUnauthorized:
		return attemptError{err: memento.ErrDenied}
	case s == http.StatusInsufficientStorage:
		return attemptError{err: errFull}
	case s == http.StatusConflict || s == http.StatusTooManyRequests:
		return attemptError{err: memento.ErrUnavailable, retry: true}
	case s >= 500 || s == http.StatusRequestTimeout:
		return attemptError{err: memento.ErrUnavailable, retry: true, uncertain: true}
	case s >= 200 && s < 300:
		return attemptError{err: memento.ErrUnavailable, retry: true, uncertain: true} // an answer that was cut off
	}
	return attemptError{err: fmt.Errorf("object storage refused a request (%d %s)", said.StatusCode, said.Code)}
}

var errFull = fmt.Errorf("%w: the object storage is full, or the bucket's quota used up", memento.ErrNoSpace)

// try calls f until it succeeds, fails for good, or the retry timeout is over. It reports
// whether an attempt that failed may have been carried out, or may still be.
func (c *client) try(ctx context.Context, f func(context.Context) error) (uncertain bool, err error) {
	var began time.Time
	for n := 0; ; n++ {
		one, cancel := context.WithTimeout(ctx, c.attemptTimeout)
		err := f(one)
		cancel()
		if err == nil {
			return uncertain, nil
		}
		failure := classify(ctx, err)
		if !failure.retry || ctx.Err() != nil {
			if failure.uncertain {
				uncertain = true
			}
			return uncertain, failure.err
		}
		uncertain = uncertain || failure.uncertain
		now := time.Now()
		if n == 0 {
			began = now
		}
		pause := min(20*time.Millisecond<<min(n, 7), 2*time.Second)
		pause = pause/2 + rand.N(pause/2)
		if now.Sub(began)+pause > c.retryTimeout {
			return uncertain, failure.err
		}
		c.retries.Add(1)
		if err := sleep(ctx, pause); err != nil {
			return uncertain, err
		}
	}
}

// sleep waits for d. It returns the error of ctx if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxPrealloc is the maximum size of a buffer that is allocated because of an object's
// announced size.
const maxPrealloc = 64 << 20

// get returns an object and its ETag. Errors: errNotFound.
func (c *client) get(ctx context.Context, key string) (data []byte, etag string, err error) {
	return c.getPart(ctx, key, 0, 0)
}

// getPart returns size bytes of an object from an offset on, or all of it if size is 0.
func (c *client) getPart(ctx context.Context, key string, from, size int64) (data []byte, etag string, err error) {
	var opts minio.GetObjectOptions
	if size > 0 {
		if err := opts.SetRange(from, from+size-1); err != nil {
			return nil, "", err
		}
	}
	return c.getObject(ctx, key, opts, math.MaxInt64)
}

// getBounded is get for an object of at most so many bytes. A larger one has no data.
func (c *client) getBounded(ctx context.Context, key string, most int64) (data []byte, etag string, err error) {
	return c.getObject(ctx, key, minio.GetObjectOptions{}, most)
}

func (c *client) getObject(ctx context.Context, key string, opts minio.GetObjectOptions, most int64) (data []byte, etag string, err error) {
	_, err = c.try(ctx, func(ctx context.Context) error {
		body, info, _, err := c.core.GetObject(ctx, c.bucket, c.prefix+key, opts)
		if err != nil {
			return err
		}
		defer body.Close()
		if info.Size > most {
			data, etag = nil, info.ETag
			return nil
		}
		buf := bytes.NewBuffer(make([]byte, 0, min(max(info.Size, 0), maxPrealloc)+bytes.MinRead))
		if _, err := buf.ReadFrom(body); err != nil {
			return err
		}
		if info.Size >= 0 && int64(buf.Len()) != info.Size {
			return io.ErrUnexpectedEOF
		}
		data, etag = buf.Bytes(), info.ETag
		return nil
	})
	return data, etag, err
}

// A condition of a write. The zero condition always holds.
type condition struct {
	absent bool   // the object does not exist
	etag   string // unless "": the object has this ETag
}

var ifAbsent = condition{absent: true}

func ifMatch(etag string) condition { return condition{etag: etag} }

// put writes an object if the condition holds, and returns its ETag. With an error it
// reports whether the write may nevertheless have been carried out, or may still be. With
// errPrecondition that means that an earlier attempt of the same call may have written
// the object; the caller checks that.
func (c *client) put(ctx context.Context, key string, data []byte, cond condition) (etag string, uncertain bool, err error) {
	sum := "" // TLS protects the body, so that it need not be signed
	if !c.secure {
		hash := sha256.Sum256(data)
		sum = hex.EncodeToString(hash[:])
	}
	opts := minio.PutObjectOptions{DisableContentSha256: true, DisableMultipart: true}
	switch {
	case cond.absent:
		opts.SetMatchETagExcept("*")
	case cond.etag != "":
		opts.SetMatchETag(cond.etag)
	}
	uncertain, err = c.try(ctx, func(ctx context.Context) error {
		info, err := c.core.PutObject(ctx, c.bucket, c.prefix+key, bytes.NewReader(data), int64(len(data)), "", sum, opts)
		etag = info.ETag
		return err
	})
	if err == nil {
		return etag, false, nil
	}
	if err == memento.ErrDenied { // not because of unknown credentials: see classify
		err = fmt.Errorf("%w: the credentials may not write", memento.ErrReadOnly)
	}
	if cond.etag != "" && errors.Is(err, errNotFound) {
		err = errPrecondition
	}
	return "", uncertain, err
}

// swap is put for small objects that hold random bytes. After an uncertain attempt it
// reads the object back. So errPrecondition means that the object does not hold what was to
// be written, and will not: the write was not carried out, or it was, its answer was lost, and
// another process has replaced the object since.
func (c *client) swap(ctx context.Context, key string, data []byte, cond condition) (etag string, err error) {
	etag, uncertain, err := c.put(ctx, key, data, cond)
	if err == nil || !uncertain {
		return etag, err
	}
	if errors.Is(err, errPrecondition) {
		found, etag, err := c.get(ctx, key)
		switch {
		case err == nil && bytes.Equal(found, data):
			return etag, nil
		case err == nil || errors.Is(err, errNotFound):
			return "", errPrecondition
		}
		return "", outcomeUnknown(err)
	}
	return "", outcomeUnknown(err)
}

// write is put without a condition, for objects that have only one writer.
func (c *client) write(ctx context.Context, key string, data []byte) error {
	_, _, err := c.put(ctx, key, data, condition{})
	return err
}

// outcomeUnknown returns the error of a write that may have been carried out, or may
// still be.
func outcomeUnknown(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: object storage did not answer", memento.ErrUncertain)
}

// remove deletes objects. It is no error if some do not exist.
func (c *client) remove(ctx context.Context, keys ...string) error {
	return parallel(ctx, len(keys), func(ctx context.Context, i int) error {
		if c.versioned {
			return c.eraseVersions(ctx, keys[i], false)
		}
		_, err := c.try(ctx, func(ctx context.Context) error {
			return c.core.RemoveObject(ctx, c.bucket, c.prefix+keys[i], minio.RemoveObjectOptions{})
		})
		if errors.Is(err, errNotFound) {
			err = nil
		}
		return err
	})
}

// eraseVersions deletes the old versions of an object in a versioned bucket, and, unless
// latestStays is set, also the latest.
func (c *client) eraseVersions(ctx context.Context, key string, latestStays bool) error {
	full := c.prefix + key
	var ids []string
	_, err := c.try(ctx, func(ctx context.Context) error {
		ids = nil
		for info := range c.core.ListObjectsIter(ctx, c.bucket, minio.ListObjectsOptions{Prefix: full, Recursive: true, WithVersions: true}) {
			if info.Err != nil {
				return info.Err
			}
			if info.Key == full && !(latestStays && info.IsLatest) {
				ids = append(ids, info.VersionID)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		_, err := c.try(ctx, func(ctx context.Context) error {
			return c.core.RemoveObject(ctx, c.bucket, full, minio.RemoveObjectOptions{VersionID: id})
		})
		if err != nil && !errors.Is(err, errNotFound) {
			return err
		}
	}
	return nil
}

// overwrite writes an object, and deletes its old versions if the bucket keeps them.
func (c *client) overwrite(ctx context.Context, key string, data []byte) error {
	if err := c.write(ctx, key, data); err != nil || !c.versioned {
		return err
	}
	return c.eraseVersions(ctx, key, true)
}

// A listed object.
type listed struct {
	key      string // without the prefix of all keys; ends with a slash if it is a directory
	etag     string
	modified time.Time // when it was written, by the storage's clock
	size     int64
}

// list returns the objects below dir in order of their keys, from the first one after the
// key after on, at most limit unless that is 0. If all is not set, subdirectories are
// returned in place of the objects in them.
func (c *client) list(ctx context.Context, dir, after string, limit int, all bool) (found []listed, err error) {
	opts := minio.ListObjectsOptions{Prefix: c.prefix + dir, Recursive: all, FetchOwner: new(bool)}
	if after != "" {
		opts.StartAfter = c.prefix + after
	}
	if limit > 0 {
		opts.MaxKeys = min(limit, 1000)
	}
	_, err = c.try(ctx, func(ctx context.Context) error {
		found = nil
		for info := range c.core.ListObjectsIter(ctx, c.bucket, opts) {
			if info.Err != nil {
				return info.Err
			}
			key := strings.TrimPrefix(info.Key, c.prefix)
			if key <= after { // some servers include the key after
				continue
			}
			found = append(found, listed{key, info.ETag, info.LastModified, info.Size})
			if len(found) == limit {
				break
			}
		}
		return ctx.Err()
	})
	return found, err
}
