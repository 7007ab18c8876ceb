package backend

// A MetricSource is a [memento.Backend] with metrics that servers show to operators, for example
// the number of connections to a database or of requests to a service.
type MetricSource interface {
	// Metrics returns the present values. It makes no requests and does not wait. The
	// same names and labels are returned by every call.
	Metrics() []Metric
}

// A Metric is one value of a [MetricSource].
type Metric struct {
	Name    string // lower-case words joined by "_", the unit last: "connections_open"; of a counter "…_total"
	Help    string // a sentence
	Counter bool   // whether it only grows, from 0 when the backend is opened

	// Label and its value, if set, distinguish metrics of one name. Values are few and
	// fixed, never chosen by callers.
	Label, LabelValue string

	Value float64
}
