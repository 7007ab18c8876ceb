package server

import (
	"memento/httpapi"

	"github.com/prometheus/client_golang/prometheus"
)

// loads is a collector of how much is in use of the resources that requests share. It
// reads them at each scrape.
type loads struct{ api *httpapi.API }

var (
	capacity        = prometheus.NewDesc("memento_http_capacity", "Limit of a resource that requests to the API share: bytes of memory, and concurrent requests.", []string{"resource"}, nil)
	capacityUsed    = prometheus.NewDesc("memento_http_capacity_used", "Amount of the resource in use.", []string{"resource"}, nil)
	capacityWaiting = prometheus.NewDesc("memento_http_capacity_waiting", "Requests that wait for the resource.", []string{"resource"}, nil)
	capacityRefused = prometheus.NewDesc("memento_http_capacity_refused_total", "Requests that were refused the resource: late after a wait, crowded because too many of the workspace waited, outsize because they exceed the limit.", []string{"resource", "reason"}, nil)
)

// Describe implements prometheus.Collector.
func (l loads) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{capacity, capacityUsed, capacityWaiting, capacityRefused} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (l loads) Collect(found chan<- prometheus.Metric) {
	for _, load := range l.api.Loads() {
		gauge := func(d *prometheus.Desc, value int64) {
			found <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), load.Resource)
		}
		gauge(capacity, load.Max)
		gauge(capacityUsed, load.Used)
		gauge(capacityWaiting, load.Waiting)
		for reason, n := range load.Refused {
			found <- prometheus.MustNewConstMetric(capacityRefused, prometheus.CounterValue, float64(n), load.Resource, reason)
		}
	}
}
