#!/bin/sh
# A tour of a memento server, with nothing but curl:
#
#   export MEMENTO_URL=http://127.0.0.1:8377 MEMENTO_KEY=sk-memento-…
#   sh tour.sh
set -eu

# call METHOD PATH [JSON]: the key reaches curl through a pipe, where ps does not show it.
call() {
	printf 'header = "x-api-key: %s"\n' "$MEMENTO_KEY" |
		curl --config - --silent --show-error --fail-with-body --request "$1" \
			--header 'content-type: application/json' ${3+--data "$3"} "$MEMENTO_URL$2"
	echo
}

echo '# A store by its name, which is made if there is none yet:'
answer=$(call POST /v1/memory_stores/by-name '{"name": "user 42"}')
echo "$answer"
store=/v1/memory_stores/$(echo "$answer" | sed 's/^{"id":"\([^"]*\)".*/\1/')

echo '# A call of the memory tool, as Claude made it, in a session of the application:'
call POST "$store/tool?session_id=sesn_01" '{
	"type": "tool_use", "id": "toolu_01", "name": "memory",
	"input": {"command": "create", "path": "/memories/style.md", "file_text": "Prefers tabs.\n"}
}'

echo '# Several calls in one request, executed in order:'
call POST "$store/tool" '[
	{"command": "insert", "path": "/memories/style.md", "insert_line": 1, "insert_text": "Likes short answers.\n"},
	{"command": "view", "path": "/memories/style.md"}
]'

echo '# The memories:'
call GET "$store/memories?view=full"

echo '# What happened to them, newest first:'
call GET "$store/memory_versions"

echo '# By words:'
call GET "$store/search?query=tabs"
