# Every target makes .venv first if there is none, or if requirements.txt or pyproject.toml has changed.
VENV ?= .venv
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	"$$p" -c '$(SUPPORTED)' 2>/dev/null && echo "$$p" && break; done)

SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PY := "$(abspath $(VENV))/bin/python"
MADE := $(VENV)/.made

# A relative folder of data is relative to here, also for what runs in `book`.
ifdef SENTLAB_DATA
override SENTLAB_DATA := $(shell cd '$(SENTLAB_DATA)' 2>/dev/null && pwd || echo '$(SENTLAB_DATA)')
export SENTLAB_DATA
endif

# The stamp holds the checkout's path: a copied or moved checkout would otherwise import the package of its old place.
ifneq ($(shell cat $(MADE) 2>/dev/null),$(CURDIR))
.PHONY: $(MADE)
endif

.PHONY: help venv book test lab results bench torture lint audit clean distclean
.DELETE_ON_ERROR:

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST)

venv: $(MADE) ## make .venv with the pinned environment

# Written last, so that an interrupted installation does not count as made.
$(MADE): requirements.txt pyproject.toml
	@"$(PYTHON)" -c '$(SUPPORTED)' 2>/dev/null || { echo >&2 "sentlab needs Python 3.11, 3.12 or 3.13 but found\
	 '$(PYTHON)'; name one: make PYTHON=/path/to/python3.12"; exit 1; }
	@rm -f $@
	$(PY) -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv --clear $(VENV)
	$(PY) -m pip install --disable-pip-version-check --quiet -r requirements.txt
	@printf '%s\n' '$(CURDIR)' > $@

book: $(MADE) ## run every chapter and render the book to _build/html
	@$(PY) book/build.py

test: $(MADE) ## run the tests
	@$(PY) -m pytest -n auto --maxprocesses 4 --dist loadfile

lab: $(MADE) ## open the chapters in JupyterLab
	cd book && $(PY) -m jupyterlab --LabApp.app_settings_dir=_lab \
	 --LabApp.extra_labextensions_path=_lab/labextensions 00-contents.ipynb

results: $(MADE) ## run the recorded results that are missing, and name what cannot be run
	@cd book && $(PY) -m experiments results

bench: $(MADE) ## time encoding, search, training and start; half an hour on a quiet machine; OUT=FILE records it
	@$(PY) -m pip install --disable-pip-version-check --quiet -r benchmarks/requirements.txt
	@$(PY) benchmarks/speed.py $(if $(OUT),--out $(OUT))

torture: $(MADE) ## kill, damage and share what the package promises to keep
	@$(PY) benchmarks/torture.py

lint: $(MADE) ## check style and types, and that no notebook holds stored outputs
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m pytest --noconftest tests/book/test_book.py -k "notebooks or chapters or references"

# In an environment of its own, for it brings packages of other versions. `--strict`: what cannot be looked up is an error.
audit: ## hold the pinned packages against the known vulnerabilities (needs a network)
	@rm -rf build/audit && "$(PYTHON)" -m venv build/audit && build/audit/bin/pip install --quiet pip-audit
	@grep -v '^-e' requirements.txt > build/audit/pinned.txt
	build/audit/bin/pip-audit --strict --no-deps --disable-pip -r build/audit/pinned.txt

clean: ## remove the built book and all caches, but not .venv
	rm -rf _build build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .jupyter_cache
	find sentlab book tests benchmarks \( -name __pycache__ -o -name .ipynb_checkpoints -o -name .ruff_cache \) -prune -exec rm -rf {} +

distclean: clean ## remove .venv too
	rm -rf $(VENV)
