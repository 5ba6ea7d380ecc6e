# Thin: each target is one command that can be repeated. Built things are kept in .runtime/ of this checkout.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help setup demo run key people account test soak check fuzz bench doctor images image daemon clean package packages backup restore drain rotate service drill ledger

# Node of this checkout; `make setup` fetches it.
NODE := PATH="$$PWD/.runtime/node/bin:$$PATH" exec node

# Said at once and in one line: set-up, which comes first, would say other things that need root.
ifneq ($(filter doctor,$(MAKECMDGOALS)),)
ifneq ($(shell id -u),0)
$(error hutch: the doctor tries namespaces, mounts and firewall rules, which needs root; run: sudo make doctor)
endif
endif

help: ## Lists the targets.
	@grep -hE '^[a-z]+:.*##' Makefile | sed -E 's/^([a-z]+):.*## /\1\t/' | while IFS=$$'\t' read -r name text; do printf '  make %-8s %s\n' "$$name" "$$text"; done

setup: ## Installs and builds what is missing: system packages, Node, npm packages, addons, bundle, images.
	@bash images/setup/all.sh

packages:
	@bash images/setup/apt.sh
	@bash images/setup/node.sh
	@bash images/setup/packages.sh

images: setup ## Builds the base images (part of setup; says where they are).
	@$(NODE) control/main.ts image list

image: setup ## Brings in an image: make image NAME=app FROM=archive.tar, an OCI layout's directory or a reference.
	@$(NODE) control/main.ts image import "$(NAME)" "$(FROM)"

run: setup ## Starts the control plane on HUTCH_HOST:HUTCH_PORT.
	@export NODE_COMPILE_CACHE="$$PWD/.runtime/compiled"; $(NODE) control/main.ts run

key: packages ## Makes, lists and revokes API keys: make key DO="create laptop --expires 30d" (or list, revoke ID).
	@$(NODE) control/main.ts key $(or $(DO),list)

people: packages ## Who signs in: make people DO="link ada@example.com" (or list, admin, member, remove EMAIL).
	@$(NODE) control/main.ts person $(or $(DO),list)

account: packages ## Accounts: make account DO="create acme" (or list).
	@$(NODE) control/main.ts account $(or $(DO),list)

backup: packages ## Copies what the running server keeps into a file: make backup TO=/backups/today.tar
	@$(NODE) control/main.ts backup "$(TO)"

restore: packages ## Makes an empty data directory from a backup: make restore FROM=/backups/today.tar
	@$(NODE) control/main.ts restore "$(FROM)"

drill: setup ## Does to scratch sandboxes what can happen to real ones, and tells what was lost; ONLY=part-of-a-name.
	@$(NODE) test/drill/main.ts $(if $(ONLY),"$(ONLY)")

rotate: packages ## Seals all stored secrets with a new key.
	@$(NODE) control/main.ts rotate

service: packages ## A unit of systemd for this checkout and these variables: make service TO=/etc/systemd/system/hutch.service
	@$(NODE) control/main.ts service $(if $(TO),"$(TO)")

drain: packages ## Takes no new sandboxes, until make drain UNDO=1; WAIT=1 returns when every sandbox sleeps.
	@$(NODE) control/main.ts drain $(if $(UNDO),--undo) $(if $(WAIT),--wait)

demo: setup ## Creates a sandbox, runs code in it, shows the bill.
	@$(NODE) control/cli/demo/main.ts

daemon: packages ## Runs hutchd alone on this machine: make daemon PORT=9080 WORKDIR=/some/dir ADDRESS=127.0.0.1
	@bash images/setup/native.sh
	@export PORT="$${PORT:-$(PORT)}" WORKDIR="$${WORKDIR:-$(WORKDIR)}"; \
	export PORT="$${PORT:-8080}" WORKDIR="$${WORKDIR:-$$PWD}"; \
	export SANDBOX_LOG_DIR="$${SANDBOX_LOG_DIR:-$$PWD/.runtime/daemon/log}" HUTCH_STATE_DIR="$${HUTCH_STATE_DIR:-$$PWD/.runtime/daemon/state}"; \
	$(NODE) daemon/main.ts --port "$$PORT" --host "$(or $(ADDRESS),127.0.0.1)"

test: setup ## Runs the tests; ONLY=part-of-a-path for some of them.
	@$(NODE) test/run.ts $(if $(ONLY),--only "$(ONLY)")

soak: setup ## Runs the tests that take too long for every run; ONLY=part-of-a-path for some of them.
	@$(NODE) test/run.ts --soak $(if $(ONLY),--only "$(ONLY)")

check: packages ## Type-checks, lints, checks the format and the house rules.
	@bash images/setup/check.sh

ledger: packages ## How much of the contract has effect; writes docs/effect.md, the README's number and the floors from test/ledger.
	@$(NODE) test/ledger/write.ts

fuzz: setup ## The C addons under AddressSanitizer; what both API documents allow and do not (schemathesis); SEED=n, N=examples.
	@export SEED="$(SEED)" N="$(N)" PATH="$$PWD/.runtime/node/bin:$$PATH"; failed=0; \
	for part in native management main; do node test/fuzz/$$part.ts || failed=1; done; exit $$failed

bench: setup ## Measures, on this machine; ONLY=name for one, JSON=1 for machines, N=sandboxes of the density.
	@$(NODE) test/bench/main.ts $(if $(ONLY),--only "$(ONLY)") $(if $(JSON),--json) $(if $(N),--count "$(N)")

doctor: setup ## Probes this machine by doing; says which drivers can be used and what to mend.
	@$(NODE) control/main.ts doctor

package: setup ## Makes the npm package hutch-VERSION.tgz in .runtime/package (npm pack does the same).
	@mkdir -p .runtime/package
	@PATH="$$PWD/.runtime/node/bin:$$PATH" npm pack --silent --pack-destination .runtime/package

clean: ## Removes what was built here and is not in use; INSTANCE=tag: what that instance has left on the box.
	@[ ! -x .runtime/node/bin/node ] || { $(NODE) images/clean/main.ts $(INSTANCE); }
