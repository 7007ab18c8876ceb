#!/bin/sh
# Makes the manual pages and completions of a release: release-files.sh FOLDER
set -eu
folder=${1:?usage: release-files.sh FOLDER}
mkdir -p "$folder/man" "$folder/completions"
go build -trimpath -o "$folder/memento" ./cmd/memento
"$folder/memento" man "$folder/man"
"$folder/memento" completion bash > "$folder/completions/memento.bash"
"$folder/memento" completion zsh > "$folder/completions/_memento"
"$folder/memento" completion fish > "$folder/completions/memento.fish"
"$folder/memento" completion powershell > "$folder/completions/memento.ps1"
