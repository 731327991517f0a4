"""A function that is recorded: wrapped, and copied and pickled as if it were not."""

from __future__ import annotations

import copy
from typing import Any

import wrapt  # type: ignore[import-untyped, unused-ignore]


class RecordedMethod(wrapt.BoundFunctionWrapper):  # type: ignore[misc, type-arg, unused-ignore]
    def __reduce_ex__(self, protocol: Any) -> Any:
        return getattr, (self._self_instance, self.__wrapped__.__name__)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return getattr(copy.deepcopy(self._self_instance, memo), self.__wrapped__.__name__)


class Recorded(wrapt.FunctionWrapper):  # type: ignore[misc, type-arg, unused-ignore]
    __bound_function_wrapper__ = RecordedMethod

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__wrapped__.__qualname__

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self
