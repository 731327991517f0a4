"""Shell commands: what they name is declared, what cannot be known is left out, and what does not parse declares nothing."""

from __future__ import annotations

from typing import Any

import pytest

from turnlog.derive.files import declared_touches
from turnlog.derive.shell import shell_touches
from turnlog.derive.touch import Touch

V4A = "*** Begin Patch\n*** Update File: q.py\n*** Move to: r.py\n@@\n-a\n+b\n*** Add File: n.py\n+x\n*** End Patch"
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"


def said(touches: list[Touch]) -> list[str]:
    return [f"{touch.action} {touch.path}" + (f" < {touch.renamed_from}" if touch.renamed_from else "") for touch in touches]


@pytest.mark.parametrize(
    ("command", "touches"),
    [
        # redirections
        ("echo hi > out.txt", ["write out.txt"]),
        ("echo hi >> out.txt", ["write out.txt"]),
        ("echo hi >out.txt", ["write out.txt"]),
        ("make &> build.log", ["write build.log"]),
        ("make &>> build.log", ["write build.log"]),
        ("make 2> errors.txt", ["write errors.txt"]),
        ("make > out 2>&1", ["write out"]),
        ("make >out 2>err", ["write out", "write err"]),
        ("make >& both.log", ["write both.log"]),
        ("echo x >| forced", ["write forced"]),
        ("cat < in.txt", ["read in.txt"]),
        ("sort < in > out", ["read in", "write out"]),
        ("echo gone > /dev/null 2>&1", []),
        ("echo 2 > two", ["write two"]),
        ("echo a2>x", ["write x"]),
        ("> empty", ["write empty"]),
        ("tr a b <<< text > y", ["write y"]),
        # quotes and escapes
        ("echo 'a > b' > c", ["write c"]),
        ('echo "a > b" > c', ["write c"]),
        ("echo a \\> b > c", ["write c"]),
        ("echo x > 'my file.txt'", ["write my file.txt"]),
        ('echo x > "my file.txt"', ["write my file.txt"]),
        ("echo x > my\\ file.txt", ["write my file.txt"]),
        ('echo "say \\"hi\\"" > a"b"\'c\'', ["write abc"]),
        ("echo one \\\n  two > three", ["write three"]),
        ("echo a # > b", []),
        ("echo a#b > c", ["write c"]),
        # sequences
        ("touch a; touch b", ["write a", "write b"]),
        ("touch a && touch b", ["write a", "write b"]),
        ("touch a\ntouch b", ["write a", "write b"]),
        ("touch a & touch b", ["write a", "write b"]),
        ("grep x a | sort | tee b", ["read a", "write b"]),
        ("(touch a; touch b)", ["write a", "write b"]),
        ("{ touch a; touch b; } > log", ["write a", "write b", "write log"]),
        ("(cd sub && touch a); touch b", ["write sub/a", "write b"]),
        ("rm a || touch b", ["delete a"]),
        ("rm a || { touch b; rm c; }; touch d", ["delete a", "write d"]),
        ("rm a || (touch b; rm c); touch d", ["delete a", "write d"]),
        ("test -f a || touch a && touch b", ["write b"]),
        # files changed by commands
        ("echo x | tee a", ["write a"]),
        ("echo x | tee -a a b", ["write a", "write b"]),
        ("touch -c a", []),
        ("touch -d yesterday a", ["write a"]),
        ("truncate -s 0 a", ["write a"]),
        ("mkdir a", ["create a"]),
        ("mkdir -p a/b", ["write a/b"]),
        ("mkdir -m 700 a", ["create a"]),
        ("rm -rf build/ a.py", ["delete build/", "delete a.py"]),
        ("rm -- -odd", ["delete -odd"]),
        ("rmdir a", ["delete a"]),
        ("unlink a", ["delete a"]),
        ("mv a b", ["rename b < a"]),
        ("mv -f a b", ["rename b < a"]),
        ("mv a b sub", ["rename sub/a < a", "rename sub/b < b"]),
        ("mv a sub/", ["rename sub/a < a"]),
        ("mv -t sub a b", ["rename sub/a < a", "rename sub/b < b"]),
        ("mv ../a .", ["rename ./a < ../a"]),
        ("cp a b", ["read a", "write b"]),
        ("cp -r a b sub/", ["read a", "write sub/a", "read b", "write sub/b"]),
        ("install -m 755 a bin/", ["read a", "write bin/a"]),
        ("ln -s a b", ["write b"]),
        ("sed -i 's/a/b/' f g", ["write f", "write g"]),
        ("sed -i.bak 's/a/b/' f", ["write f"]),
        ("sed -i '' 's/a/b/' f", ["write f"]),
        ("sed -i -e 's/a/b/' -e 's/c/d/' f", ["write f"]),
        ("sed --in-place=.bak s/a/b/ f", ["write f"]),
        ("sed -E -i s/a/b/ f", ["write f"]),
        ("sed -n '1,5p' f", ["read f"]),
        ("sed -n 1,5p f > g", ["read f", "write g"]),
        ("perl -pi -e 's/a/b/' f g", ["write f", "write g"]),
        ("perl -i.bak -pe 's/a/b/' f", ["write f"]),
        ("perl -ne print f", []),
        ("dd if=a of=b bs=1", ["read a", "write b"]),
        ("curl -sSL -o page.html https://x", ["write page.html"]),
        ("wget -q -O page.html https://x", ["write page.html"]),
        ("shred -u a", ["delete a"]),
        # files read
        ("cat a b", ["read a", "read b"]),
        ("cat -", []),
        ("head -n 5 a", ["read a"]),
        ("head -5 a", ["read a"]),
        ("tail -n +3 a", ["read a"]),
        ("grep -A 3 foo a b", ["read a", "read b"]),
        ("grep -e foo a", ["read a"]),
        ("grep -rn foo src", ["list src"]),
        ("ls -la src", ["list src"]),
        ("find src tests -name '*.py'", ["list src", "list tests"]),
        # git
        ("git mv a b", ["rename b < a"]),
        ("git rm a b", ["delete a", "delete b"]),
        ("git rm --cached a", []),
        ("git -C sub mv a b", ["rename sub/b < sub/a"]),
        ("git -c x=y rm a", ["delete a"]),
        ("git restore a", ["write a"]),
        ("git restore --staged a", []),
        ("git restore .", []),
        ("git checkout -- a", ["write a"]),
        ("git checkout main", []),
        ("git checkout main -- a", ["write a"]),
        ("git add a && git commit -m 'b > c'", []),
        (f"git apply <<'EOF'\n{DIFF}EOF", ["write x.py"]),
        (f"cd sub && git apply <<'EOF'\n{DIFF}EOF", ["write sub/x.py"]),
        (f"git apply --check <<'EOF'\n{DIFF}EOF", []),
        (f"git apply -R <<'EOF'\n{DIFF}EOF", []),
        ("git apply fix.patch", ["read fix.patch"]),
        (f"patch -p1 <<'EOF'\n{DIFF}EOF", ["write x.py"]),
        (f"patch -p0 <<'EOF'\n{DIFF}EOF", ["write b/x.py"]),
        ("patch a.py < fix.diff", ["write a.py", "read fix.diff"]),
        (f"apply_patch <<'EOF'\n{V4A}\nEOF", ["rename r.py < q.py", "create n.py"]),
        (f"apply_patch '{V4A}'", ["rename r.py < q.py", "create n.py"]),
        # folders
        ("cd sub && touch a", ["write sub/a"]),
        ("cd sub; cd ..; touch a", ["write sub/../a"]),
        ("cd /abs && touch a && cd rel && touch b", ["write /abs/a", "write /abs/rel/b"]),
        ("cd $DIR && touch a /b", ["write /b"]),
        ("cd && touch a", []),
        ("cd - && touch a", []),
        ("cd x | touch a", ["write a"]),
        ("pushd sub; touch a; popd; touch b", ["write sub/a"]),
        ("touch ~/notes", ["write ~/notes"]),
        # wrappers
        ("sudo -u me rm a", ["delete a"]),
        ("FOO=1 BAR='x y' touch a", ["write a"]),
        ("env FOO=1 touch a", ["write a"]),
        ("timeout 5 touch a", ["write a"]),
        ("timeout -k 1 5 touch a", ["write a"]),
        ("nohup touch a &", ["write a"]),
        ("time touch a", ["write a"]),
        ("! touch a", ["write a"]),
        ("/bin/rm a", ["delete a"]),
        ("exec > log", ["write log"]),
        ("bash -c 'echo x > y'", ["write y"]),
        ("bash -lc 'cd sub && rm a'", ["delete sub/a"]),
        ("bash -o pipefail -c 'rm a'", ["delete a"]),
        ("cd d && sh -c \"touch 'a b'\"", ["write d/a b"]),
        ("bash script.sh", []),
        ("bash -c \"bash -c 'touch a'\"", ["write a"]),
        # here-documents
        ("cat > a <<'EOF'\nrm b > c\nEOF", ["write a"]),
        ("cat <<EOF > a\n$x `y` 'z\nEOF\ntouch b", ["write a", "write b"]),
        ("cat <<-EOF > a\n\tx\n\tEOF\ntouch b", ["write a", "write b"]),
        ("cat <<A > a; cat <<B > b\n1\nA\n2\nB\ntouch c", ["write a", "write b", "write c"]),
        ("python - <<'PY'\nopen('x', 'w')\nPY", []),
        ("git commit -m \"$(cat <<'EOF'\nDon't > x\nEOF\n)\" && touch a", ["write a"]),
        # what is not known is left out, the rest is not
        ("rm $x a", ["delete a"]),
        ('rm "$x" a', ["delete a"]),
        ("rm *.pyc a", ["delete a"]),
        ("rm a?.py b[12].py {c,d}.py e", ["delete e"]),
        ("rm '*.pyc'", ["delete *.pyc"]),
        ("mv *.py sub/", []),
        ("mv $x b", []),
        ("cp a $x", []),
        ("echo x > $out", []),
        ("echo x > out-$(date).txt", []),
        ("echo x > `date`", []),
        ("touch ${x} a", ["write a"]),
        ("diff <(sort a) <(sort b) > c", ["write c"]),
        ("find . -name x -delete", ["list ."]),
        ("ls | xargs rm", []),
        ("make install", []),
        # what depends on a condition is left out
        ("if test -f a; then rm a; fi; touch b", ["write b"]),
        ("for f in a b; do rm $f; touch c; done", []),
        ("for f in a b; do cat $f; done > all", ["write all"]),
        ("while read x; do touch a; done < list", ["read list"]),
        ("case $x in a) rm a;; *) rm b;; esac; touch c", ["write c"]),
        ("if a; then for f in b; do rm c; done; fi; touch d", ["write d"]),
        ("[[ a > b ]] && touch c", ["write c"]),
        ("[[ a && b > c ]] && touch d", ["write d"]),
        # what does not parse declares nothing
        ("touch a; echo 'x", []),
        ('touch a; echo "x', []),
        ("touch a; echo $(x", []),
        ("touch a; echo `x", []),
        ("touch a; echo ${x", []),
        ("touch a >", []),
        ("touch a > ; touch b", []),
        ("cat > a <<EOF\nno end", []),
        ("cat > a <<EOF", []),
        ("touch a; (touch b", []),
        ("touch a; touch b)", []),
        ("touch a; if b; then c", []),
        ("f() { rm a; }; f", []),
        ("function f { rm a; }; f", []),
        ("x=(a b); touch c", []),
        ("bash -c \"$x\"; touch a", []),
        ("", []),
        ("   \n\n ", []),
    ],
)  # fmt: skip
def test_a_command_touches_what_it_names(command: str, touches: list[str]) -> None:
    assert said(shell_touches(command)) == touches


@pytest.mark.parametrize(
    ("tool", "arguments", "touches"),
    [
        ("Bash", {"command": "rm a", "description": "remove it"}, ["delete a"]),
        ("bash", {"cmd": "touch a", "workdir": "sub"}, ["write sub/a"]),
        ("shell", {"command": ["bash", "-lc", "touch a"]}, ["write a"]),
        ("shell", {"command": ["rm", "-f", "a b", "*"]}, ["delete a b", "delete *"]),
        ("local_shell", {"action": {"type": "exec", "command": ["touch", "a"], "working_directory": "/w"}}, ["write /w/a"]),
        ("shell", {"action": {"commands": ["touch a", "touch b"]}}, ["write a", "write b"]),
        ("run_command", {"commands": ["cd x", "touch a"]}, ["write a"]),
        ("terminal", {"commands": "touch a"}, ["write a"]),
        ("mcp__box__execute_command", {"command": "touch a"}, ["write a"]),
        ("exec_command", {"cmd": "touch a", "yield_time_ms": 5}, ["write a"]),
        ("execute", "touch a", ["write a"]),
        ("execute", '{"command": "touch a"}', ["write a"]),
        ("run_sql", {"command": "select a > b"}, []),
        ("robot", {"command": "touch screen"}, []),
        ("Bash", {"command": None}, []),
        ("Bash", {"command": []}, []),
        ("Bash", {"command": {"x": 1}}, []),
    ],
)
def test_a_shell_tool_is_known_by_its_name_and_its_command_in_any_form(tool: str, arguments: Any, touches: list[str]) -> None:
    assert said(declared_touches(tool, arguments)) == touches


@pytest.mark.parametrize(
    ("command", "touches"),
    [
        ("cat a >> a", ["write a"]),
        ("touch a; rm a", ["delete a"]),
        ("mkdir a; rmdir a", []),
        ("mv a b; mv b c", ["rename c < a"]),
        ("mv a b; mv b a", []),
        ("mv a b; rm b", ["delete a"]),
        ("rm a; mkdir a", ["write a"]),
        ("mv a b; echo x >> b", ["rename b < a"]),
        ("mkdir a; mv a b", ["create b"]),
        ("echo x > t; mv t a", ["rename a < t"]),
        ("mkdir -p d/e && mv a d/e", ["write d/e", "rename d/e/a < a"]),
    ],
)
def test_what_several_commands_do_to_one_file_adds_up(command: str, touches: list[str]) -> None:
    assert said(declared_touches("bash", {"command": command})) == touches


class Here:
    """A disk with the folder `sub` and one patch."""

    def is_folder(self, path: str) -> bool:
        return path == "sub"

    def text(self, path: str) -> str:
        return DIFF if path == "fix.patch" else ""


@pytest.mark.parametrize(
    ("command", "touches"),
    [
        ("mv a sub", ["rename sub/a < a"]),
        ("mv a other", ["rename other < a"]),
        ("cp x/a sub", ["read x/a", "write sub/a"]),
        ("git apply fix.patch", ["read fix.patch", "write x.py"]),
        ("patch -p1 -i fix.patch", ["write x.py"]),
        ("patch -p1 < fix.patch", ["write x.py", "read fix.patch"]),
    ],
)
def test_where_the_disk_can_be_seen_folders_and_patch_files_are_known(command: str, touches: list[str]) -> None:
    assert said(declared_touches("bash", {"command": command}, Here())) == touches


def test_a_long_command_is_read_and_one_without_end_is_not() -> None:
    assert shell_touches("touch a; " * 10_000 + "touch b") == [Touch("write", "a")] * 10_000 + [Touch("write", "b")]
    assert shell_touches("x" * 200_000 + " > y") == []
    assert shell_touches("(" * 5_000) == shell_touches("$(" * 5_000) == shell_touches("\\") == []
