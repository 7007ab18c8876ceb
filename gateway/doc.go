// Package gateway serves the Messages API in front of an upstream, and gives every
// application that uses it a memory: an [http.Handler] that applications use by its
// base URL.
//
// [New] makes the handler. To a POST /v1/messages that selects a store, the gateway adds
// the memory tool. It executes the model's calls on the store, sends the results, and
// repeats that until the model has finished. The application gets one message, whole or
// as a stream, without these calls. All other requests are passed on as they are.
//
// What the gateway does not have to change keeps its bytes: requests and answers are
// edited in place, never decoded and encoded again. Unknown members, blocks and events
// pass.
//
// The upstream is fixed by the configuration. Bodies of requests and answers are never
// logged.
package gateway
