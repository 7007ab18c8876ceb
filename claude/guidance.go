package claude

import "memento/internal/memorytool"

// Texts for [Options].Guidance. The API adds by itself how to use the tool.
const (
	// Tidy keeps the memory directory small and in order.
	Tidy = memorytool.Tidy
	// Facts makes an assistant remember the user rather than the conversation.
	Facts = memorytool.Facts
)

// Topic restricts what is saved to a topic, such as "the user's dietary needs".
func Topic(topic string) string { return memorytool.Topic(topic) }

// Project is for a project that takes several sessions. It keeps a progress log, a
// checklist of features and the way to start the software in dir: "/memories", or a
// directory in it.
func Project(dir string) string { return memorytool.Project(dir) }
