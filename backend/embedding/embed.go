package embedding

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"memento"
)

const (
	// batchTexts is how many texts are embedded at most before the work in the background
	// looks for changes again, whose vectors have to go.
	batchTexts = 64

	// batchMemories is how many memories are read for that at most.
	batchMemories = 64

	// embedFor is about how long texts of a store are embedded before that.
	embedFor = 10 * time.Second
)

// embedSome embeds some of what is lacking. What was embedded before an error is kept. The
// caller holds working.
func (s *Searcher) embedSome(ctx context.Context, store memento.StoreID, x *index) error {
	var ids []memento.MemoryID
	for id := range x.lacking {
		if ids = append(ids, id); len(ids) == askTogether {
			break
		}
	}
	if gained, err := s.takeTurn(ctx, store, x, ids); err != nil || gained {
		return err
	}
	want := x.dimension()
	var texts []string
	places := map[textKey]int{} // in texts
	revised := map[memento.MemoryID]*entry{}
	for _, id := range ids {
		if len(revised) == batchMemories || len(texts) >= batchTexts {
			break
		}
		old := x.memories[id]
		sections, all, version, err := s.read(ctx, store, id)
		if err != nil {
			return err
		}
		if version != old.version {
			// It is being changed, and follow finds it next; or it is damaged.
			s.look(store, false)
			revised[id] = &entry{path: old.path, version: old.version, unread: true}
			continue
		}
		for i := range sections {
			key := sections[i].key
			sections[i].refused = slices.ContainsFunc(old.sections, func(o section) bool { return o.key == key && o.refused })
			if x.vectors[key] == nil && !sections[i].refused && len(texts) < batchTexts {
				if _, twice := places[key]; !twice {
					places[key] = len(texts)
					texts = append(texts, all[i])
				}
			}
		}
		revised[id] = &entry{path: old.path, version: version, sections: sections, cut: true}
	}
	if len(revised) == 0 {
		return nil
	}
	made, refused, failed := s.embedTexts(ctx, texts, want)
	x.mu.Lock()
	for key, i := range places {
		if made[i] != nil {
			x.add(key, made[i])
		}
	}
	for id, e := range revised {
		for i := range e.sections {
			if at, sent := places[e.sections[i].key]; sent && refused[at] {
				e.sections[i].refused = true
			}
		}
		x.set(id, e)
	}
	n := int64(len(x.memories))
	tell := slices.Contains(refused, true) && !x.told
	x.told = x.told || tell
	x.mu.Unlock()
	if tell {
		s.opts.Logger.Warn("the service of embeddings does not accept all texts of a store; words alone find those", "store", store)
	}
	// What was embedded is kept, though the caller has no more time: it was paid for.
	keeping, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTime)
	defer cancel()
	if err := s.keep(keeping, store, x, slices.Collect(maps.Keys(revised))); err != nil {
		return err
	}
	if x.size() > s.room(x) {
		s.giveUp(store, x, n)
		return nil
	}
	return failed
}

// embedTexts embeds texts, some at a time, as many as it has time for. Those that are refused
// have no vector. If it fails, it returns the vectors that it has made before, too.
func (s *Searcher) embedTexts(ctx context.Context, texts []string, want int) (made []vector, refused []bool, err error) {
	made, refused = make([]vector, len(texts)), make([]bool, len(texts))
	accepts := false // whether the Embedder is known to accept texts
	single := 0      // texts before this are embedded one at a time
	begun := time.Now()
	for done := 0; done < len(texts) && time.Since(begun) < embedFor; {
		n := min(s.batch.size(), len(texts)-done)
		if done < single {
			n = 1
		}
		vectors, err := s.embed(ctx, texts[done:done+n], Document, want)
		switch {
		case err == nil:
			s.batch.worked(n)
			accepts = true
			for i, v := range vectors {
				made[done+i] = direction(v)
			}
			want = len(vectors[0])
			done += n
			continue
		case errors.Is(err, ErrRefused):
			if !accepts {
				if err := s.probe(ctx, want); err != nil {
					return made, refused, &embedError{err}
				}
				accepts = true
			}
			if n > 1 {
				single = done + n
				continue
			}
			s.counts.refused.Add(1)
			refused[done] = true
			done++
			continue
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			s.batch.tookTooLong(n)
		case errors.Is(err, ErrVectors) && want > 0:
			err = fmt.Errorf("%w; if the service has another model now, set embeddings.dimensions to make all vectors again", err)
		}
		return made, refused, &embedError{err}
	}
	return made, refused, nil
}

// probe returns an error if the Embedder does not even accept a short text: then not the
// texts are at fault, but its settings, such as the number of dimensions.
func (s *Searcher) probe(ctx context.Context, want int) error {
	_, err := s.embed(ctx, []string{"text"}, Document, want)
	if errors.Is(err, ErrRefused) {
		err = fmt.Errorf("even a short text is refused, so check the API, the model and its dimensions: %w", err)
		s.failed(err)
	}
	return err
}

// embed calls the Embedder, and notes whether it works. want is the length of the vectors;
// 0 for any.
func (s *Searcher) embed(ctx context.Context, texts []string, purpose Purpose, want int) ([][]float32, error) {
	vectors, err := s.opts.Embedder.Embed(ctx, texts, purpose)
	if err == nil {
		err = check(vectors, len(texts), want)
	}
	switch {
	case err == nil:
		if s.health.works() {
			s.opts.Logger.Info("embeddings work again")
		}
		if purpose == Document {
			s.counts.embedded.Add(int64(len(texts)))
		} else {
			s.slow.works()
		}
	case errors.Is(err, ErrRefused), errors.Is(ctx.Err(), context.Canceled):
	case ctx.Err() != nil:
		// The caller's time is over. That says nothing about texts for which there is more.
		if purpose == Query && s.slow.fails(err) {
			s.opts.Logger.Info("the vector of a query took longer than a search waits; words alone decide", "timeout", s.opts.QueryTimeout)
		}
	default:
		s.failed(err)
	}
	return vectors, err
}

// failed notes that the Embedder does not work.
func (s *Searcher) failed(err error) {
	s.counts.failures.Add(1)
	if s.health.fails(err) {
		s.opts.Logger.Warn("embeddings failed; search goes on by words alone", "error", err)
	}
}

// An embedError is an error of the Embedder.
type embedError struct{ err error }

func (e *embedError) Error() string { return e.err.Error() }
func (e *embedError) Unwrap() error { return e.err }
