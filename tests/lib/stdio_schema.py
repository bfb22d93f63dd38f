# SPDX-License-Identifier: Apache-2.0
"""Every line of the STDIO API, against its schema.

To a frontend the schemas leave room for members that are not named; here there
is none, so that no member is forgotten in them.
"""
import copy
import json
import os

SRCDIR = os.environ.get("srcdir", os.path.join(os.path.dirname(__file__),
                                               "../.."))
PATH = os.path.join(SRCDIR, "agent", "schemas", "stdio-api.schema.json")

try:
    import jsonschema
except ImportError:  # Debian: python3-jsonschema
    jsonschema = None


def close(schema):
    """In place: no members but those that are named."""
    if isinstance(schema, list):
        for entry in schema:
            close(entry)
    elif isinstance(schema, dict):
        for entry in schema.values():
            close(entry)
        # A schema that is part of another does not know the other parts.
        if schema.get("type") == "object" and "properties" in schema:
            schema.setdefault("unevaluatedProperties", False)
    return schema


class Schema:
    def __init__(self):
        with open(PATH) as file:
            self.open = json.load(file)
        self.closed = copy.deepcopy(self.open)
        defs = close(self.closed)["$defs"]
        for part in ("undo_limits", "safeguard_question"):
            defs[part].pop("unevaluatedProperties", None)
        for name in ("request.undo.configure",):
            whole = defs[name]["properties"]["payload"]
            whole["allOf"][1].pop("unevaluatedProperties", None)
            whole["unevaluatedProperties"] = False
        self.validators = {}

    def check(self, name, message):
        if jsonschema is None:
            return
        if name not in self.validators:
            root = {"$schema": self.closed["$schema"],
                    "$defs": self.closed["$defs"],
                    "$ref": "#/$defs/" + name}
            self.validators[name] = jsonschema.Draft202012Validator(root)
        error = jsonschema.exceptions.best_match(
            self.validators[name].iter_errors(message))
        assert error is None, "%s: %s at %s: %.500s" % (
            name, error.message[:500], list(error.path), message)

    def strange(self, operation, **payload):
        """What a frontend's own check finds that is not named."""
        root = {"$schema": self.open["$schema"], "$defs": self.open["$defs"],
                "$ref": "#/$defs/request." + operation}
        errors = jsonschema.Draft202012Validator(root).iter_errors(
            {"type": operation, "request_id": "1", "payload": payload})
        return [error.message.split("(")[-1].rstrip(")") for error in errors
                if error.validator in ("additionalProperties",
                                       "unevaluatedProperties")]

    def has(self, name):
        return name in self.open["$defs"]

    def check_self(self):
        if jsonschema is not None:
            jsonschema.Draft202012Validator.check_schema(self.open)


SCHEMA = Schema()
