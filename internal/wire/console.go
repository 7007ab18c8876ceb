package wire

import "time"

// ConsoleLinks is the path at which a program gets a link that signs in to the web console.
const ConsoleLinks = "/console/links"

// A ConsoleLink signs a browser in, once.
type ConsoleLink struct {
	Type      string    `json:"type"` // "console_link"
	Path      string    `json:"path"` // with the code in its fragment
	ExpiresAt time.Time `json:"expires_at"`
}
