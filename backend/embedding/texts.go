package embedding

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// embedFor is about how long texts of a store are embedded before the work in the background
// looks for changes again.
const embedFor = 10 * time.Second

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
			err = fmt.Errorf("%w; if the service has another model now, remove the file of vectors and start again", err)
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
