package main

import "memento/server"

// reloadOnHangup does nothing: there is no such signal. Files of certificates are
// read again when they change.
func (a *app) reloadOnHangup(*configFlags, *server.Server) (stop func()) { return func() {} }
