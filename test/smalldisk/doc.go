// Package smalldisk gives tests disks that are small, or full. It is for Linux, needs root,
// and is built with the tag "faults".
package smalldisk
