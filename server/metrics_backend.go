package server

import (
	"log/slog"

	"memento/backend"

	"github.com/prometheus/client_golang/prometheus"
)

// measures is a collector of the metrics of the backend, or of another part. It reads them at
// each scrape.
type measures struct {
	prefix string // of their names
	meter  backend.MetricSource
	logger *slog.Logger
}

// Describe sends nothing: only the backend knows which metrics it has.
func (m measures) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m measures) Collect(found chan<- prometheus.Metric) {
	for _, one := range m.meter.Metrics() {
		kind, labels, values := prometheus.GaugeValue, []string(nil), []string(nil)
		if one.Counter {
			kind = prometheus.CounterValue
		}
		if one.Label != "" {
			labels, values = []string{one.Label}, []string{one.LabelValue}
		}
		desc := prometheus.NewDesc(m.prefix+one.Name, one.Help, labels, nil)
		metric, err := prometheus.NewConstMetric(desc, kind, one.Value, values...)
		if err != nil { // a bug in the backend; the other metrics are still collected
			m.logger.Error("a metric of the backend cannot be shown", "name", one.Name)
			continue
		}
		found <- metric
	}
}
