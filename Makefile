# One non-recursive file.  `make run` and `make test` install what is missing (tests/check/setup) and work on a fresh
# Debian 12; everything else expects the packages to be there.  A flavour (sanitisers, coverage, another compiler) is
# the same rules with another BUILD.  `make V=1` shows the commands.
BUILD    ?= build
CFLAGS   ?= -O2 -g
SANITIZE ?=
PREFIX   ?= /usr/local
PYTHON   ?= /usr/bin/python3
LISTEN   ?= 127.0.0.1:8080
DATA     ?= data
FUZZ_SECONDS ?= 60
FUZZ_API_SECONDS ?= 600
FUZZ_API_SEED ?=
JOBS     := $(shell nproc 2>/dev/null || echo 2)

PACKAGES := libmicrohttpd gnutls jansson sqlite3 libcrypto nlopt libcurl libseccomp lapacke openblas libpq yaml-0.1
STD       = -std=c11 -D_POSIX_C_SOURCE=200809L
WARN      = -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith
FORTIFY  ?= $(if $(findstring clang,$(CC)),,-D_FORTIFY_SOURCE=3 -ftrivial-auto-var-init=zero)
# Jumps and returns that the processor checks: x86's.
CET      := $(if $(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),-fcf-protection=full)
HARDEN    = -fstack-protector-strong -fstack-clash-protection $(CET) -fPIE -ffile-prefix-map="$(CURDIR)"=. $(FORTIFY)
INCLUDES := $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null)
COMPILE   = $(CC) $(STD) $(WARN) $(HARDEN) -I. -I$(BUILD) $(INCLUDES) -MMD -MP $(CPPFLAGS) $(CFLAGS) $(SANITIZE)
LINK      = $(CC) $(CFLAGS) $(SANITIZE) -pie -Wl,-z,relro,-z,now,-z,noexecstack $(LDFLAGS)
MATH_LIBS := $(shell pkg-config --libs lapacke openblas nlopt 2>/dev/null) -lm
SERVICE_LIBS := $(shell pkg-config --libs jansson sqlite3 libcrypto 2>/dev/null) -lcsv $(MATH_LIBS) -lpthread
API_LIBS  := $(shell pkg-config --libs libmicrohttpd gnutls zlib libseccomp 2>/dev/null) $(SERVICE_LIBS)

objects   = $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(1)))
programs  = $(patsubst %.c,$(BUILD)/%,$(wildcard $(1)))
scripts   = $(foreach file,$(wildcard $(1)),$(shell test -f $(file) -a -x $(file) && echo $(file)))
ENGINE    = $(call objects,engine/*.c engine/*/*.c)
DB        = $(call objects,db/*.c)
SERVICE   = $(filter-out $(BUILD)/service/main/main.o,$(call objects,service/*/*.c))
API       = $(call objects,api/*/*.c)
RUNNERS   = $(addprefix $(BUILD)/tests/,engine service api)
FUZZ      = $(filter-out %/driver,$(call programs,tests/fuzz/*.c))
BENCH     = $(call programs,tests/bench/*.c)
GOLDEN    = $(call programs,tests/golden/*.c)
# Not abspath, which takes a folder with a space in its name for two.
HERE      = $(if $(filter /%,$(BUILD)),$(BUILD),$(CURDIR)/$(BUILD))
ENV       = GNOMON="$(HERE)/gnomon" BUILD="$(HERE)" PYTHON=$(PYTHON)
MODULES   = tests/http/node_modules/.package-lock.json
STEP      = @OPENBLAS_NUM_THREADS=1 $(ENV) sh tests/check/step $(BUILD)/log
say       = $(if $(V),,@echo '$(1) $(2)';)

all: $(BUILD)/gnomon

help:
	@sed -n 's/^#: \{0,1\}//p' Makefile
#: make            builds the program: build/gnomon
#: make run        builds it, starts it with ./data and a first study, serves until Ctrl-C
#: make check      the unit tests, slow ones in their short form: seconds
#: make test       everything there is to test, with its own set-up: minutes; what CI runs
#: make lint       the text of the whole tree: layers, format, spelling, both compilers, the analysers
#: make format     lays out the C files
#: make wheel      the Python client: build/wheel/gnomon_client-*.whl
#: make typescript the TypeScript client: build/typescript/gnomon-client-*.tgz
#:
#: Parts of make test:  units  http  browser  postgres  openapi  deployment  generators  e2e  golden  fault  release  reproduce-quick  asan-short  tsan-short  lint-quick  lint-slow
#: One of them alone:   check-engine  check-contract  check-service  check-api  e2e-NAME  fault-NAME
#: One suite alone:     build/tests/engine SUITE  (service, api; --all SUITE: not its short form)
#: Beyond make test:    asan  tsan  fuzz  fuzz-api  coverage  bench  reproduce  nightly (all of these and more, for hours)
#: Otherwise:           install  deb  sbom (what the program is made of)  clean  V=1 (shows the commands)  BUILD=folder  CFLAGS=...

$(BUILD)/gnomon: $(BUILD)/service/main/main.o $(BUILD)/libgnomon.a $(BUILD)/libengine.a
	$(call say,link,$@)$(LINK) -o $@ $^ $(API_LIBS)
$(BUILD)/libengine.a: $(ENGINE)
$(BUILD)/libgnomon.a: $(API) $(SERVICE) $(DB)
$(BUILD)/%.a:
	$(call say,pack,$@)rm -f $@ && $(AR) rcs $@ $^
# Nothing in the engine reads errno or the floating-point flags; loops that could set them are not vectorised.
$(BUILD)/engine/%.o: COMPILE += -include engine/base/purity.h -fno-math-errno -fno-trapping-math
$(BUILD)/%.o: %.c $(BUILD)/flags | $(BUILD)/packages
	$(call say,cc,$<)mkdir -p $(@D) && $(COMPILE) -c $< -o $@
# Other flags make other objects, wherever the tree lies.
FLAGS := echo '$(subst $(CURDIR),,$(subst $(CURDIR)/,,$(COMPILE)))'
$(BUILD)/flags: always
	@mkdir -p $(@D) && { $(FLAGS) | cmp -s - $@ || $(FLAGS) >$@; }
always:
$(BUILD)/packages: tests/check/setup
	@sh tests/check/setup check && mkdir -p $(@D) && touch $@

# Files that the program carries, as decimal numbers with commas between them.
BYTES = od -An -v -tu1 $(1) | tr -s ' \n' ',' | sed 's/^,//;s/,$$//'
$(BUILD)/openapi.inc: openapi.yaml
	@mkdir -p $(@D) && $(call BYTES,$<) > $@
# The plotting library of the pages: one file, by a checksum.  D3=FILE: another; D3=/dev/null: pages without plots.
D3 ?= build/d3/d3.min.js
build/d3/d3.min.js:
	@sh tests/check/setup d3
$(BUILD)/pages.inc: api/pages/embed $(filter-out %.md %/embed,$(sort $(wildcard api/pages/*))) $(D3)
	@mkdir -p $(@D) && sh $< $(D3) $(filter api/pages/%,$(filter-out $<,$^)) > $@
$(BUILD)/api/handlers/handle_pages.o: $(BUILD)/pages.inc
# The pages under /docs.
$(BUILD)/docs.inc: api/docs/make.py api/docs/style.css openapi.yaml $(wildcard README.md api/*.md deploy/*.md \
  engine/*/*.md service/*/*.md api/clients/*/*.md)
	$(call say,docs,$@)$(PYTHON) -B $< $@
$(BUILD)/api/handlers/handle_docs.o: $(BUILD)/docs.inc
MIGRATIONS = $(sort $(wildcard db/migrations/*.sql))
$(BUILD)/migrations.inc: $(MIGRATIONS)
$(BUILD)/next/migrations.inc: $(MIGRATIONS) tests/fault/next.sql
$(BUILD)/migrations.inc $(BUILD)/next/migrations.inc:
	@mkdir -p $(@D) && for file in $^; do echo '(const char[]){'; $(call BYTES,$$file); echo ', 0},'; done > $@
$(BUILD)/postgres.inc: db/postgres.sql
	@mkdir -p $(@D) && $(call BYTES,$<) > $@
$(API): $(BUILD)/openapi.inc
$(BUILD)/db/migrations.o: $(BUILD)/migrations.inc $(BUILD)/postgres.inc
# The program with one migration more than there is, for the tests of migrations.
golden-stores.py fault-migration: $(BUILD)/next/gnomon
$(BUILD)/next/migrations.o: db/migrations.c $(BUILD)/next/migrations.inc $(BUILD)/postgres.inc $(BUILD)/flags
	$(call say,cc,$@)$(COMPILE) -iquote $(BUILD)/next -c $< -o $@
$(BUILD)/next/gnomon: $(BUILD)/service/main/main.o $(BUILD)/next/migrations.o $(BUILD)/libgnomon.a $(BUILD)/libengine.a
	$(call say,link,$@)$(LINK) -o $@ $^ $(API_LIBS)

# The engine's tests link the engine and nothing else of ours, the service's tests no HTTP: if it links, the layer holds.
$(BUILD)/tests/engine: $(call objects,tests/unit/engine/*.c) $(BUILD)/libengine.a
	$(call say,link,$@)$(LINK) -o $@ $^ $(MATH_LIBS) -lcunit
$(BUILD)/tests/service: $(call objects,tests/unit/service/*.c) $(BUILD)/libgnomon.a $(BUILD)/libengine.a
	$(call say,link,$@)$(LINK) -o $@ $^ $(SERVICE_LIBS) -lcunit
$(BUILD)/tests/api: $(call objects,tests/unit/api/*.c) $(BUILD)/libgnomon.a $(BUILD)/libengine.a
	$(call say,link,$@)$(LINK) -o $@ $^ $(API_LIBS) -lcunit
FUZZ_MAIN = $(BUILD)/tests/fuzz/driver.o
$(FUZZ): %: %.o $(FUZZ_MAIN) $(BUILD)/libgnomon.a $(BUILD)/libengine.a
	$(call say,link,$@)$(LINK) -o $@ $^ $(API_LIBS)
$(BENCH): %: %.o $(BUILD)/libengine.a
	$(call say,link,$@)$(LINK) -o $@ $^ $(API_LIBS)
$(GOLDEN): %: %.o $(BUILD)/libengine.a
	$(call say,link,$@)$(LINK) -o $@ $^ $(MATH_LIBS)
FAILING = $(patsubst tests/fault/%.c,$(BUILD)/%.so,$(wildcard tests/fault/*.c))
$(FAILING): $(BUILD)/%.so: tests/fault/%.c tests/fault/plan.h
	$(call say,cc,$<)mkdir -p $(@D) && $(CC) -I. -O1 -g $(WARN) -std=gnu11 -shared -fPIC -o $@ $<

# Starts the service with ./data, makes a first token, runs the demo study, serves until Ctrl-C.
run:
	@sh tests/check/setup run
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@exec $(BUILD)/gnomon run --listen $(LISTEN) --data $(DATA)

# What the program is made of, for whoever must know which libraries and versions: CycloneDX.
sbom: $(BUILD)/gnomon.sbom.json
$(BUILD)/gnomon.sbom.json: $(BUILD)/gnomon deploy/sbom
	$(call say,sbom,$@)$(PYTHON) deploy/sbom $< >$@

# Everything, with its own set-up.  Each step writes BUILD/log/NAME.log and prints one line; Ctrl-C ends with a tally.
# Both flavours name npm-ci, which runs once.
test:
	@sh tests/check/setup test
	@rm -rf $(LOGS) && mkdir -p $(BUILD)/log
	@STEPS=$$($(MAKE) -n test-steps 2>/dev/null | grep 'sh tests/check/step ' | grep -vcE '/[at]san/log npm-ci') \
	  STEPS_ENDED="$(HERE)/log/ended"; export STEPS STEPS_ENDED; trap : INT TERM; \
	  $(MAKE) --no-print-directory -j$(JOBS) -k test-steps ALL=--all; sh tests/check/tally $$? $(LOGS)
LOGS = $(BUILD)/log $(BUILD)/asan/log $(BUILD)/tsan/log
test-steps: lint-quick units http openapi deployment generators browser postgres e2e golden fault release reproduce-quick asan-short lint-slow tsan-short

# The inner loop: all unit tests, the slowest in their short form (ALL=--all: as a whole), and the fuzzers' corpus.
check:
	+@$(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS)) units
units: check-engine check-contract check-service check-api check-fuzz
check-engine: $(BUILD)/tests/engine
	$(STEP) engine $< $(ALL) -contract
check-contract: $(BUILD)/tests/engine
	$(STEP) contract $< $(ALL) contract
check-service check-api: check-%: $(BUILD)/tests/%
	$(STEP) $* $< $(ALL)
check-fuzz: $(FUZZ)
	$(STEP) fuzz-replay sh tests/check/replay $(FUZZ)
http: $(BUILD)/gnomon $(MODULES)
	$(STEP) http sh -c 'cd tests/http && exec node --test --test-concurrency=1 --test-reporter=tap $(HTTP)'
HTTP = *.test.mjs
# The same on PostgreSQL: the suites that know the store, and of those over HTTP the ones that write most.
POSTGRES_UNITS = driver postgres store chain cases races leases federation members spec_cache steady
REPLICA_SECONDS = 12
POSTGRES_HTTP = studies trials lists idempotency events
postgres: postgres-units postgres-http postgres-replicas postgres-shared postgres-standby
postgres-units: $(BUILD)/tests/service
	$(STEP) $@ tests/check/postgres $< $(ALL) $(POSTGRES_UNITS)
postgres-http: $(BUILD)/gnomon $(MODULES)
	$(STEP) $@ tests/check/postgres sh -c 'cd tests/http && exec node --test --test-concurrency=1 --test-reporter=tap \
	  $(POSTGRES_HTTP:%=%.test.mjs)'
# Three servers on one database, all of which are hurt.
NEMESIS = env POSTGRES_OPTIONS='-c fsync=on' NEMESIS_SECONDS=$(1) $(2) tests/check/postgres tests/fault/nemesis
postgres-replicas: $(BUILD)/gnomon
	$(STEP) $@ $(call NEMESIS,$(REPLICA_SECONDS),SEED=2385)
# What they promise together.
postgres-shared: $(BUILD)/gnomon $(FAILING)
	$(STEP) $@ tests/check/postgres tests/fault/shared
postgres-standby: $(BUILD)/gnomon
	$(STEP) $@ tests/check/postgres tests/fault/standby
generators: $(BUILD)/gnomon $(MODULES)
	$(STEP) generators npm --prefix tests/http run --silent generators
browser: $(BUILD)/gnomon $(MODULES)
	$(STEP) browser npm --prefix tests/http run --silent browser
openapi: $(MODULES)
	$(STEP) openapi npm --prefix tests/http run --silent openapi
# What hands the service to others' machines: the files of deploy/, and the image; at night the image compiles, too.
deployment: deploy container
deploy: $(MODULES)
	$(STEP) deploy npm --prefix tests/http run --silent deploy
container nightly-container: export STEP_SECONDS = 3600
container: $(BUILD)/gnomon
	$(STEP) $@ tests/check/container $<
$(MODULES): tests/http/package-lock.json
	$(STEP) npm-ci sh -c 'npm --prefix tests/http ci --silent --no-audit --no-fund && touch $@'
E2E = $(addprefix e2e-,$(notdir $(call scripts,tests/e2e/*)))
e2e: $(E2E)
$(E2E): e2e-%: $(BUILD)/gnomon
	$(STEP) $@ tests/e2e/$*
# What takes a night, each part with its own budget; one of them alone: nightly-NAME.  They go on when one fails.
AUDIT_TRIALS  ?= 10000
CRASH_POINTS  ?= 1000
POWER_STATES  ?= 10000
FAULT_POINTS  ?= 60
MANY_ROUNDS   ?= 100
NIGHT_NEMESIS ?= 600
DAMAGE_FLIPS  ?= 1000
NIGHT_SECONDS ?= 14400
NIGHTLY = audit guides newcomer reproducible crash power calls statements many damage postgres replicas container asan tsan fuzz api
nightly:
	@sh tests/check/setup test
	+@$(MAKE) --no-print-directory -k $(addprefix nightly-,$(NIGHTLY)) FUZZ_API_SECONDS=3600 FUZZ_SECONDS=600; \
	  sh tests/check/nightly $(BUILD)/log $(NIGHTLY)
.PHONY: $(addprefix nightly-,$(NIGHTLY))
$(addprefix nightly-,$(NIGHTLY)): export STEP_SECONDS = $(NIGHT_SECONDS)
$(addprefix nightly-,audit guides reproducible crash power calls statements many damage): $(BUILD)/gnomon $(FAILING)
nightly-audit:
	$(STEP) $@ tests/e2e/audit $(AUDIT_TRIALS)
nightly-guides: $(MODULES)
	$(STEP) $@ tests/check/guides
nightly-newcomer:
	$(STEP) $@ tests/check/newcomer
nightly-reproducible:
	$(STEP) $@ sh tests/check/reproducible 1 CC='$(CC)' CFLAGS='$(CFLAGS)'
nightly-crash:
	$(STEP) $@ env POINTS=$(CRASH_POINTS) tests/fault/crash
nightly-power:
	$(STEP) $@ env STATES=$(POWER_STATES) tests/fault/power
nightly-calls nightly-statements: nightly-%:
	$(STEP) $@ env POINTS=$(FAULT_POINTS) tests/fault/$*
nightly-many:
	$(STEP) $@ env ROUNDS=$(MANY_ROUNDS) tests/fault/many
nightly-damage:
	$(STEP) $@ tests/fault/damage $(DAMAGE_FLIPS) 1000 6
nightly-asan nightly-tsan nightly-fuzz:
	+$(STEP) $@ $(MAKE) --no-print-directory $(@:nightly-%=%)
nightly-api:
	+$(STEP) $@ $(MAKE) --no-print-directory fuzz-api
nightly-postgres: $(BUILD)/gnomon $(MODULES)
	$(STEP) $@ tests/check/postgres sh -c 'cd tests/http && exec node --test --test-concurrency=1 --test-reporter=tap \
	  *.test.mjs'
nightly-replicas: $(BUILD)/gnomon
	$(STEP) $@ $(call NEMESIS,$(NIGHT_NEMESIS),CLIENTS=64 STOP_SECONDS=20 FAULT_SECONDS=4)
nightly-container: $(BUILD)/gnomon
	$(STEP) $@ tests/check/container $< full
GOLDENS = $(addprefix golden-,$(notdir $(wildcard tests/golden/*.py)))
golden: $(GOLDENS)
$(GOLDENS): golden-%: $(BUILD)/gnomon $(GOLDEN)
	$(STEP) $@ $(PYTHON) tests/golden/$*
FAULTS = $(filter-out fault-nemesis fault-shared fault-standby,$(addprefix fault-,$(notdir $(call scripts,tests/fault/*))))
fault: $(FAULTS)
$(FAULTS): fault-%: $(BUILD)/gnomon $(FAILING)
	$(STEP) $@ tests/fault/$*

# What is handed to others: the list of what it is made of, and that who builds it elsewhere has the same bytes.
release: $(BUILD)/gnomon.sbom.json
	$(STEP) sbom $(PYTHON) tests/check/sbom $(BUILD)/gnomon $<
	$(STEP) reproducible sh tests/check/reproducible 20 CC='$(CC)' CFLAGS='$(CFLAGS)'

# The same rules with sanitisers, and with guards in the arenas.  What ASan reports, leaks of a server that stopped
# included, is in files of their own; UBSan ends the program.
FLAVOUR = $(MAKE) --no-print-directory FORTIFY= CPPFLAGS=-DARENA_GUARD ALL=--all
ASAN = $(FLAVOUR) BUILD=$(BUILD)/asan CFLAGS='-O1 -g -fno-omit-frame-pointer' \
  SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all'
TSAN = $(FLAVOUR) BUILD=$(BUILD)/tsan CFLAGS='-O1 -g' SANITIZE=-fsanitize=thread
# asan and tsan are for the night.  `make test` has asan-short, whose unit tests are in their short form and which leaves
# out what is repeated for the sake of statistics, and tsan-short, with those suites over HTTP that ask twice at once.
REPEATED = e2e-adversaries e2e-audit e2e-transfer e2e-move
TWICE = $(shell cd tests/http && grep -lE 'Promise\.(all|race)' *.test.mjs)
FUZZ_A_MINUTE = api-requests FUZZ_API_SECONDS=60 FUZZ_API_SEED=1
asan: ASAN_STEPS = units http e2e $(FUZZ_A_MINUTE)
asan-short: ASAN_STEPS = units http $(filter-out $(REPEATED),$(E2E)) $(FUZZ_A_MINUTE) ALL=
asan asan-short: $(MODULES)
	+@rm -f "$(HERE)"/asan/report.*; STEP_SECONDS=2400 UBSAN_OPTIONS=print_stacktrace=1 \
	  ASAN_OPTIONS="detect_stack_use_after_return=1:log_path='$(HERE)/asan/report'" \
	  $(ASAN) $(ASAN_STEPS); code=$$?; $(ASAN) sanitizer-reports && exit $$code
tsan: TSAN_STEPS = units http fault-many $(FUZZ_A_MINUTE)
tsan-short: TSAN_STEPS = check-service check-api http HTTP='$(TWICE)' ALL=
tsan tsan-short: $(MODULES)
	+@rm -f "$(HERE)"/tsan/report.*; STEP_SECONDS=2400 TSAN_OPTIONS="log_path='$(HERE)/tsan/report' suppressions='$(CURDIR)/tests/check/tsan.suppressions'" \
	  $(TSAN) $(TSAN_STEPS); code=$$?; $(TSAN) sanitizer-reports && exit $$code
sanitizer-reports:
	$(STEP) $@ sh -c '! cat $(BUILD)/report.* 2>/dev/null'
api-requests: $(BUILD)/gnomon $(MODULES)
	$(STEP) api-requests node tests/fuzz/api.mjs $(FUZZ_API_SECONDS) $(FUZZ_API_SEED)
fuzz-api: $(MODULES)
	+@$(ASAN) all
	@GNOMON="$(HERE)/asan/gnomon" node tests/fuzz/api.mjs $(FUZZ_API_SECONDS) $(FUZZ_API_SEED)
fuzz:
	@sh tests/check/setup test
	+@$(FLAVOUR) BUILD=$(BUILD)/fuzz CC=clang CFLAGS='-O1 -g' LDFLAGS=-fsanitize=fuzzer FUZZ_MAIN= \
	  SANITIZE='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all' fuzz-each
fuzz-each: $(FUZZ)
	@sh tests/check/fuzz $(BUILD) $(FUZZ_SECONDS) $(FUZZ)
coverage:
	+@$(FLAVOUR) BUILD=$(BUILD)/coverage CFLAGS='-O0 -g --coverage' units
	@sh tests/check/coverage $(BUILD)/coverage
bench: $(BUILD)/gnomon $(BENCH)
	@sh tests/check/setup all
	@$(ENV) sh tests/bench/run
# The report of the sources' figures, build/reproduce/index.html: hours, resumed where it was; the short form is a check.
REPRODUCED = $(BUILD)/tests/engine $(addprefix $(BUILD)/tests/bench/,po_gp_ucb stopping stopping_curves transfer transfer_svm \
  federated privacy_loss landmine games macro macro_graphs bos2)
reproduce: $(REPRODUCED)
	@$(ENV) tests/bench/reproduce -j $(JOBS)
reproduce-quick: $(REPRODUCED)
	$(STEP) $@ tests/bench/reproduce --quick

# What is wrong with the text of the tree.  lint-quick takes seconds; lint-slow has both compilers and the analysers, of
# which clang-tidy looks at what was changed; lint is both, of the whole tree.
LINT_NEEDS = $(BUILD)/gnomon
lint-quick: $(LINT_NEEDS)
	$(STEP) lint sh tests/check/lint quick
	$(STEP) lint-planted sh tests/check/planted quick
LINT_SLOW = lint-gcc lint-clang lint-cppcheck lint-tidy lint-python
lint-slow: $(LINT_SLOW) lint-planted-slow
$(LINT_SLOW): lint-%: $(LINT_NEEDS)
	$(STEP) $@ sh tests/check/lint only $*
lint-tidy: export STEP_SECONDS = 3600
lint-tidy: lint-gcc
lint-planted-slow: lint-gcc lint-clang
	$(STEP) $@ sh tests/check/planted slow
lint:
	@sh tests/check/setup test
	@$(MAKE) --no-print-directory $(LINT_NEEDS)
	@TIDY=all BUILD=$(BUILD) sh tests/check/lint full && BUILD=$(BUILD) sh tests/check/planted full
every-object: $(ENGINE) $(DB) $(SERVICE) $(API) $(call objects,service/main/main.c tests/unit/*/*.c tests/fuzz/*.c \
  tests/bench/*.c tests/golden/*.c)
format:
	clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h')

# The Python client as one file, the same bytes each time.
WHEEL ?= $(HERE)/wheel
wheel:
	@sh tests/check/setup wheel
	@rm -rf "$(WHEEL).tree" && mkdir -p "$(WHEEL).tree/gnomon" "$(WHEEL)"
	@cp api/clients/python/gnomon/*.py api/clients/python/gnomon/py.typed "$(WHEEL).tree/gnomon"
	@cp api/clients/python/pyproject.toml api/clients/python/GUIDE.md LICENSE "$(WHEEL).tree"
	@cd "$(WHEEL).tree" && SOURCE_DATE_EPOCH=1767225600 $(PYTHON) -c \
	  'import sys, setuptools.build_meta as backend; print(backend.build_wheel(sys.argv[1]))' "$(WHEEL)" >"$(WHEEL).log" 2>&1 || \
	  { cat "$(WHEEL).log"; rm -rf "$(WHEEL).tree"; exit 1; }
	@tail -n 1 "$(WHEEL).log" && rm -rf "$(WHEEL).tree" "$(WHEEL).log"

# The TypeScript client: its types are made of the contract.
TYPESCRIPT ?= $(HERE)/typescript
typescript: $(MODULES)
	@sh api/clients/typescript/build "$(TYPESCRIPT)"

# A Debian package; tests/check/deb installs, upgrades and removes it in a clean root, where lintian looks at it.
deb: $(BUILD)/gnomon
	@deploy/deb $(BUILD)/gnomon $(BUILD)/deb

install: all
	install -D -m 755 $(BUILD)/gnomon $(DESTDIR)$(PREFIX)/bin/gnomon
	for unit in gnomon gnomon-notify@; do sed 's,/usr/local/,$(PREFIX)/,' deploy/$$unit.service | \
	  install -D -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/lib/systemd/system/$$unit.service || exit 1; done
	install -D -m 644 LICENSE $(DESTDIR)$(PREFIX)/share/doc/gnomon/LICENSE
	$(BUILD)/gnomon manual | install -D -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/share/man/man1/gnomon.1
	$(BUILD)/gnomon completion bash | install -D -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/share/bash-completion/completions/gnomon
clean:
	rm -rf build tests/http/node_modules

-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d $(BUILD)/*/*/*/*.d)
.SECONDARY:
.DELETE_ON_ERROR:
.PHONY: all always run test test-steps check units check-engine check-contract check-service check-api check-fuzz http browser postgres postgres-units postgres-http postgres-replicas postgres-shared postgres-standby openapi generators \
  deployment deploy container e2e $(E2E) golden $(GOLDENS) fault $(FAULTS) asan tsan tsan-http sanitizer-reports api-requests fuzz-api fuzz fuzz-each \
  coverage bench nightly release sbom lint lint-quick lint-slow $(LINT_SLOW) lint-planted-slow every-object format wheel typescript deb install clean help
