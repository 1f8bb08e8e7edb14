"""The table of operations is botocore's service model of SQS: names, members and required members."""

from __future__ import annotations

from typing import Any

import botocore.session
import pytest
from botocore.model import ListShape, MapShape, StructureShape

from console.access.api_keys import SQS_SCOPES
from console.api.sqs.errors import ERRORS
from console.api.sqs.operations import OPERATIONS
from console.api.sqs.protocols.shapes import BOOLEAN, BYTES, INTEGER, TEXT, ListOf, MapOf, Structure

MODEL = botocore.session.get_session().get_service_model("sqs")
SCALARS = {"string": TEXT, "integer": INTEGER, "long": INTEGER, "boolean": BOOLEAN, "blob": BYTES}
NOT_REQUIRED = {"DataType"}
"""Members whose absence SQS answers with an error of its own."""


def test_every_operation_is_there_and_has_a_scope() -> None:
    assert set(OPERATIONS) == set(MODEL.operation_names)
    assert {operation.scope for operation in OPERATIONS.values()} == set(SQS_SCOPES)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_shapes_are_those_of_the_model(name: str) -> None:
    operation, model = OPERATIONS[name], MODEL.operation_model(name)
    same(operation.input, model.input_shape, inputs=True)
    assert (operation.output is None) == (model.output_shape is None)
    if operation.output is not None:
        same(operation.output, model.output_shape, inputs=False)


def same(shape: Any, model: Any, *, inputs: bool) -> None:
    if isinstance(model, StructureShape):
        assert isinstance(shape, Structure)
        assert set(shape.members) == set(model.members), model.name
        if inputs:
            assert set(shape.required) == set(model.required_members) - NOT_REQUIRED, model.name
        for name, member in model.members.items():
            same(shape.members[name], member, inputs=inputs)
    elif isinstance(model, ListShape):
        assert isinstance(shape, ListOf)
        same(shape.member, model.member, inputs=inputs)
    elif isinstance(model, MapShape):
        assert isinstance(shape, MapOf)
        same(shape.value, model.value, inputs=inputs)
    else:
        assert shape is SCALARS[model.type_name], model.name


def test_every_error_of_the_model_is_in_the_table() -> None:
    theirs = {shape.name for shape in MODEL.error_shapes if not shape.name.startswith("Kms")}
    assert theirs - {"InvalidIdFormat"} <= set(ERRORS)
