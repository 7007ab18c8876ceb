package memento

import "context"

// Masked returns what Apply would write for contents at p: the text after masking, and
// what was replaced in it. Nothing is written. It compares texts from outside with those
// in the store, and it is the dry run of a write as far as secrets are concerned.
//
// Errors: ErrSensitive if the store's settings refuse secrets, or if p looks sensitive;
// ErrNoDetector.
func (s *Store) Masked(ctx context.Context, p Path, content string) (string, []FindingLocation, error) {
	k, err := s.currentSettings(ctx)
	if err != nil {
		return "", nil, err
	}
	var r Receipt
	text, err := k.maskText(p, content, &r)
	return text, r.Masked, err
}
