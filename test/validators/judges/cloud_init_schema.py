"""Judges cloud-config files by the schema of the cloud-init that is installed, all in one process.

Standard input is a JSON list of paths, standard output a JSON list of {path, line, message}. It is cloud-init's own
check of `cloud-init schema`, deprecations included, which starts too slowly to be called for each file.
"""

import json
import sys

from cloudinit.config import schema
from cloudinit.safeyaml import load_with_marks
import jsonschema  # noqa: F401: without it cloud-init accepts everything


def line_of(marks, path):
    """Not everything has a mark; what is around it has."""
    while path and path not in marks:
        path = path.rpartition(".")[0]
    return marks.get(path, 1)


def faults(path, rules):
    with open(path, "rb") as file:
        content = file.read()
    try:
        config, marks = load_with_marks(content)
    except Exception as error:
        yield {"path": path, "line": 1, "message": f"no YAML: {error}"}
        return
    if not content.startswith(schema.CLOUD_CONFIG_HEADER):
        yield {"path": path, "line": 1, "message": "does not begin with #cloud-config"}
    try:
        schema.validate_cloudconfig_schema(config, rules, strict=True)
    except schema.SchemaValidationError as error:
        for problem in [*error.schema_errors, *error.schema_deprecations]:
            where, message = problem
            yield {"path": path, "line": line_of(marks, where), "message": f"{where}: {message}"}


rules = schema.get_schema()
json.dump([fault for path in json.load(sys.stdin) for fault in faults(path, rules)], sys.stdout)
