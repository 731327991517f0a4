"""All the patching there is: a Framework is data; it is applied when its modules are imported, and undone exactly.

The framework is never imported from here. What is missing or too new costs its hook and one log line.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple, cast

import wrapt  # type: ignore[import-untyped, unused-ignore]
from opentelemetry.trace import TracerProvider

from turnlog.instrument.calls import Account, Call, Hook, scope_of
from turnlog.instrument.drivers import driver_for
from turnlog.instrument.late import end_late, watch_collections
from turnlog.instrument.recorded import Recorded
from turnlog.operation import awaited

_log = logging.getLogger("turnlog")
_ABSENT = object()

Undo = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Extension:
    """A framework's own extension point: `install` runs when `module` is imported, and returns what takes it out."""

    module: str
    install: Callable[[ModuleType, Account], Undo]


@dataclass(frozen=True, slots=True)
class Framework:
    """`requires` is the distribution and the range of versions that the tests have seen; `records` says what is recorded.

    `scopes` are those of instrumentations, the framework's own or others, whose spans stand for calls that the hooks see: they
    are adopted, and count only then. `own` are those of spans that its extensions have it make in turnlog's place.
    `extra` installs it, named as the framework unless said.
    """

    name: str
    title: str
    requires: str
    records: str
    hooks: tuple[Hook, ...] = ()
    extensions: tuple[Extension, ...] = ()
    scopes: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    extra: str = ""

    @property
    def instrumentor(self) -> str:
        """The name of its class for OpenTelemetry's loader."""
        return f"{self.title.replace(' ', '')}Instrumentor"


class FrameworkStatus(NamedTuple):
    """For `turnlog doctor`: `why` says what is not hooked, and is empty when all is. `scopes` are those of its spans."""

    framework: str
    requires: str
    installed: str
    hooked: bool
    why: str
    calls: int
    scopes: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """What the version alone says."""
        if not self.installed:
            return "not installed"
        return "recorded" if _accepts(self.requires, self.installed) else "not recorded: untested version"


def pass_over(framework: Framework, why: str, late: bool) -> None:
    """What is not hooked is not recorded, and that is all."""


# Called where something of a framework cannot be hooked; `late`: the program runs already. A replay puts its own in this place.
unhooked = pass_over


class Instrumentation:
    """One framework's patches: waiting for its modules, applied, or undone."""

    def __init__(self, framework: Framework) -> None:
        self.framework = framework
        self.active = False
        self._account = Account(framework.name, framework.scopes)
        self._undo: list[Undo] = []
        self._refused = ""
        self._missing: list[str] = []
        self._awaited: set[str] = set()
        self._parts: dict[str, list[tuple[str, Callable[[], Undo]]]] = {}
        for hook in framework.hooks:
            module = hook.target.partition(":")[0]
            self._parts.setdefault(module, []).append((hook.target, lambda hook=hook: self._patch(hook)))  # type: ignore[misc]
        for extension in framework.extensions:
            install = lambda extension=extension: extension.install(sys.modules[extension.module], self._account)  # noqa: E731
            self._parts.setdefault(extension.module, []).append((extension.module, install))

    def apply(self, provider: TracerProvider | None = None) -> None:
        if self.active:
            return
        self.active = True
        self._account.use(provider)
        self._missing.clear()
        watch_collections()
        for module in self._parts:
            if module in sys.modules:
                self._apply_to(module)
            elif module not in self._awaited:
                # There is no unregistering: after undo() the hook stays there and does nothing.
                self._awaited.add(module)
                wrapt.register_post_import_hook(lambda imported: self._imported(imported.__name__), module)

    def undo(self) -> None:
        self.active = False
        if self._undo:
            awaited.subtract(self.framework.scopes)
        while self._undo:
            self._undo.pop()()
        end_late()

    def status(self) -> FrameworkStatus:
        installed = _installed_version(self.framework.requires)
        if not self.active:
            why = "not instrumented"
        elif self._refused:
            why = self._refused
        elif self._missing:
            why = f"not found: {', '.join(self._missing)}"
        elif self._undo:
            why = ""
        else:
            why = "not imported" if installed else "not installed"
        name, requires = self.framework.name, self.framework.requires
        scopes = (scope_of(name), *self.framework.scopes, *self.framework.own)
        return FrameworkStatus(name, requires, installed, bool(self._undo), why, self._account.calls, scopes)

    def import_all(self) -> None:
        """Import what the hooks wait for, where it is there."""
        for module in self._parts if _installed_version(self.framework.requires) and self._in_range() else ():
            with suppress(ImportError):
                importlib.import_module(module)

    def _imported(self, module: str) -> None:
        self._awaited.discard(module)
        if self.active:
            self._apply_to(module, late=True)

    def _apply_to(self, module: str, late: bool = False) -> None:
        if not self._in_range():
            unhooked(self.framework, f"{self._refused} ({self.framework.requires})", late)
            return
        for target, apply in self._parts[module]:
            try:
                undo = apply()
                if not self._undo:
                    awaited.update(self.framework.scopes)
                self._undo.append(undo)
            except Exception as error:  # noqa: BLE001 - one renamed method costs one hook
                self._missing.append(target)
                _log.warning("turnlog: %s: cannot hook %s, it is not recorded: %r", self.framework.name, target, error)
                unhooked(self.framework, f"cannot hook {target}", late)

    def _in_range(self) -> bool:
        if self._refused:
            return False
        installed = _installed_version(self.framework.requires)
        # An import without metadata (a vendored copy, a checkout on the path) says nothing against hooking.
        if installed and not _accepts(self.framework.requires, installed):
            self._refused = f"version {installed} is outside the tested range"
            name, requires = self.framework.name, self.framework.requires
            _log.warning("turnlog: %s is not recorded: %s (%s)", name, self._refused, requires)
        return not self._refused

    def _patch(self, hook: Hook) -> Undo:
        owner, name = _resolve(hook.target)
        drive = driver_for(inspect.unwrap(getattr(owner, name)))

        def wrapper(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return drive(hook, self._account, wrapped, Call(instance, args, kwargs))

        return patch(owner, name, wrapper)


class _Patch(Recorded):
    """One of ours: a wrapper answers for what it wraps, so that only its type tells."""


def undo_all(*undone: Undo) -> Undo:
    def undo() -> None:
        for each in undone:
            each()

    return undo


def subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    """The class, and all that there are below it."""
    yield kind
    for inner in type.__subclasses__(kind):
        yield from subclasses(inner)


def patch(owner: Any, name: str, wrapper: Callable[..., Any]) -> Undo:
    """Wrap an attribute of a module or class until the undo is called.

    Inside the wrappers of other instrumentations: their spans have started when our hook looks for one to adopt, and either of
    us can be taken out without the other.
    """
    original = inspect.getattr_static(owner, name)
    own = name in vars(owner)
    while own and _is_foreign(original):
        original = original.__wrapped__
    active = True
    patched = _Patch(original, wrapper, lambda: active)
    for holder, slot in list(_holders(owner, name, original)) if own else [(owner, name)]:
        setattr(holder, slot, patched)

    def undo() -> None:
        # Whoever wrapped it after us without a name for what is inside holds on to our wrapper, which steps aside.
        nonlocal active
        active = False
        for holder, slot in list(_holders(owner, name, patched)):
            if own or holder is not owner:
                setattr(holder, slot, original)
            else:
                delattr(owner, name)

    return undo


class Seen:
    """Classes that are hooked when the first of their objects comes along: interfaces that applications implement."""

    def __init__(self) -> None:
        self._undo: dict[tuple[type, str], Undo] = {}

    def hook(self, instance: Any, wrappers: dict[str, Callable[..., Any]]) -> None:
        for name, wrapper in wrappers.items():
            owner = next((kind for kind in type(instance).__mro__ if name in vars(kind)), None)
            if owner is not None and (owner, name) not in self._undo:
                self._undo[owner, name] = patch(owner, name, wrapper)

    def undo(self) -> None:
        while self._undo:
            self._undo.popitem()[1]()


def _is_foreign(wrapper: Any) -> bool:
    """Whether somebody else has wrapped a function with wrapt, as every instrumentation of OpenTelemetry does."""
    return issubclass(type(wrapper), wrapt.FunctionWrapper) and type(wrapper) is not _Patch


def _holders(owner: Any, name: str, held: Any) -> Iterator[tuple[Any, str]]:
    """Where a function is held: by its class, by subclasses that have it wrapped for themselves, by wrappers around it."""
    for each in subclasses(owner) if isinstance(owner, type) else (owner,):
        holder: Any = each
        slot, found = name, cast(Any, vars(each).get(name, _ABSENT))
        while found is not held and _is_foreign(found):
            holder, slot, found = found, "__wrapped__", found.__wrapped__
        if issubclass(type(found), wrapt.BoundFunctionWrapper):
            # Whoever puts back what the class gave it puts back a wrapper bound to nothing, even one that we have undone.
            found = found._self_parent
        while found is not held and type(found) is _Patch and not cast(Any, found)._self_enabled():
            found = found.__wrapped__
        if found is held:
            yield holder, slot


def _resolve(target: str) -> tuple[Any, str]:
    module, _, path = target.partition(":")
    *outer, names = path.split(".")
    owner: Any = sys.modules[module]
    for part in outer:
        owner = getattr(owner, part)
    return owner, next((name for name in names.split("|") if hasattr(owner, name)), names)


def _installed_version(requires: str) -> str:
    from packaging.requirements import Requirement

    try:
        return importlib.metadata.version(Requirement(requires).name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _accepts(requires: str, version: str) -> bool:
    from packaging.requirements import Requirement

    return Requirement(requires).specifier.contains(version, prereleases=True)
