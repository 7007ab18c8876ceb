package server

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"memento/httpapi"
)

// newLogger returns a logger in the configured format, and the variable that changes
// its level.
func newLogger(w io.Writer, l Log) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(levelOf(l.Level))
	opts := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts)), level
	}
	return slog.New(slog.NewTextHandler(w, opts)), level
}

func levelOf(name string) slog.Level {
	level := slog.LevelInfo
	_ = level.UnmarshalText([]byte(name)) // the level stays info if the name is unknown
	return level
}

// logRequest logs an answered request. It logs the route, and neither path nor query,
// which can contain paths of memories.
func logRequest(ctx context.Context, logger *slog.Logger, r httpapi.Request) {
	level := levelOfStatus(r.Status)
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", r.ID),
		slog.String("method", knownMethod(r.Method)),
		slog.String("route", routeOf(r.Route)),
		slog.Int("status", r.Status),
		slog.Float64("took_ms", float64(r.Took.Round(time.Microsecond).Microseconds())/1000),
		slog.Int64("read", r.Read),
		slog.Int64("written", r.Written),
	}
	text := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	text("workspace", string(r.Principal.Workspace))
	text("key", r.Principal.ID)
	text("error", r.ErrorType)
	if r.Remote.IsValid() {
		text("remote", r.Remote.String())
	}
	text("user_agent", r.UserAgent)
	text("upstream_request_id", r.AnswerID)
	if n, err := strconv.ParseUint(r.Retries, 10, 16); err == nil && n > 0 {
		attrs = append(attrs, slog.Uint64("retry", n))
	}
	logger.LogAttrs(ctx, level, "request", attrs...)
}

// levelOfStatus returns the level for an HTTP status: error for failures of the server,
// warn for what an operator may want to examine, and info for the rest. That something
// is missing or was changed concurrently is normal.
func levelOfStatus(status int) slog.Level {
	switch status {
	case 529, http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusRequestTimeout:
		return slog.LevelWarn
	}
	if status >= http.StatusInternalServerError {
		return slog.LevelError
	}
	return slog.LevelInfo
}

// routeOf returns the pattern of a route; "none" if there is no route.
func routeOf(pattern string) string { return cmp.Or(pattern, "none") }

// errorLog writes the messages of package http to the structured log. Most are about
// broken connections and failed handshakes, which are normal in an open network.
type errorLog struct{ logger *slog.Logger }

func (l errorLog) Write(line []byte) (int, error) {
	text, level := strings.TrimSpace(string(line)), slog.LevelDebug
	if strings.HasPrefix(text, "http: Accept error") {
		level = slog.LevelError
	}
	l.logger.Log(context.Background(), level, "connection", "error", text)
	return len(line), nil
}

type requestIDKey struct{}

// A requestIDs handler adds the ID of the request to what is logged in its context.
type requestIDs struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h requestIDs) Handle(ctx context.Context, r slog.Record) error {
	if id, ok := ctx.Value(requestIDKey{}).(string); ok {
		r.AddAttrs(slog.String("request_id", id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h requestIDs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestIDs{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h requestIDs) WithGroup(name string) slog.Handler { return requestIDs{h.Handler.WithGroup(name)} }
