# SPDX-License-Identifier: Apache-2.0
"""Every line of the STDIO API, against its schema.

To a frontend the schemas leave room for members that are not named; here there
is none, so that no member is forgotten in them.
"""
import copy
import functools
import json
import os
import re

SRCDIR = os.environ.get("srcdir", os.path.join(os.path.dirname(__file__),
                                               "../.."))
PATH = os.path.join(SRCDIR, "agent", "schemas", "stdio-api.schema.json")



@functools.cache
def library():
    """jsonschema, or None. Its import takes longer than many a test."""
    try:
        import jsonschema
        return jsonschema
    except ImportError:  # Debian: python3-jsonschema
        return None


# The maxItems of lists of objects are LONG, or SHORT and less.
SHORT, LONG = 64, 1000


def form(value, words):
    """Of a value, what the schema judges: two values of the same form differ in
    digits of strings that are not the schema's words, in numbers of the same
    length and sign, and in the order of a list."""
    if isinstance(value, dict):
        return tuple((key, form(value[key], words)) for key in sorted(value))
    if isinstance(value, list):
        return (list, len(value),
                *dict.fromkeys(form(item, words) for item in value))
    if isinstance(value, str):
        return value if value in words else re.sub("[0-9]", "0", value)
    if isinstance(value, int) and not isinstance(value, bool):
        return (int, value < 0, value.bit_length())
    return (type(value), value)


def shorten(value, words):
    """The same value; a long list of objects keeps its begin, and of the rest
    one item of each form."""
    if isinstance(value, dict):
        return {key: shorten(value[key], words) for key in value}
    if isinstance(value, list):
        if SHORT < len(value) <= LONG and isinstance(value[-1], dict):
            rest = {form(item, words): item for item in value[SHORT:]}
            value = value[:SHORT] + list(rest.values())
        return [shorten(item, words) for item in value]
    return value


def strings(value):
    """All of them in a value."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        return set().union(*map(strings, value))
    return {value} if isinstance(value, str) else set()


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
        self.validators = {}
        self.seen = set()

    @functools.cached_property
    def open(self):
        with open(PATH) as file:
            return json.load(file)

    @functools.cached_property
    def words(self):
        return strings(self.open)

    @functools.cached_property
    def closed(self):
        closed = copy.deepcopy(self.open)
        defs = close(closed)["$defs"]
        for part in ("undo_limits", "safeguard_question"):
            defs[part].pop("unevaluatedProperties", None)
        for name in ("request.undo.configure",):
            whole = defs[name]["properties"]["payload"]
            whole["allOf"][1].pop("unevaluatedProperties", None)
            whole["unevaluatedProperties"] = False
        return closed

    def check(self, name, message):
        """Each form of a message once: the library takes a second for a
        thousand changes."""
        seen = (name, form(message, self.words))
        if library() is None or seen in self.seen:
            return
        if name not in self.validators:
            root = {"$schema": self.closed["$schema"],
                    "$defs": self.closed["$defs"],
                    "$ref": "#/$defs/" + name}
            self.validators[name] = library().Draft202012Validator(root)
        error = library().exceptions.best_match(
            self.validators[name].iter_errors(shorten(message, self.words)))
        assert error is None, "%s: %s at %s: %.500s" % (
            name, error.message[:500], list(error.path), message)
        self.seen.add(seen)

    def strange(self, operation, **payload):
        """What a frontend's own check finds that is not named."""
        root = {"$schema": self.open["$schema"], "$defs": self.open["$defs"],
                "$ref": "#/$defs/request." + operation}
        errors = library().Draft202012Validator(root).iter_errors(
            {"type": operation, "request_id": "1", "payload": payload})
        return [error.message.split("(")[-1].rstrip(")") for error in errors
                if error.validator in ("additionalProperties",
                                       "unevaluatedProperties")]

    def has(self, name):
        return name in self.open["$defs"]

    def check_self(self):
        if library() is not None:
            library().Draft202012Validator.check_schema(self.open)


SCHEMA = Schema()
