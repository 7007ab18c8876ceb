package sqlitestore

// SetStep has f called after each step of Restore.
func (o *RestoreOptions) SetStep(f func(step string)) { o.step = f }
