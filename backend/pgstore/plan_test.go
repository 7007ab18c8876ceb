package pgstore

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"memento/test/services"

	"github.com/jackc/pgx/v5"
)

// A memory is looked up by the full keys, also with a plan that was made while the tables
// were empty, and not by reading all versions of the store.
func TestPlanOfGet(t *testing.T) {
	ctx := t.Context()
	url := os.Getenv(services.PostgresVariable)
	schema := "test_plan_" + strings.ToLower(rand.Text()[:8])
	b, err := Open(ctx, url, &Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close() //nolint:errcheck // nothing was written
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	defer c.Exec(ctx, `DROP SCHEMA `+pgx.Identifier{schema}.Sanitize()+` CASCADE`) //nolint:errcheck // at the end
	for name, query := range map[string]string{"by_path": getByPath, "by_id": getByID} {
		for _, sql := range []string{
			`SET plan_cache_mode = force_generic_plan`,
			`PREPARE ` + name + ` (bigint, text, text, text) AS ` + b.sql(query),
		} {
			if _, err := c.Exec(ctx, sql); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := c.Query(ctx, `EXPLAIN (COSTS off) EXECUTE `+name+` (1, 'x', '', '')`, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(lines, "\n")
		for _, cond := range []string{"((store = m.store) AND (seq = m.content))", "((store = m.store) AND (seq = m.seq))"} {
			if !strings.Contains(plan, "Index Cond: "+cond) {
				t.Errorf("%s is planned without %s:\n%s", name, cond, plan)
			}
		}
	}
}
