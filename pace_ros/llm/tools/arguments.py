"""Checks a call's arguments against the tool's JSON schema before anything is done with them."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from pace_ros.llm.tools.call import read_object

LONGEST = 200  # characters of a complaint


class ArgumentCheck:
    """A JSON schema (draft 2020-12). Raises ValueError for what is none of an object, or refers to another document."""

    def __init__(self, schema: Mapping[str, object]) -> None:
        if schema.get('type') != 'object':
            raise ValueError("must have 'type: object'")
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            raise ValueError(f'is no JSON schema: {error.message}') from error
        if any(not reference.startswith('#') for reference in _references(schema)):
            raise ValueError("must not refer to another document by '$ref'")
        _resolve(schema)
        self._validator = Draft202012Validator(schema, registry=Registry())
        try:
            self._validator.is_valid({})
        except RecursionError as error:
            raise ValueError("refers to itself without end by '$ref'") from error

    def read(self, text: str) -> Mapping[str, object]:
        """The arguments a model wrote. Raises ValueError with words fit for the model."""
        arguments = read_object(text)
        error = best_match(self._validator.iter_errors(arguments))
        if error is not None:
            where = '.'.join(str(step) for step in error.absolute_path)
            raise ValueError(f'{f"argument {where!r}: " if where else ""}{error.message[:LONGEST]}')
        return arguments


def _resolve(schema: Mapping[str, object]) -> None:
    """Raises ValueError for a reference to what is not there."""
    resource: Resource[Any] = DRAFT202012.create_resource(schema)
    resolver = Registry().with_resource('', resource).resolver('')
    for reference in _references(schema):
        try:
            resolver.lookup(reference)
        except Unresolvable as error:
            raise ValueError(f"refers by '$ref' to {reference!r}, which is not there") from error


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key in ('$ref', '$dynamicRef') and isinstance(value, str):
                yield value
            yield from _references(value)
    elif isinstance(schema, list):
        for each in schema:
            yield from _references(each)
