package deploy

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"memento/test/proctest"
)

// ofPrometheus are labels that Prometheus adds when it reads the metrics.
var ofPrometheus = []string{"job", "instance", "le", "__name__"}

// Every metric and label in the dashboard and the alerts is exported by a server that has
// executed a few calls.
func TestMetrics(t *testing.T) {
	cmd := command(t, []string{"MEMENTO_MAINTENANCE_INTERVAL=100ms"}, "serve", "--address", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--json")
	s := start(t, cmd)
	key, err := os.ReadFile(s.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	s.remember(t, strings.TrimSpace(string(key)))
	var exported map[string][]string
	proctest.Until(t, "maintenance runs", func() bool {
		exported = parseMetrics(string(get(t, "http://"+s.Metrics+"/metrics")))
		return exported["memento_maintenance_runs_total"] != nil
	})

	queries := append(alertQueries(t), dashboardQueries(t)...)
	if len(queries) < 20 {
		t.Errorf("only %d queries", len(queries))
	}
	for _, query := range queries {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		var labels []string // of all metrics in the query
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			selector, ok := node.(*parser.VectorSelector)
			if !ok {
				return nil
			}
			has, known := exported[selector.Name]
			if !known {
				t.Errorf("%s: no server exports %s", query, selector.Name)
			}
			for _, m := range selector.LabelMatchers {
				if !slices.Contains(slices.Concat(has, ofPrometheus), m.Name) {
					t.Errorf("%s: %s has no label %s", query, selector.Name, m.Name)
				}
			}
			labels = append(labels, has...)
			return nil
		})
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			if sum, ok := node.(*parser.AggregateExpr); ok {
				for _, name := range sum.Grouping {
					if !slices.Contains(slices.Concat(labels, ofPrometheus), name) {
						t.Errorf("%s: there is no label %s", query, name)
					}
				}
			}
			return nil
		})
	}
}

// parseMetrics returns the labels of each metric in Prometheus's text format.
func parseMetrics(text string) map[string][]string {
	metrics := map[string][]string{}
	name := regexp.MustCompile(`(?m)^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+$`)
	label := regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="(?:[^"\\]|\\.)*"`)
	for _, line := range name.FindAllStringSubmatch(text, -1) {
		labels := []string{}
		for _, l := range label.FindAllStringSubmatch(line[2], -1) {
			labels = append(labels, l[1])
		}
		metrics[line[1]] = labels
	}
	return metrics
}

// alertQueries returns the queries of the alerts, which Prometheus accepts.
func alertQueries(t *testing.T) (queries []string) {
	t.Helper()
	groups, errs := rulefmt.ParseFile(filepath.Join(folder, "prometheus/alerts.yaml"), false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil {
		t.FailNow()
	}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" || r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
				t.Errorf("a rule lacks its name, summary or severity: %+v", r)
			}
			queries = append(queries, r.Expr)
		}
	}
	return queries
}

// dashboardQueries returns the queries of the dashboard, with its variables filled in.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	var dashboard struct {
		UID, Title string
		Panels     []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(read(t, "grafana/memento.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, p := range dashboard.Panels {
		if seen[p.ID] || p.Title == "" || p.GridPos.X+p.GridPos.W > 24 || len(p.Targets) == 0 {
			t.Errorf("the panel %d %q has no ID of its own, no title, no room or no query", p.ID, p.Title)
		}
		seen[p.ID] = true
		for _, target := range p.Targets {
			queries = append(queries, strings.NewReplacer("$__rate_interval", "5m", "$job", "memento").Replace(target.Expr))
		}
	}
	return queries
}
