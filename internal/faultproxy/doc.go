// Package faultproxy stands between clients and a server, for tests, and does to
// them what networks and servers do to each other: [TCP] to connections, whatever
// they carry, and [HTTP] to requests.
//
// What a proxy does can be changed at any time, and holds for connections that are
// open already. Without a fault it passes on all bytes as they are.
package faultproxy
