package pgstore

import (
	"memento"
)

// A transaction's changes are written by few statements: each takes its rows as arrays, one
// for each column. A single row has statements of its own, which take the server half the
// time. The most frequent change, one memory with its contents, has a single statement for
// all tables.

const (
	writeContents = `INSERT INTO memento.contents (store, seq, data) SELECT $1, * FROM unnest($2::bigint[], $3::bytea[])`

	writeContent = `INSERT INTO memento.contents (store, seq, data) VALUES ($1, $2, $3)`

	versionsInto = `INSERT INTO memento.versions (store, seq, id, imported, memory, operation, path, content, size, sha256, digest,
			actor_kind, actor_id, created_at, redacted_at, redactor_kind, redactor_id, actor_key, redactor_key) `

	writeVersion = versionsInto + `VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`

	writeVersions = versionsInto + `
		SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::boolean[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[],
			$10::bytea[], $11::text[], $12::bytea[], $13::bytea[], $14::bigint[], $15::bigint[], $16::bytea[], $17::bytea[],
			$18::bytea[], $19::bytea[])`

	removeMemories = `DELETE FROM memento.memories WHERE store = $1 AND path = ANY ($2::text[])`

	// Paths start with a slash and IDs do not, so an ID can serve as a temporary path.
	parkMemories = `UPDATE memento.memories SET path = id WHERE store = $1 AND id = ANY ($2::text[])`

	// The store is passed as a column, too. With a single value the planner might assume
	// that few memories are in the store, and scan them for every row.
	updateMemories = `UPDATE memento.memories m SET path = u.path, version = u.version, seq = u.seq, content = u.content,
			size = u.size, sha256 = u.sha256, digest = u.digest, updated_at = u.updated_at
		FROM unnest(array_fill($1::bigint, ARRAY[cardinality($2::text[])]), $2::text[], $3::text[], $4::text[],
				$5::bigint[], $6::bigint[], $7::bigint[], $8::bytea[], $9::text[], $10::bigint[])
			u (store, id, path, version, seq, content, size, sha256, digest, updated_at)
		WHERE m.store = u.store AND m.id = u.id`

	updateMemory = `UPDATE memento.memories SET path = $3, version = $4, seq = $5, content = $6, size = $7, sha256 = $8, digest = $9, updated_at = $10
		WHERE store = $1 AND path = $2`

	memoriesInto = `INSERT INTO memento.memories (store, id, path, version, seq, content, size, sha256, digest, updated_at, created_at) `

	insertMemory = memoriesInto + `VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

	insertMemories = memoriesInto + `
		SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bytea[], $9::text[], $10::bigint[], $11::bigint[])`

	insertOne = writeOne + memoriesInto + `VALUES ($1, $6, $8, $4, $2, $2, $9, $10, $11, $14, $14)` + countOne

	updateOne = writeOne + setOne + ` WHERE store = $1 AND path = $19` + countOne

	// Parts of statements. Their arguments are those of rowOfOne.
	setOne   = `UPDATE memento.memories SET path = $8, version = $4, seq = $2, content = $2, size = $9, sha256 = $10, digest = $11, updated_at = $14`
	intoOne  = `INSERT INTO memento.versions (store, seq, id, imported, memory, operation, path, content, size, sha256, digest, actor_kind, actor_id, created_at, actor_key)`
	countsOf = `SET memories = $15, bytes = $16, last_seq = $2, last_at = $17`

	writeOne = `WITH c AS (
			INSERT INTO memento.contents (store, seq, data) VALUES ($1, $2, $3)
		), v AS (
			` + intoOne + ` VALUES ($1, $2, $4, $5, $6, $7, $8, $2, $9, $10, $11, $12, $13, $14, $18)
		), m AS (
			`
	countOne = `
		)
		UPDATE memento.counters ` + countsOf + ` WHERE store = $1`

	updateCounters = `UPDATE memento.counters SET memories = $2, bytes = $3, last_seq = $4, last_at = $5 WHERE store = $1`
)

// Limits for the rows of one statement.
const (
	maxRows  = 10_000
	maxBytes = 16 << 20
)

// write queues the statements that write the session's changes.
func (s *session) write(t *tx) {
	store := s.view.store
	if len(s.versions) == 1 && len(s.contents) == 1 {
		s.writeOne(t)
		return
	}
	s.writeContents(t, store)
	s.writeVersions(t, store)
	s.writeMemories(t, store)
	t.do(updateCounters, store, s.info.Usage.Memories, s.info.Usage.Bytes, s.seq, micros(s.last))
}

// writeOne queues the statement that writes one version with the memory and contents that
// it makes.
func (s *session) writeOne(t *tx) {
	args := s.rowOfOne()
	if stored := s.view.changed[s.versions[0].Memory].stored; stored != "" {
		t.do(updateOne, append(args, string(stored))...)
	} else {
		t.do(insertOne, args...)
	}
}

// rowOfOne returns the arguments of the statements that write one version with its contents.
func (s *session) rowOfOne() []any {
	r := rowOf(&s.versions[0])
	return []any{s.view.store, r.seq, []byte(s.contents[0].text), r.id, r.imported, r.memory, r.operation, r.path, r.size, r.hash, r.digest,
		r.kind, r.actor, r.created, s.info.Usage.Memories, s.info.Usage.Bytes, micros(s.last), r.actorKey}
}

func (s *session) writeContents(t *tx, store int64) {
	if len(s.contents) == 1 {
		c := &s.contents[0]
		t.do(writeContent, store, c.seq, []byte(c.text))
		return
	}
	for rest := s.contents; len(rest) > 0; {
		var seqs []int64
		var texts [][]byte
		n, bytes := 0, 0
		for ; n < len(rest) && n < maxRows && bytes < maxBytes; n++ {
			seqs, texts = append(seqs, rest[n].seq), append(texts, []byte(rest[n].text))
			bytes += len(rest[n].text)
		}
		rest = rest[n:]
		t.do(writeContents, store, seqs, texts)
	}
}

// versionArrays are rows of versions: one array for each column.
type versionArrays struct {
	seqs, contents, sizes, created               []int64
	ids, memories, operations, paths, digests    []string
	imported                                     []bool
	hashes, kinds, actors, redactKinds, redactBy [][]byte
	actorKeys, redactKeys                        [][]byte
	redacted                                     []*int64
}

func (s *session) writeVersions(t *tx, store int64) {
	if len(s.versions) == 1 {
		r := rowOf(&s.versions[0])
		t.do(writeVersion, store, r.seq, r.id, r.imported, r.memory, r.operation, r.path, r.content, r.size, r.hash, r.digest,
			r.kind, r.actor, r.created, r.redacted, r.redactKind, r.redactBy, r.actorKey, r.redactKey)
		return
	}
	for rest := s.versions; len(rest) > 0; {
		part := rest[:min(len(rest), maxRows)]
		rest = rest[len(part):]
		var a versionArrays
		for i := range part {
			a.add(&part[i])
		}
		t.do(writeVersions, store, a.seqs, a.ids, a.imported, a.memories, a.operations, a.paths, a.contents, a.sizes,
			a.hashes, a.digests, a.kinds, a.actors, a.created, a.redacted, a.redactKinds, a.redactBy,
			a.actorKeys, a.redactKeys)
	}
}

func (a *versionArrays) add(v *version) {
	r := rowOf(v)
	a.seqs = append(a.seqs, r.seq)
	a.ids = append(a.ids, r.id)
	a.imported = append(a.imported, r.imported)
	a.memories = append(a.memories, r.memory)
	a.operations = append(a.operations, r.operation)
	a.paths = append(a.paths, r.path)
	a.contents = append(a.contents, r.content)
	a.sizes = append(a.sizes, r.size)
	a.hashes = append(a.hashes, r.hash)
	a.digests = append(a.digests, r.digest)
	a.kinds = append(a.kinds, r.kind)
	a.actors = append(a.actors, r.actor)
	a.created = append(a.created, r.created)
	a.redacted = append(a.redacted, r.redacted)
	a.redactKinds = append(a.redactKinds, r.redactKind)
	a.redactBy = append(a.redactBy, r.redactBy)
	a.actorKeys = append(a.actorKeys, r.actorKey)
	a.redactKeys = append(a.redactKeys, r.redactKey)
}

// A newVersion is a row of the table versions.
type newVersion struct {
	seq, content, size, created             int64
	id, memory, operation, path, digest     string
	imported                                bool
	hash, kind, actor, redactKind, redactBy []byte
	actorKey, redactKey                     []byte
	redacted                                *int64
}

func rowOf(v *version) newVersion {
	r := newVersion{
		seq: v.Seq, content: v.content, created: micros(v.CreatedAt),
		id: string(v.ID), memory: string(v.Memory), operation: string(v.Operation), path: string(v.Path),
		imported: v.ID.SeqHint() != v.Seq,
		hash:     []byte{}, kind: []byte(v.CreatedBy.Kind), actor: []byte(v.CreatedBy.ID),
		actorKey: []byte(v.CreatedBy.Key), redactKey: []byte(v.RedactedBy.Key),
	}
	switch {
	case v.Redacted():
		r.path, r.redacted = "", optionalMicros(v.RedactedAt)
		r.redactKind, r.redactBy = []byte(v.RedactedBy.Kind), []byte(v.RedactedBy.ID)
	case v.Operation != memento.Deleted:
		r.size, r.hash, r.digest = v.Size, hashBytes(v.SHA256), v.Digest
	}
	return r
}

// memoryArrays are rows of memories: one array for each column.
type memoryArrays struct {
	ids, paths, versions, digests           []string
	seqs, contents, sizes, updated, created []int64
	hashes                                  [][]byte
}

func (a *memoryArrays) add(h *memoryState, seq int64) {
	a.ids = append(a.ids, string(h.ID))
	a.paths = append(a.paths, string(h.Path))
	a.versions = append(a.versions, string(h.Version))
	a.seqs = append(a.seqs, seq)
	a.contents = append(a.contents, h.content)
	a.sizes = append(a.sizes, h.Size)
	a.hashes = append(a.hashes, hashBytes(h.SHA256))
	a.digests = append(a.digests, h.Digest)
	a.updated = append(a.updated, micros(h.UpdatedAt))
	a.created = append(a.created, micros(h.CreatedAt))
}

func (s *session) writeMemories(t *tx, store int64) {
	seqs := map[memento.VersionID]int64{}
	for i := range s.versions {
		seqs[s.versions[i].ID] = s.versions[i].Seq
	}
	if len(s.view.changed) == 1 {
		for _, h := range s.view.changed {
			if h.ID == "" {
				break
			}
			seq, hash := seqs[h.Version], hashBytes(h.SHA256)
			if h.stored == "" {
				t.do(insertMemory, store, string(h.ID), string(h.Path), string(h.Version), seq, h.content, h.Size, hash, h.Digest, micros(h.UpdatedAt), micros(h.CreatedAt))
			} else {
				t.do(updateMemory, store, string(h.stored), string(h.Path), string(h.Version), seq, h.content, h.Size, hash, h.Digest, micros(h.UpdatedAt))
			}
			return
		}
	}
	var gone, parked []string
	var updated, inserted memoryArrays
	targets := map[memento.Path]bool{} // new paths of moved memories
	for _, h := range s.view.changed {
		if h.ID != "" && h.stored != "" && h.stored != h.Path {
			targets[h.Path] = true
		}
	}
	for id, h := range s.view.changed {
		switch {
		case h.ID == "" && h.stored != "":
			gone = append(gone, string(h.stored))
		case h.ID == "":
		case h.stored == "":
			inserted.add(&h, seqs[h.Version])
		default:
			updated.add(&h, seqs[h.Version])
			if targets[h.stored] { // another memory moves to its path
				parked = append(parked, string(id))
			}
		}
	}
	if len(gone) > 0 {
		t.do(removeMemories, store, gone)
	}
	if len(parked) > 0 {
		t.do(parkMemories, store, parked)
	}
	if a := &updated; len(a.ids) > 0 {
		t.do(updateMemories, store, a.ids, a.paths, a.versions, a.seqs, a.contents, a.sizes, a.hashes, a.digests, a.updated)
	}
	if a := &inserted; len(a.ids) > 0 {
		t.do(insertMemories, store, a.ids, a.paths, a.versions, a.seqs, a.contents, a.sizes, a.hashes, a.digests, a.updated, a.created)
	}
}
