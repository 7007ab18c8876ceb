package embedding

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// An Embedder turns texts into vectors that are near each other if the texts mean something
// similar. It is safe for concurrent use.
type Embedder interface {
	// Embed returns a vector for each text, in order. All have the same length, and their
	// length only matters for comparing them.
	//
	// Errors: ErrRefused if the texts are not accepted, so that repeating does not help; a
	// *RetryError; ErrVectors.
	Embed(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error)

	// Model identifies what vectors depend on besides the text, such as the name of the
	// model. Vectors of different models are never compared: when it changes, all are
	// made again.
	Model() string
}

// Purpose is what a text is embedded for. Some models distinguish it.
type Purpose int

// The purposes.
const (
	Document Purpose = iota // a text that is to be found
	Query                   // what is looked for
)

var (
	// ErrRefused means that the Embedder does not accept a text, for example because it is
	// too long.
	ErrRefused = errors.New("the text is not accepted")

	// ErrVectors means that an Embedder has returned what are no vectors of the texts.
	ErrVectors = errors.New("unusable vectors")
)

// A RetryError says when to try again.
type RetryError struct {
	After time.Duration // from now on
	Err   error
}

func (e *RetryError) Error() string { return e.Err.Error() }
func (e *RetryError) Unwrap() error { return e.Err }

// MaxDimensions bounds the length of vectors.
const MaxDimensions = 16384

// check returns ErrVectors unless there are count vectors of one length, want if that is not
// 0, that can be compared.
func check(vectors [][]float32, count, want int) error {
	if len(vectors) != count {
		return fmt.Errorf("%w: %d for %d texts", ErrVectors, len(vectors), count)
	}
	for _, v := range vectors {
		if want == 0 {
			want = len(v)
		}
		switch {
		case len(v) == 0 || len(v) > MaxDimensions:
			return fmt.Errorf("%w: %d dimensions; 1 to %d are supported", ErrVectors, len(v), MaxDimensions)
		case len(v) != want:
			return fmt.Errorf("%w: %d dimensions instead of %d", ErrVectors, len(v), want)
		case !(norm(v) > 0) || math.IsInf(norm(v), 0):
			return fmt.Errorf("%w: a vector without direction", ErrVectors)
		}
	}
	return nil
}

// norm returns the length of a vector in space; NaN if one of its values is.
func norm(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}
