# A single, non-recursive file.  `make run` and `make test` install what is missing (tests/check/setup) and work on a fresh
# Debian 12; everything else expects the packages to be there.  A flavour (sanitisers, coverage, another compiler) is
# the same rules with another BUILD.  `make V=1` shows the commands.
# Debian's own programs, whatever else has their names in PATH.
export PATH := /usr/sbin:/usr/bin:/sbin:/bin:$(PATH)
export NODE_EXTRA_CA_CERTS ?= /etc/ssl/certs/ca-certificates.crt
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

PACKAGES := libmicrohttpd gnutls jansson sqlite3 libcrypto nlopt libcurl libseccomp lapacke openblas libpq
STD       = -std=c11 -D_POSIX_C_SOURCE=200809L
WARN      = -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith
FORTIFY  ?= $(if $(findstring clang,$(CC)),,-D_FORTIFY_SOURCE=3 -ftrivial-auto-var-init=zero)
# Jumps and returns that the processor checks: x86's.
CET      := $(if $(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),-fcf-protection=full)
HARDEN    = -fstack-protector-strong -fstack-clash-protection $(CET) -fPIE -ffile-prefix-map="$(CURDIR)"=. $(FORTIFY)
INCLUDES := $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null)
COMPILE   = $(CC) $(STD) $(WARN) $(WERROR) $(HARDEN) -I. -I$(BUILD) $(INCLUDES) -MMD -MP $(CPPFLAGS) $(CFLAGS) $(SANITIZE)
LINK      = $(CC) $(CFLAGS) $(SANITIZE) -pie -Wl,-z,relro,-z,now,-z,noexecstack $(LDFLAGS)
MATH_LIBS := $(shell pkg-config --libs lapacke openblas nlopt 2>/dev/null) -lm
SERVICE_LIBS := $(shell pkg-config --libs jansson sqlite3 libcrypto 2>/dev/null) -lcsv $(MATH_LIBS) -lpthread
API_LIBS  := $(shell pkg-config --libs libmicrohttpd gnutls zlib libseccomp 2>/dev/null) $(SERVICE_LIBS)

objects   = $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(1)))
programs  = $(patsubst %.c,$(BUILD)/%,$(wildcard $(1)))
scripts   = $(notdir $(shell find $(1) -maxdepth 1 -type f -perm -100))
ENGINE    = $(call objects,engine/*.c engine/*/*.c)
DB        = $(call objects,db/*.c db/*/*.c)
SERVICE   = $(filter-out $(BUILD)/service/main/main.o,$(call objects,service/*/*.c))
API       = $(call objects,api/*/*.c)
RUNNERS   = $(addprefix $(BUILD)/tests/,engine service api)
FUZZ      = $(filter-out %/driver,$(call programs,tests/fuzz/*.c))
BENCH     = $(call programs,tests/bench/*.c)
GOLDEN    = $(call programs,tests/golden/*.c)
# Not abspath, which takes a folder with a space in its name for two.
HERE      = $(if $(filter /%,$(BUILD)),$(BUILD),$(CURDIR)/$(BUILD))
MODULES   = tests/http/node_modules/.package-lock.json
# A step of the tests is the target of its name.  NAME@KofN is the K-th of N parts of what NAME does.
LOG      ?= $(BUILD)/log
part      = $(subst of,/,$(word 2,$(subst @, ,$@)))
ENV       = GNOMON="$(HERE)/gnomon" BUILD="$(HERE)" PYTHON=$(PYTHON) $(if $(part),PART=$(part))
STEP      = @OPENBLAS_NUM_THREADS=1 $(ENV) sh tests/check/step $(LOG) $(KIND)$@
# Digits that are the same on every processor: no kernels of OpenBLAS and no forms of libm's functions but the oldest.
SAME      = env OPENBLAS_CORETYPE=Nehalem GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F
say       = $(if $(V),,@echo '$(1) $(2)';)

all: $(BUILD)/gnomon

help:
	@sed -n 's/^#: \{0,1\}//p' Makefile
#: make            builds the program: build/gnomon
#: make run        builds it, starts it with ./data and a first study, serves until Ctrl-C
#: make check       the unit tests of what was changed, slow ones in their short form: seconds
#: make test        the gate, with its own set-up: minutes; what CI runs.  ONLY="http golden": these of its steps, or of the
#:                  night's; SLICE=K: the K-th slice of the night with it
#: make nightly     every step there is, and the long forms: hours
#: make lint        the text of the whole tree: layers, format, spelling, both compilers, the analysers
#: make format      lays out the C files
#: make wheel       the Python client: build/wheel/gnomon_client-*.whl
#: make typescript  the TypeScript client: build/typescript/gnomon-client-*.tgz
#: make release     VERSION=1.2.3: tags it and builds all that is published, in build/release; before: BEGIN=1.2.3
#:
#: One step:          its name, which tests/README.md has: check-engine  asan-http@1of4  e2e-readme  fault-clock  golden-replay.py
#: All of a kind:     units  http  e2e  golden  fault  postgres
#: One suite:         build/tests/engine SUITE  (service, api; --all SUITE: not its short form)
#: For hours:         fuzz  fuzz-api  coverage  bench  reproduce
#: Otherwise:         install  deb  sbom (what the program is made of)  clean  V=1 (shows the commands)  BUILD=folder  CFLAGS=...

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
FLAGS := echo '$(subst $(CURDIR),,$(subst $(CURDIR)/,,$(filter-out $(WERROR),$(COMPILE))))'
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
$(BUILD)/api/handlers/handle_pages.o: $(BUILD)/pages.inc $(BUILD)/docs.inc
# The pages under /docs.
$(BUILD)/docs.inc: api/docs/make.py api/docs/style.css openapi.yaml LICENSE $(wildcard SECURITY.md docs/*/*.md api/*.md deploy/*.md \
  engine/*/*.md service/*/*.md api/clients/*/*.md api/clients/python/*.py api/clients/python/*.toml) $(filter-out %/__pycache__,$(wildcard api/clients/python/gnomon/*))
	$(call say,docs,$@)$(PYTHON) -B $< $@
MIGRATIONS = $(sort $(wildcard db/migrations/*.sql))
$(BUILD)/migrations.inc: $(MIGRATIONS)
$(BUILD)/next/migrations.inc: $(MIGRATIONS) tests/fault/next.sql
$(BUILD)/migrations.inc $(BUILD)/next/migrations.inc:
	@mkdir -p $(@D) && for file in $^; do echo '(const char[]){'; $(call BYTES,$$file); echo ', 0},'; done > $@
$(BUILD)/whole.inc: db/whole.py $(MIGRATIONS)
$(BUILD)/next/whole.inc: db/whole.py $(MIGRATIONS) tests/fault/next.sql
$(BUILD)/whole.inc $(BUILD)/next/whole.inc:
	@mkdir -p $(@D) && $(PYTHON) $^ > $@.sql && $(call BYTES,$@.sql) > $@
$(BUILD)/postgres.inc: db/postgres/postgres.sql
	@mkdir -p $(@D) && $(call BYTES,$<) > $@
$(API): $(BUILD)/openapi.inc
$(BUILD)/db/migrations.o: $(BUILD)/migrations.inc $(BUILD)/whole.inc $(BUILD)/postgres.inc
# The program with one migration more than there is, for the tests of migrations.
golden-stores.py fault-migration: $(BUILD)/next/gnomon
$(BUILD)/next/migrations.o: db/migrations.c $(BUILD)/next/migrations.inc $(BUILD)/next/whole.inc $(BUILD)/postgres.inc $(BUILD)/flags
	$(call say,cc,$@)$(COMPILE) -iquote $(BUILD)/next -c $< -o $@
$(BUILD)/next/gnomon: $(BUILD)/service/main/main.o $(BUILD)/next/migrations.o $(BUILD)/libgnomon.a $(BUILD)/libengine.a
	$(call say,link,$@)$(LINK) -o $@ $^ $(API_LIBS)

# The engine's tests link the engine and nothing else of ours, the service's tests no HTTP: if it links, the layer holds.
$(BUILD)/tests/engine: $(call objects,tests/unit/engine/*.c) $(BUILD)/libengine.a
	$(call say,link,$@)$(LINK) -o $@ $^ $(MATH_LIBS) -lcunit
$(BUILD)/tests/service: $(call objects,tests/unit/service/*.c) $(BUILD)/libgnomon.a $(BUILD)/libengine.a
	$(call say,link,$@)$(LINK) -Wl,--wrap=db_query,--wrap=db_find -o $@ $^ $(SERVICE_LIBS) -lcunit
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

# Starts the service with ./data, makes a first token, runs a first study, serves until Ctrl-C.
run:
	@sh tests/check/setup run
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@exec $(BUILD)/gnomon run --listen $(LISTEN) --data $(DATA)

# The program's bill of materials, for whoever must know its libraries and versions: CycloneDX.
sbom: $(BUILD)/gnomon.sbom.json
$(BUILD)/gnomon.sbom.json: $(BUILD)/gnomon deploy/sbom
	$(call say,sbom,$@)$(PYTHON) deploy/sbom $< >$@

# The steps that tests/check/plan names.  Each writes BUILD/log/NAME.log and prints one line; Ctrl-C ends with a tally.  Twice
# as many as there are processors run at once, as half of what they take is waiting: for disks, for leases, for each other.
STEPS_AT_ONCE = $(shell expr $(JOBS) \* 2)
test:
	@sh tests/check/setup test
	@rm -rf $(LOG) && mkdir -p $(LOG)
	@steps=$$(sh tests/check/plan $(ONLY)) && STEPS=$$(echo $$steps | wc -w) STEPS_ENDED="$(HERE)/log/ended" && \
	  export STEPS STEPS_ENDED && trap : INT TERM && { $(MAKE) --no-print-directory -j$(STEPS_AT_ONCE) -k WERROR=-Werror $$steps; \
	  sh tests/check/tally $$? $(LOG) $(MAKE) --no-print-directory WERROR=-Werror; }

# The inner loop: the unit tests of each program that is another one than when they passed, in two parts at once; without the
# suites that are stories, which the gate has.
LONG = chain cases races store schema federation memory operations
check:
	+@$(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS)) $(addprefix $(BUILD)/passed/,engine service api)
$(addprefix $(BUILD)/passed/,engine service api): $(BUILD)/passed/%: $(BUILD)/tests/%
	+@$(MAKE) --no-print-directory quick-$*@1of2 quick-$*@2of2 && mkdir -p $(@D) && touch $@
quick-engine@% quick-service@% quick-api@%: always
	$(STEP) $(SAME) $(BUILD)/tests/$(word 2,$(subst -, ,$(subst @, ,$@))) $(if $(filter quick-service@%,$@),$(addprefix -,$(LONG)))

# The unit tests; whole-NAME: the engine's slowest not in their short form.  The engine's and the service's follow digits; the
# contract's run as users' do.
units: check-engine check-contract check-service check-api check-fuzz
whole = $(if $(filter whole-%,$@),--all)
check-engine whole-engine: $(BUILD)/tests/engine
	$(STEP) $(SAME) $< $(whole) -contract
check-contract whole-contract: $(BUILD)/tests/engine
	$(STEP) $< $(whole) contract
whole-contract@%: $(BUILD)/tests/engine always
	$(STEP) env -u PART POLICIES=$(part) $< --all contract
check-service: $(BUILD)/tests/service
	$(STEP) $(SAME) $<
check-engine@%: $(BUILD)/tests/engine always
	$(STEP) $(SAME) $< -contract
check-service@%: $(BUILD)/tests/service always
	$(STEP) $(SAME) $<
check-api: $(BUILD)/tests/api
	$(STEP) $<
check-fuzz: $(FUZZ)
	$(STEP) sh tests/check/replay $(FUZZ)
# Suites on PostgreSQL: those that know the store, and the ones over HTTP that write most.
POSTGRES_UNITS = driver postgres store chain cases races operations federation members spec_cache steady turns
POSTGRES_HTTP = studies trials lists idempotency events
NODE_TESTS = sh -c 'cd tests/http && exec /usr/bin/node --test --test-concurrency=1 --test-reporter=tap $(1)'
HTTP = $$({ cat seconds.txt; ls *.test.mjs | sed "s,^,3 ,"; } | awk -v part=$${PART:-1/1} -f ../check/parts.awk)
http: $(BUILD)/gnomon $(MODULES)
	$(STEP) $(call NODE_TESTS,$(HTTP))
http@%: $(BUILD)/gnomon $(MODULES) always
	$(STEP) $(call NODE_TESTS,$(HTTP))
postgres: postgres-units postgres-http postgres-failover
postgres-units: $(BUILD)/tests/service
	$(STEP) $(SAME) tests/check/postgres $< $(POSTGRES_UNITS)
postgres-http: $(BUILD)/gnomon $(MODULES)
	$(STEP) tests/check/postgres $(call NODE_TESTS,$(POSTGRES_HTTP:%=%.test.mjs))
postgres-all@%: $(BUILD)/gnomon $(MODULES) always
	$(STEP) tests/check/postgres $(call NODE_TESTS,$(HTTP))
postgres-tamper@%: $(BUILD)/gnomon always
	$(STEP) tests/check/postgres tests/fault/tamper
postgres-migration: $(BUILD)/gnomon $(BUILD)/next/gnomon
	$(STEP) tests/check/postgres tests/fault/migration_postgres
# A server and its spare, which are hurt.
FAILOVER = env POSTGRES_OPTIONS='-c fsync=on' FAILOVER_SECONDS=$(1) $(2) tests/check/postgres tests/fault/failover
postgres-failover: $(BUILD)/gnomon
	$(STEP) $(call FAILOVER,12,SEED=2385)
generators browser openapi deploy: $(BUILD)/gnomon $(MODULES)
	$(STEP) npm --prefix tests/http run --silent $@
# The image; `full`, at night, compiles in it.
container nightly-container: export STEP_SECONDS = 3600
container: $(BUILD)/gnomon
	$(STEP) tests/check/container $<
# npm says on the terminal that a registry is away, or that its certificate is unknown.
$(MODULES): tests/http/package-lock.json
	$(call say,npm,$@)npm --prefix tests/http ci --no-audit --no-fund --loglevel=error && touch $@
E2E := $(addprefix e2e-,$(call scripts,tests/e2e))
FAULTS := $(filter-out fault-failover fault-migration_postgres,$(addprefix fault-,$(call scripts,tests/fault)))
GOLDENS = $(addprefix golden-,$(notdir $(wildcard tests/golden/*.py)))
e2e: $(E2E)
fault: $(FAULTS)
golden: $(GOLDENS)
e2e-%: $(BUILD)/gnomon always
	$(STEP) tests/e2e/$(firstword $(subst @, ,$*))
fault-%: $(BUILD)/gnomon $(FAILING) always
	$(STEP) tests/fault/$(firstword $(subst @, ,$*))
golden-%: $(BUILD)/gnomon $(GOLDEN) always
	$(STEP) $(PYTHON) tests/golden/$*
# Checks of what is handed to others: the bill of materials, and that a build elsewhere gives the same bytes.
sbom-check: $(BUILD)/gnomon.sbom.json
	$(STEP) $(PYTHON) tests/check/sbom $(BUILD)/gnomon $<
reproducible: $(BUILD)/gnomon
	$(STEP) sh tests/check/reproducible 20 CC='$(CC)' CFLAGS='$(CFLAGS)'

# All rules with sanitisers, and with guards in the arenas: asan-NAME and tsan-NAME are the step NAME of such a program.
# What ASan reports, leaks of a server that stopped included, fails the step; UBSan ends the program.
FLAVOUR = $(MAKE) --no-print-directory FORTIFY= CPPFLAGS=-DARENA_GUARD LOG=$(LOG) WERROR= STEP_SECONDS=2400
ASAN = $(FLAVOUR) KIND=asan- BUILD=$(BUILD)/asan CFLAGS='-O1 -g1 -fno-omit-frame-pointer' \
  SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all'
TSAN = $(FLAVOUR) KIND=tsan- BUILD=$(BUILD)/tsan CFLAGS='-O1 -g1' SANITIZE=-fsanitize=thread
export UBSAN_OPTIONS = print_stacktrace=1
export ASAN_OPTIONS = detect_stack_use_after_return=1
asan-built:
	+@$(ASAN) all $(call runners_for,asan)
tsan-built:
	+@$(TSAN) all $(call runners_for,tsan)
# The runners of the goals' unit tests: built before the steps, as two of these may have one.
runners_for = $(addprefix $(BUILD)/$(1)/tests/,$(sort $(subst contract,engine,$(filter engine contract service api,$(subst -, ,$(subst @, ,$(filter $(1)-check-% $(1)-whole-%,$(MAKECMDGOALS))))))))
asan-%: asan-built $(MODULES) always
	+@$(ASAN) $*
tsan-%: tsan-built $(MODULES) always
	+@$(TSAN) $*
api-requests: $(BUILD)/gnomon $(MODULES)
	$(STEP) node tests/fuzz/api.mjs $(or $(FUZZ_API_A_STEP),60) 1

# A night: every step of the table, then what has a budget of its own; one of these alone: nightly-NAME.  They go on when one
# fails.
AUDIT_TRIALS  ?= 10000
CRASH_POINTS  ?= 1000
POWER_STATES  ?= 10000
FAULT_POINTS  ?= 60
MANY_ROUNDS   ?= 100
NIGHT_FAILOVER ?= 600
DAMAGE_FLIPS  ?= 1000
NIGHT_SECONDS ?= 14400
NIGHTLY = steps bare audit guides reproducible crash power calls statements many damage failover container asan tsan fuzz api
nightly:
	@sh tests/check/setup test
	+@$(MAKE) --no-print-directory -k $(addprefix nightly-,$(NIGHTLY)) FUZZ_API_SECONDS=3600 FUZZ_SECONDS=600; \
	  sh tests/check/nightly $(LOG) $(NIGHTLY)
.PHONY: $(addprefix nightly-,$(NIGHTLY))
$(addprefix nightly-,$(NIGHTLY)): export STEP_SECONDS = $(NIGHT_SECONDS)
$(addprefix nightly-,audit guides reproducible crash power calls statements many damage): $(BUILD)/gnomon $(FAILING)
nightly-steps:
	+@$(MAKE) --no-print-directory test SLICE=all LOG=$(LOG)/steps; code=$$?; echo $$code >$(LOG)/$@.rc; exit $$code
nightly-audit:
	$(STEP) tests/e2e/audit $(AUDIT_TRIALS)
nightly-guides: $(MODULES)
	$(STEP) tests/check/guides
nightly-bare:
	$(STEP) tests/check/bare
nightly-reproducible:
	$(STEP) sh tests/check/reproducible 1 CC='$(CC)' CFLAGS='$(CFLAGS)'
nightly-crash:
	$(STEP) env POINTS=$(CRASH_POINTS) tests/fault/crash
nightly-power:
	$(STEP) env STATES=$(POWER_STATES) tests/fault/power
nightly-calls nightly-statements: nightly-%:
	$(STEP) env POINTS=$(FAULT_POINTS) tests/fault/$*
nightly-many:
	$(STEP) env ROUNDS=$(MANY_ROUNDS) tests/fault/many
nightly-damage:
	$(STEP) tests/fault/damage $(DAMAGE_FLIPS) 1000 6
# Under the sanitisers: the steps that are not so in the table.
NIGHT_asan = $(filter-out $(shell SLICE=all sh tests/check/plan),$(addprefix asan-,whole-engine whole-contract $(E2E)))
NIGHT_tsan = tsan-api-requests
nightly-asan nightly-tsan: nightly-%:
	+@$(MAKE) --no-print-directory -k $(NIGHT_$*); code=$$?; echo $$code >$(LOG)/$@.rc; exit $$code
nightly-fuzz:
	+$(STEP) $(MAKE) --no-print-directory fuzz
nightly-api:
	+$(STEP) $(MAKE) --no-print-directory fuzz-api
nightly-failover: $(BUILD)/gnomon
	$(STEP) $(call FAILOVER,$(NIGHT_FAILOVER),CLIENTS=64 FAULT_SECONDS=4)
nightly-container: $(BUILD)/gnomon
	$(STEP) tests/check/container $< full
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
	$(STEP) tests/bench/reproduce --quick

# Faults in the text of the tree: lint-quick takes seconds, the others have gcc and clang with warnings as errors and
# the analysers; `make lint` is all of it.  planted proves that each check finds what it is for.
lint-gcc: every-object
lint-quick lint-python lint-cppcheck lint-gcc lint-clang lint-changed: $(BUILD)/gnomon
	$(STEP) sh tests/check/lint $(if $(filter lint-quick,$@),quick,only $(@:lint-%=%))
lint-tidy@%: $(BUILD)/gnomon always
	$(STEP) sh tests/check/lint only tidy
lint-planted: $(BUILD)/gnomon
	$(STEP) sh tests/check/planted quick
lint-planted-slow: every-object lint-clang
	$(STEP) sh tests/check/planted slow
lint:
	@sh tests/check/setup test
	@$(MAKE) --no-print-directory $(BUILD)/gnomon
	@BUILD=$(BUILD) sh tests/check/lint full && BUILD=$(BUILD) sh tests/check/planted full
every-object: $(ENGINE) $(DB) $(SERVICE) $(API) $(call objects,service/main/main.c tests/unit/*/*.c tests/fuzz/*.c \
  tests/bench/*.c tests/golden/*.c)
format:
	clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h')

# The Python client as one file, the same bytes each time.
WHEEL ?= $(HERE)/wheel
wheel:
	@$(PYTHON) -B api/clients/python/wheel.py "$(WHEEL)"

# The TypeScript client: its types are made of the contract.
TYPESCRIPT ?= $(HERE)/typescript
typescript: $(MODULES)
	@sh api/clients/typescript/build "$(TYPESCRIPT)"

# A Debian package; tests/check/deb installs, upgrades and removes it in a clean root, where lintian looks at it.
deb: $(BUILD)/gnomon
	@deploy/deb $(BUILD)/gnomon $(BUILD)/deb

# A release: BEGIN=1.2.3 prepares it, VERSION=1.2.3 builds and tags it.
release: $(MODULES)
	@deploy/release $(if $(BEGIN),begin $(BEGIN),$(VERSION))

install: all
	install -D -m 755 $(BUILD)/gnomon $(DESTDIR)$(PREFIX)/bin/gnomon
	for unit in gnomon gnomon-notify@; do sed 's,/usr/local/,$(PREFIX)/,' deploy/$$unit.service | \
	  install -D -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/lib/systemd/system/$$unit.service || exit 1; done
	install -D -m 644 LICENSE $(DESTDIR)$(PREFIX)/share/doc/gnomon/LICENSE
	deploy/shell $(BUILD)/gnomon man | install -D -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/share/man/man1/gnomon.1
	deploy/shell $(BUILD)/gnomon bash | install -D -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/share/bash-completion/completions/gnomon
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/gnomon/python/gnomon api/clients/python/gnomon/*.py
clean:
	rm -rf build tests/http/node_modules

-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d $(BUILD)/*/*/*/*.d)
.SECONDARY:
.DELETE_ON_ERROR:
.PHONY: all always run test check units check-engine check-contract check-service check-api check-fuzz whole-engine whole-contract \
  http browser postgres postgres-units postgres-http postgres-failover postgres-migration openapi \
  generators deploy container e2e golden fault asan-built tsan-built api-requests fuzz-api fuzz fuzz-each coverage bench nightly \
  sbom-check reproducible reproduce reproduce-quick lint lint-quick lint-python lint-cppcheck lint-gcc lint-clang lint-changed \
  lint-planted lint-planted-slow every-object format wheel typescript deb release install clean help
