"""`turnlog completion`: what makes bash, zsh and fish complete, made from the parser, so that nothing is listed twice.

The scripts call back for session ids. Ids are whatever an application chose: each shell quotes them, and those with
control characters are not offered.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import NamedTuple

from turnlog.cli.parser import build_parser

_FILES = {"FILE", "PATH", "DIR"}
_SESSIONS = {"SESSION", "TURN"}
_MOST_IDS = 200
# The bash of macOS has no compopt.
_FILES_HERE = "compopt -o default 2>/dev/null"


class Argument(NamedTuple):
    """An option, or without names a place, and what its value can be: a choice, a session, a file, or nobody knows."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    choices: tuple[str, ...]
    kind: str
    repeats: bool


class Command(NamedTuple):
    name: str
    help: str
    arguments: list[Argument]

    @property
    def options(self) -> list[Argument]:
        return [each for each in self.arguments if each.names]

    @property
    def places(self) -> list[Argument]:
        return [each for each in self.arguments if not each.names]


def completion(options: argparse.Namespace) -> int:
    if options.ids:
        return _print_ids()
    sys.stdout.write({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](list(_commands())))
    return 0


def _print_ids() -> int:
    """The newest sessions. Whoever presses Tab gets ids or nothing, never an error."""
    try:
        from turnlog import queries
        from turnlog.settings import read_settings

        with queries.reading(read_settings()) as db:
            found = [session.session_id for session in queries.sessions(db, _MOST_IDS)]
    except (Exception, KeyboardInterrupt):  # noqa: BLE001 - nothing may be printed into somebody's prompt
        return 1
    sys.stdout.write("".join(f"{name}\n" for name in found if name.isprintable()))
    return 0


def _commands() -> Iterator[Command]:
    parser = build_parser()
    yield Command("", "", [_argument(action) for action in parser._actions if action.option_strings])
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    for each in commands._choices_actions:
        actions = [action for action in commands.choices[each.dest]._actions if action.help != argparse.SUPPRESS]
        yield Command(each.dest, each.help or "", [_argument(action) for action in actions])


def _argument(action: argparse.Action) -> Argument:
    metavar = str(action.metavar or "")
    is_session = metavar in _SESSIONS or action.dest == "session"
    return Argument(
        tuple(action.option_strings),
        action.help or "",
        action.nargs != 0 and action.nargs != "?" if action.option_strings else True,
        tuple(map(str, action.choices or ())),
        "session" if is_session else "file" if metavar in _FILES else "",
        action.nargs in ("*", "+"),
    )


def _bash(commands: list[Command]) -> str:
    values, words = [], []
    for command in commands:
        for option in command.options:
            if option.takes_value:
                pattern = "|".join(f"{command.name}:{name}" for name in option.names)
                values.append(f"        {pattern}) {_bash_value(option)}; return ;;")
        if command.name:
            names = " ".join(name for option in command.options for name in option.names)
            place = next(iter(command.places), None)
            free = _bash_value(place) if place else _FILES_HERE if command.name == "run" else ":"
            words.append(f'        {command.name}) options="{names}"; [[ $cur == -* ]] || {{ {free}; return; }} ;;')
    top = " ".join(name for option in commands[0].options for name in option.names)
    return f"""\
# bash completion for turnlog: source <(turnlog completion bash)
_turnlog_sessions() {{
    local word
    COMPREPLY=()
    while IFS= read -r word; do
        [[ $word == "$cur"* ]] || continue
        word=${{word#"$kept"}}
        if [[ -z $quote ]]; then COMPREPLY+=("$(printf %q "$word")")
        elif [[ $word != *[\\'\\"\\$\\`\\\\!]* ]]; then COMPREPLY+=("$word")
        fi
    done < <("$turnlog" completion bash --ids 2>/dev/null)
}}
_turnlog() {{
    local turnlog=$1 line=${{COMP_LINE:0:COMP_POINT}} cur= kept= quote= prev= command= options= letter i
    local -a typed
    # Words as they are meant, without quotes. What stands in the last one before a quote, or before a letter at which bash
    # begins a new word (= : @), is kept on the line.
    for ((i = 0; i < ${{#line}}; i++)); do
        letter=${{line:i:1}}
        if [[ $letter == "$quote" ]]; then quote=
        elif [[ $letter == "\\\\" && $quote != "'" ]]; then ((i++)); cur+=${{line:i:1}}
        elif [[ -n $quote ]]; then cur+=$letter
        elif [[ $letter == [\\'\\"] ]]; then quote=$letter kept=$cur
        elif [[ $letter == [[:space:]] ]]; then [[ -n $cur ]] && typed+=("$cur"); cur= kept=
        else
            cur+=$letter
            [[ $COMP_WORDBREAKS == *"$letter"* ]] && kept=$cur
        fi
    done
    (( ${{#typed[@]}} )) && prev=${{typed[${{#typed[@]}} - 1]}}
    [[ $cur == --*=* ]] && {{ prev=${{cur%%=*}}; cur=${{cur#*=}}; kept=${{kept#*=}}; }}
    for ((i = 1; i < ${{#typed[@]}}; i++)); do
        [[ ${{typed[i]}} == -* ]] || {{ command=${{typed[i]}}; break; }}
    done
    COMPREPLY=()
    case $command:$prev in
{chr(10).join(values)}
    esac
    case $command in
        "") options="{top}"; [[ $cur == -* ]] || options="{" ".join(each.name for each in commands if each.name)}" ;;
{chr(10).join(words)}
    esac
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
}}
complete -F _turnlog turnlog
"""


def _bash_value(argument: Argument) -> str:
    if argument.choices:
        return f'COMPREPLY=($(compgen -W "{" ".join(argument.choices)}" -- "$cur"))'
    return {"session": "_turnlog_sessions", "file": _FILES_HERE, "": ":"}[argument.kind]


def _zsh(commands: list[Command]) -> str:
    described = "\n".join(f"        {_quoted(f'{each.name}:{each.help}')}" for each in commands if each.name)
    cases = []
    for command in commands:
        if command.name:
            specs = [_zsh_option(option) for option in command.options]
            specs += [_zsh_place(place) for place in command.places]
            if command.name == "run":
                # From the program on, nothing is turnlog's.
                specs = ["-A '-*'", *specs, "'(-)1: :_command_names -e'", "'*::program:_normal'"]
            cases.append(f"        {command.name}) _arguments -s {' '.join(specs)} ;;")
    top = " ".join(_zsh_option(option) for option in commands[0].options)
    return f"""\
#compdef turnlog
# zsh completion for turnlog: turnlog completion zsh > "${{fpath[1]}}/_turnlog"
_turnlog_sessions() {{
    local -a ids
    ids=(${{(f)"$(${{_turnlog_called:-turnlog}} completion zsh --ids 2>/dev/null)"}})
    # In this order: the newest first.
    compadd -V sessions -a ids
}}
_turnlog() {{
    local curcontext=$curcontext state line _turnlog_called=$words[1]
    # Not `commands`, which zsh has the programs in.
    local -a asked
    asked=(
{described}
    )
    _arguments -C {top} '1: :->command' '*:: :->arguments'
    case $state in
        command) _describe command asked ;;
        arguments) case $words[1] in
{chr(10).join(cases)}
        esac ;;
    esac
}}
if [[ $funcstack[1] == _turnlog ]]; then _turnlog "$@"; else compdef _turnlog turnlog; fi
"""


def _zsh_option(option: Argument) -> str:
    brief = option.help.replace("[", "(").replace("]", ")").replace(":", "")
    others = f"({' '.join(option.names)})" if len(option.names) > 1 else ""
    value = f":{_zsh_value(option)}" if option.takes_value else ""
    # With = a long option takes its value in either form.
    either = {name: "=" if option.takes_value and name.startswith("--") else "" for name in option.names}
    return " ".join(_quoted(f"{others}{name}{either[name]}[{brief}]{value}") for name in option.names)


def _zsh_place(place: Argument) -> str:
    return _quoted(f"{'*' if place.repeats else ''}:{_zsh_value(place)}")


def _zsh_value(argument: Argument) -> str:
    if argument.choices:
        return f" :({' '.join(argument.choices)})"
    return " :" + {"session": "_turnlog_sessions", "file": "_files", "": " "}[argument.kind]


def _fish(commands: list[Command]) -> str:
    lines = []
    names = " ".join(each.name for each in commands if each.name)
    for command in commands:
        when = f"__fish_seen_subcommand_from {command.name}" if command.name else "__fish_use_subcommand"
        if command.name:
            lines.append(f"complete -c turnlog -n __fish_use_subcommand -a {command.name} -d {_quoted(command.help)}")
        for option in command.options:
            flags = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            value = f" {_fish_value(option)}" if option.takes_value else ""
            lines.append(f"complete -c turnlog -n {_quoted(when)} {flags}{value} -d {_quoted(option.help)}")
        place = next(iter(command.places), None)
        if place and (place.choices or place.kind == "session"):
            lines.append(f"complete -c turnlog -n {_quoted(when)} {_fish_value(place).removeprefix('-x ')}")
        elif (place and place.kind == "file") or command.name == "run":
            lines.append(f"complete -c turnlog -n {_quoted(when)} -F")
    return f"""\
# fish completion for turnlog: turnlog completion fish | source
function __turnlog_sessions
    set -l called (commandline -opc)[1]
    $called completion fish --ids 2>/dev/null
end
complete -c turnlog -f
# One command of: {names}
{chr(10).join(lines)}
"""


def _fish_value(argument: Argument) -> str:
    if argument.choices:
        return f"-x -a {_quoted(' '.join(argument.choices))}"
    return {"session": "-x -k -a '(__turnlog_sessions)'", "file": "-r -F", "": "-x"}[argument.kind]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
