package sqlitestore

// SetStep has f called after each step of Restore.
func (o *RestoreOptions) SetStep(f func(step string)) { o.step = f }

// ParseSegments reports what is wrong with the structure record of a search index.
func ParseSegments(record []byte) error {
	_, err := parseSegments(record)
	return err
}
