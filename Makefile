# Shortcuts. The commands do the same without make.

.PHONY: help services test

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

services: ## install and start what tests need: PostgreSQL, two S3 servers; until interrupted
	go run ./test/services/run

test: ## everything CI runs; installs what it needs
	go run ./test/suites
