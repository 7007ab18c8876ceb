package pgstore

// StopIndexing stops what is done in the background for searches.
func (b *Backend) StopIndexing() { b.index.Close() }
