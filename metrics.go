package memento

// A MetricSource is a [Backend] that measures how it does, for servers to show to
// operators: connections to a database, for example, and requests to a service.
type MetricSource interface {
	// Metrics returns what there is to say now. It asks nobody and does not
	// wait. The same names and labels come back every time.
	Metrics() []Metric
}

// A Metric is one number that a [MetricSource] tells.
type Metric struct {
	Name    string // lower-case words joined by "_", the unit last: "connections_open"; of a counter "…_total"
	Help    string // a sentence
	Counter bool   // whether it only grows, from 0 when the backend is opened

	// Label and its value, if there is one, tell apart measures of one name. Values
	// are few and known beforehand, never what callers choose.
	Label, LabelValue string

	Value float64
}
