package server

import (
	"log/slog"

	"memento"

	"github.com/prometheus/client_golang/prometheus"
)

// measures shows what a backend measures, each time that somebody looks.
type measures struct {
	meter  memento.MetricSource
	logger *slog.Logger
}

// Describe names nothing: which measures there are is the backend's to say.
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
		desc := prometheus.NewDesc("memento_backend_"+one.Name, one.Help, labels, nil)
		metric, err := prometheus.NewConstMetric(desc, kind, one.Value, values...)
		if err != nil { // a fault of the backend, which keeps no other metric from being seen
			m.logger.Error("a measure of the backend cannot be shown", "name", one.Name)
			continue
		}
		found <- metric
	}
}
