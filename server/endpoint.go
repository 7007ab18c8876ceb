package server

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// endpoint sends the messages of one webhook. Its goroutine sends them one after the
// other, each when it is due.
type endpoint struct {
	hook   Webhook
	all    *webhooks
	client *http.Client
	stop   context.CancelFunc // cancels the current attempt
	done   chan struct{}      // closed when the goroutine has ended
	wake   chan struct{}      // signals that the state has changed

	mu        sync.Mutex
	queue     []*message
	failures  int // consecutive failed messages
	disabled  bool
	finishing bool // no more messages come, and queued ones are sent at once
}

// message is an event to be sent to one endpoint.
type message struct {
	id       string
	body     []byte
	attempts int
	due      time.Time
}

func startEndpoint(hook Webhook, all *webhooks) *endpoint {
	ctx, stop := context.WithCancel(context.Background())
	e := &endpoint{
		hook: hook, all: all, client: all.client(hook.AllowPrivate), stop: stop,
		done: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	go func() {
		defer close(e.done)
		defer stop()
		defer e.client.CloseIdleConnections()
		e.run(ctx)
		e.enable() // so that the metric no longer counts it
	}()
	return e
}

// same reports whether two webhooks are equal, apart from their lines in the file.
func (w *Webhook) same(o *Webhook) bool {
	return w.URL == o.URL && bytes.Equal(w.key, o.key) && w.AllowPrivate == o.AllowPrivate && slices.Equal(w.Events, o.Events)
}

// add queues a message. It drops the message if the endpoint is disabled or its queue
// full.
func (e *endpoint) add(m *message) {
	e.mu.Lock()
	drop := e.disabled || len(e.queue) >= maxQueued
	if !drop {
		e.queue = append(e.queue, m)
	}
	e.mu.Unlock()
	if drop {
		e.count("dropped")
		return
	}
	e.notify()
}

func (e *endpoint) notify() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// enable enables an endpoint that was disabled.
func (e *endpoint) enable() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.setDisabled(false)
	e.failures = 0
}

// setDisabled records whether the endpoint is disabled. The caller holds the lock.
func (e *endpoint) setDisabled(disabled bool) {
	switch {
	case disabled && !e.disabled:
		e.all.metrics.disabledHooks.Inc()
	case !disabled && e.disabled:
		e.all.metrics.disabledHooks.Dec()
	}
	e.disabled = disabled
}

// finish makes the goroutine end after one attempt for each queued message.
func (e *endpoint) finish() {
	e.mu.Lock()
	e.finishing = true
	e.mu.Unlock()
	e.notify()
}

// ended reports whether the goroutine has ended.
func (e *endpoint) ended() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

func (e *endpoint) run(ctx context.Context) {
	for {
		m, wait, end := e.next()
		switch {
		case end || ctx.Err() != nil:
			e.dropAll()
			return
		case m != nil:
			e.deliver(ctx, m)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-e.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// next removes the message that is due from the queue, or returns how long to wait for
// one. end reports that the goroutine is to end.
func (e *endpoint) next() (m *message, wait time.Duration, end bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) == 0 {
		return nil, time.Hour, e.finishing
	}
	first := 0
	for i, m := range e.queue {
		if m.due.Before(e.queue[first].due) {
			first = i
		}
	}
	m = e.queue[first]
	if wait := m.due.Sub(e.all.now()); wait > 0 && !e.finishing {
		return nil, wait, false
	}
	e.queue = slices.Delete(e.queue, first, first+1)
	return m, 0, false
}

// deliver makes one attempt to send a message.
func (e *endpoint) deliver(ctx context.Context, m *message) {
	err := e.send(ctx, m)
	m.attempts++
	if err == nil {
		e.mu.Lock()
		e.failures = 0
		e.mu.Unlock()
		e.count("delivered")
		return
	}
	if permanent, ok := errors.AsType[*permanentError](err); ok {
		e.count("failed")
		e.disable(permanent.reason)
		return
	}
	e.mu.Lock()
	again := m.attempts < maxAttempts && !e.finishing
	if again {
		m.due = e.all.now().Add(e.all.wait(m.attempts))
		e.queue = append(e.queue, m)
	} else {
		e.failures++
	}
	failures := e.failures
	e.mu.Unlock()
	log := e.all.logger.With("host", e.hook.host(), "event", m.id, "attempt", m.attempts)
	if again {
		e.count("retried")
		log.Info("webhook delivery failed, will be retried", "error", err.Error())
		return
	}
	e.count("failed")
	log.Warn("webhook failed", "error", err.Error())
	if failures >= maxFailures {
		e.disable(fmt.Sprintf("%d messages in a row failed", failures))
	}
}

// disable stops sending to the endpoint until the configuration is read again.
func (e *endpoint) disable(reason string) {
	e.mu.Lock()
	e.setDisabled(true)
	e.mu.Unlock()
	e.all.logger.Error("webhook disabled until configuration reload", "host", e.hook.host(), "reason", reason)
	e.dropAll()
}

func (e *endpoint) dropAll() {
	e.mu.Lock()
	n := len(e.queue)
	e.queue = nil
	e.mu.Unlock()
	if n > 0 {
		e.all.metrics.deliveries.WithLabelValues("dropped").Add(float64(n))
		e.all.logger.Warn("webhook messages dropped", "host", e.hook.host(), "messages", n)
	}
}

func (e *endpoint) count(outcome string) { e.all.metrics.deliveries.WithLabelValues(outcome).Inc() }

// permanentError is the error of an endpoint that will not accept messages later
// either. It is not retried.
type permanentError struct{ reason string }

func (e *permanentError) Error() string { return e.reason }

// send posts a message. Its errors do not contain the URL, which may hold a secret.
func (e *endpoint) send(ctx context.Context, m *message) error {
	ctx, cancel := context.WithTimeout(ctx, webhookLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.hook.URL, bytes.NewReader(m.body))
	if err != nil {
		return &permanentError{"its URL is not valid"}
	}
	at := strconv.FormatInt(e.all.now().Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "memento-webhooks")
	r.Header.Set("webhook-id", m.id)
	r.Header.Set("webhook-timestamp", at)
	r.Header.Set("webhook-signature", "v1,"+sign(e.hook.key, m.id, at, m.body))
	answer, err := e.client.Do(r)
	switch {
	case errors.Is(err, errNotPublic):
		return &permanentError{errNotPublic.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("no answer in time")
	case err != nil:
		return errors.New("no connection, or it broke off")
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be reused
	answer.Body.Close()
	switch {
	case answer.StatusCode >= 200 && answer.StatusCode < 300:
		return nil
	case answer.StatusCode >= 300 && answer.StatusCode < 400:
		return &permanentError{"it answers with a redirect, which is not followed; name the final URL"}
	case answer.StatusCode == http.StatusGone:
		return &permanentError{"it answers that it is gone (410)"}
	}
	return fmt.Errorf("answered with status %d", answer.StatusCode)
}

// sign returns the signature of a message. Source: Standard Webhooks, "v1".
func sign(key []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// jitteredWait returns the time before the next attempt: 5 to 30 seconds after the
// first attempt, and up to two minutes after the second.
func jitteredWait(attempt int) time.Duration {
	from, to := 5*time.Second, 30*time.Second
	if attempt > 1 {
		from, to = to, 2*time.Minute
	}
	return from + rand.N(to-from)
}
