// Package faultproxy has proxies between clients and a server that cause faults, for
// tests: [TCP] for connections of any protocol, and [HTTP] for requests.
//
// The faults can be changed at any time, and then also affect open connections. Without a
// fault a proxy passes on all bytes unchanged.
package faultproxy
