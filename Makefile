# Two commands do it all: `make pilot` and `make test`. On Windows, or with conda: see README.md.
PYTHON ?= python3
PILOT  ?= sample
VENV   := .venv
BIN    := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: pilot test lab bench lint clean

pilot: $(VENV)/.offline
	$(BIN)/rag-pilot export $(PILOT)

# on copies, because a notebook that was run holds what it showed, and results/ is not in git
lab: $(VENV)/.offline
	mkdir -p results/$(PILOT)/notebooks
	cp -n notebooks/*.ipynb results/$(PILOT)/notebooks/
	RAG_PILOT=$(PILOT) $(BIN)/jupyter lab results/$(PILOT)/notebooks

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev
	@for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script || exit 1; done

# torch first: asked for by exact version it is the CPU build, otherwise several GB of CUDA come along
$(VENV)/.torch:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) torch==2.13.0
	touch $@

$(VENV)/.offline: pyproject.toml constraints.txt | $(VENV)/.torch
	$(INSTALL) -e '.[offline]'
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/.torch
	$(INSTALL) -e '.[dev]'
	touch $(VENV)/.offline $@

clean:
	rm -rf $(VENV)
