package httpapi_test

import (
	"net/http"
	"testing"
	"time"

	"memento/backend/apikey"
)

// What expires soon is listed with the time, what was used longest ago first, and the usage
// of each day is told.
func TestExpiringAndDailyUsage(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleAdmin)
	path := stores + "/" + text(t, c.post(t, stores, object{"name": "notes", "settings": object{"expiry": object{"after": "240h", "keep": []string{"/kept.md"}}}}), "id")
	for _, name := range []string{"/first.md", "/second.md", "/kept.md"} {
		c.put(t, path, name, "some text")
	}
	if got := c.get(t, path+"/expiring"); got["total"] != 0. || len(items(t, got)) != 0 {
		t.Errorf("within a week: %v", got)
	}
	before := moment(t, c.get(t, path), "created_at").Add(242 * time.Hour)
	got := c.get(t, path+"/expiring?limit=1&before="+before.Format(time.RFC3339))
	found := items(t, got)
	if got["total"] != 2. || len(found) != 1 {
		t.Fatalf("within ten days: %v", got)
	}
	first := found[0]
	same(t, "path", first["path"], "/first.md")
	if used, ends := moment(t, first, "used_at"), moment(t, first, "expires_at"); ends.Sub(used) != 241*time.Hour {
		t.Errorf("used at %v, expires at %v", used, ends)
	}
	c.do(t, http.MethodGet, path+"/expiring?before=soon", nil).fails(t, http.StatusBadRequest, "invalid_request_error")

	days := items(t, c.get(t, path+"/usage/daily?days=2"))
	if len(days) != 2 {
		t.Fatalf("days: %v", days)
	}
	today := days[1]
	same(t, "changes", today["changes"], 3.)
	same(t, "memories", today["memories"], 3.)
	same(t, "bytes", today["bytes"], 27.)
	same(t, "memories the day before", days[0]["memories"], 0.)
	c.do(t, http.MethodGet, path+"/usage/daily?days=367", nil).fails(t, http.StatusBadRequest, "invalid_request_error")
}
