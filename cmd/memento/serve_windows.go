package main

import "memento/server"

// reloadOnHangup does nothing, because Windows has no SIGHUP. Certificate files are
// reloaded when they change.
func (a *app) reloadOnHangup(*configFlags, *server.Server) (stop func()) { return func() {} }
