package memorytool

import (
	"path"
	"strings"
)

// Guidance for models besides [Protocol], of which a program chooses.
const (
	// Tidy keeps the memory directory small and in order.
	Tidy = "Keep your memory directory in order. Its files should be up to date, consistent and easy to find: " +
		"correct what has changed, rename or delete what is out of date, and create a new file only when no existing one fits."
	// Facts makes an assistant remember the user rather than the conversation.
	Facts = "In your memory directory, save facts about the user and what the user prefers, not the course of the conversation. " +
		"Look there before you answer, and keep it current. Write in a simple structure of XML-like tags. " +
		"Do not mention the memory tool to the user unless asked about it."
)

// Topic restricts what is saved to a topic, such as "the user's dietary needs".
func Topic(topic string) string {
	return "In your memory directory, save only what concerns this: " + strings.TrimSpace(topic)
}

// Project is for a project that takes several sessions. It keeps a progress log, a
// checklist of features and the way to start the software in dir: "/memories", or a
// directory in it.
func Project(dir string) string {
	dir = path.Clean("/" + strings.TrimSpace(dir))
	return strings.ReplaceAll(project, "DIR", dir)
}

const project = `This project takes several sessions, each with an empty context. What they share is in DIR.

If DIR has no progress log, this is the first session. Before any other work, create:
- DIR/progress.md: a log of what was done, what was decided, and what comes next;
- DIR/features.md: a checklist of every feature in scope, each open or done;
- DIR/startup.md: where the script is that starts the software, and how to use it.

In every later session, read these files first, and go on from there.

Work on one feature at a time. Mark it as done only when you have seen it work from end to end, not when its code exists.

Before a session ends, and after each feature, update the log with what was done and what is next.`
