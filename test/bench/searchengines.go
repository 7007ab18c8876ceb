package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"memento/backend/cryptstore"
	"memento/backend/dirstore"
	"memento/backend/memstore"
	"memento/backend/pgstore"
	"memento/backend/s3store"
	"memento/backend/sqlitestore"
	"memento/test/bench/retrieval"
	"memento/test/services"

	"github.com/jackc/pgx/v5"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// A searchEngine fills an engine with a data set; path is its own.
type searchEngine func(ctx context.Context, d *retrieval.Dataset, path string) (searcher, error)

// searchEngines are the engines of the part search.
var searchEngines = map[string]searchEngine{
	"memory": func(ctx context.Context, d *retrieval.Dataset, _ string) (searcher, error) {
		return fillStores(ctx, d, memstore.New(nil), nil)
	},
	"sqlite":      searchSQLite,
	"files":       searchFiles,
	"encrypted":   searchEncrypted,
	"postgres":    searchPostgres,
	"s3":          searchS3,
	"fts5":        openFTS5("unicode61"),
	"fts5-porter": openFTS5("porter unicode61"),
	"tsvector":    openTextSearch,
}

func searchSQLite(ctx context.Context, d *retrieval.Dataset, path string) (searcher, error) {
	b, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	return fillStores(ctx, d, b, sqliteIndex(path))
}

func searchFiles(ctx context.Context, d *retrieval.Dataset, path string) (searcher, error) {
	b, err := dirstore.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	return fillStores(ctx, d, b, sqliteIndex(filepath.Join(path, ".memento", "books.db")))
}

// sqliteIndex returns how to measure the index in a SQLite file.
func sqliteIndex(file string) func() (int64, error) {
	return func() (int64, error) {
		return tableBytes(file, `SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name LIKE 'search%'`)
	}
}

// searchEncrypted encrypts what is in memory: a search decrypts and reads it all.
func searchEncrypted(ctx context.Context, d *retrieval.Dataset, _ string) (searcher, error) {
	keys, err := cryptstore.NewKeys()
	if err != nil {
		return nil, err
	}
	inner := memstore.New(nil)
	b, err := cryptstore.Wrap(ctx, inner, keys, nil)
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	return fillStores(ctx, d, b, nil)
}

// postgresURL returns the database of the engines on PostgreSQL.
func postgresURL() (string, error) {
	url := os.Getenv(services.PostgresVariable)
	if url == "" {
		return "", errors.New(services.PostgresVariable + " is not set: run this with go run ./test/services/run -- go run ./test/bench …")
	}
	return url, nil
}

func searchPostgres(ctx context.Context, d *retrieval.Dataset, _ string) (searcher, error) {
	url, err := postgresURL()
	if err != nil {
		return nil, err
	}
	b, err := pgstore.Open(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	return fillStores(ctx, d, b, func() (n int64, err error) {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, conn.Close(ctx)) }()
		err = conn.QueryRow(ctx, `SELECT pg_total_relation_size('memento.search_blocks')`).Scan(&n)
		return n, err
	})
}

// searchS3 uses a prefix of its own in a bucket, which stays there.
func searchS3(ctx context.Context, d *retrieval.Dataset, path string) (searcher, error) {
	if os.Getenv(services.S3Variable) == "" {
		return nil, errors.New(services.S3Variable + " is not set: run this with go run ./test/services/run -- go run ./test/bench …")
	}
	server, err := services.S3(ctx)
	if err != nil {
		return nil, err
	}
	login := credentials.NewStaticV4(server.AccessKey, server.SecretKey, "")
	at := s3store.Location{Bucket: "memento-bench", Prefix: filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path),
		Endpoint: server.Endpoint, Region: server.Region, PathStyle: "true"}
	b, err := s3store.Open(ctx, at, &s3store.Options{Credentials: login, MakeBucket: true})
	if err != nil {
		return nil, err
	}
	return fillStores(ctx, d, b, func() (n int64, err error) {
		host, plain := strings.CutPrefix(server.Endpoint, "http://")
		client, err := minio.New(strings.TrimPrefix(host, "https://"), &minio.Options{Creds: login, Secure: !plain, Region: server.Region})
		if err != nil {
			return 0, err
		}
		for object := range client.ListObjects(ctx, at.Bucket, minio.ListObjectsOptions{Prefix: at.Prefix, Recursive: true}) {
			if object.Err != nil {
				return 0, object.Err
			}
			if strings.Contains(object.Key, "/words/") {
				n += object.Size
			}
		}
		return n, nil
	})
}
