package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"memento"
	"memento/internal/services"
	"memento/s3store"
)

// An objectStore is an engine on an S3 server: a bucket of its own, in which each
// place is a prefix.
type objectStore struct {
	server services.S3Server
	creds  *credentials.Credentials
	client *minio.Core
	bucket string
	ours   bool // whether the server goes with this process, and the bucket with it
}

func openObjects(ctx context.Context) (*objectStore, error) {
	ours := os.Getenv(services.S3Variable) == ""
	server, err := services.S3(ctx)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(server.Endpoint)
	if err != nil {
		return nil, err
	}
	o := &objectStore{server: server, creds: credentials.NewStaticV4(server.AccessKey, server.SecretKey, ""), bucket: fmt.Sprintf("memento-bench-%d", time.Now().UnixNano()), ours: ours}
	o.client, err = minio.NewCore(at.Host, &minio.Options{
		Creds:        o.creds,
		Region:       server.Region,
		Secure:       at.Scheme == "https",
		BucketLookup: minio.BucketLookupPath,
	})
	if err != nil {
		return nil, err
	}
	return o, o.client.MakeBucket(ctx, o.bucket, minio.MakeBucketOptions{Region: server.Region})
}

func (o *objectStore) open(ctx context.Context, place string) (memento.Backend, error) {
	return s3store.Open(ctx,
		s3store.Location{Bucket: o.bucket, Prefix: place, Endpoint: o.server.Endpoint, Region: o.server.Region, PathStyle: "true"},
		&s3store.Options{Credentials: o.creds})
}

func (o *objectStore) settle(context.Context, string) error { return nil }

// indexes is false: a search reads what it searches.
func (o *objectStore) indexes() bool { return false }

// Close removes the bucket with all that is in it.
func (o *objectStore) Close() error {
	if o.ours {
		return nil
	}
	ctx := context.Background()
	list := o.client.Client.ListObjects(ctx, o.bucket, minio.ListObjectsOptions{Recursive: true})
	var err error
	for failed := range o.client.RemoveObjects(ctx, o.bucket, list, minio.RemoveObjectsOptions{}) {
		err = errors.Join(err, failed.Err)
	}
	return errors.Join(err, o.client.RemoveBucket(ctx, o.bucket))
}

// The target of s3store, against what the server itself can do.
const targetPuts = 0.8

// measureObjects compares creates with conditional PUTs of objects as large as
// those that a create makes, and views with GETs of them.
func (b *bench) measureObjects(ctx context.Context) (f *besideFigures, err error) {
	e, err := b.engine(ctx, engineS3)
	if err != nil {
		return nil, err
	}
	o := e.(*objectStore)
	fmt.Fprintf(b.progress, "s3 beside PUTs and GETs\n")
	backend, err := o.open(ctx, "beside")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, backend.Close()) }()
	t, screened, err := newTeams(ctx, backend, b.seed)
	if err != nil {
		return nil, err
	}
	size, each, err := o.sizeOfCreate(ctx, t)
	if err != nil {
		return nil, err
	}
	f = &besideFigures{Medium: fmt.Sprintf("versitygw on the same machine; a create of %s bytes makes %.2f objects, the usual one of %s bytes",
		thousands(len(t.notes[0].text)), each, thousands(size))}
	raw := &rawObjects{o, strings.Repeat("memento\n", size/8+1)[:size], make([]int, teamSize)}
	put, get := fmt.Sprintf("PUT If-None-Match: * of %s bytes", thousands(size)), fmt.Sprintf("GET of %s bytes", thousands(size))
	return f, b.hold(ctx, f,
		contest{create, put, targetPuts, byTeam(raw.put), byTeam(t.create)},
		contest{strReplace, put, 0, byTeam(raw.put), byTeam(t.strReplace)},
		contest{create + screenedToo, put, 0, byTeam(raw.put), byTeam(screened.create)},
		contest{viewFile, get, 0, byTeam(raw.get), byTeam(t.view)},
	)
}

// sizeOfCreate returns the median size of the objects that creates make, and how
// many each makes.
func (o *objectStore) sizeOfCreate(ctx context.Context, t *team) (size int, each float64, err error) {
	before, err := o.sizes(ctx)
	if err != nil {
		return 0, 0, err
	}
	creates := 0
	for caller := range teamSize {
		for i := range 10 {
			if err := t.create(ctx, caller, i); err != nil {
				return 0, 0, err
			}
			creates++
		}
	}
	after, err := o.sizes(ctx)
	if err != nil {
		return 0, 0, err
	}
	var fresh []float64
	for key, size := range after {
		if _, old := before[key]; !old {
			fresh = append(fresh, float64(size))
		}
	}
	if len(fresh) == 0 {
		return 0, 0, errors.New("a create makes no object")
	}
	return int(median(fresh)), float64(len(fresh)) / float64(creates), nil
}

// sizes returns the sizes of all objects, by their keys.
func (o *objectStore) sizes(ctx context.Context) (map[string]int64, error) {
	sizes := map[string]int64{}
	for object := range o.client.Client.ListObjects(ctx, o.bucket, minio.ListObjectsOptions{Recursive: true}) {
		if object.Err != nil {
			return nil, object.Err
		}
		sizes[object.Key] = object.Size
	}
	return sizes, nil
}

// rawObjects writes and reads objects without memento.
type rawObjects struct {
	*objectStore
	body string
	made []int // by caller
}

func (r *rawObjects) key(caller, i int) string { return fmt.Sprintf("raw/%02d/%08d", caller, i) }

// put makes the same request as s3store.
func (r *rawObjects) put(ctx context.Context, caller, _ int) error {
	opts := minio.PutObjectOptions{DisableContentSha256: true, DisableMultipart: true}
	opts.SetMatchETagExcept("*")
	i := r.made[caller]
	r.made[caller]++
	hash := sha256.Sum256([]byte(r.body))
	_, err := r.client.PutObject(ctx, r.bucket, r.key(caller, i), strings.NewReader(r.body), int64(len(r.body)), "", hex.EncodeToString(hash[:]), opts)
	return err
}

func (r *rawObjects) get(ctx context.Context, caller, i int) error {
	body, _, _, err := r.client.GetObject(ctx, r.bucket, r.key(caller, i%teamNotes), minio.GetObjectOptions{})
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, body)
	if err == nil && n != int64(len(r.body)) {
		err = fmt.Errorf("an object has %d bytes", n)
	}
	return errors.Join(err, body.Close())
}
