"""A home-made agent: sessions, turns, tools, decisions, facts and pending actions recorded by hand."""

import time

import turnlog

turnlog.init()


@turnlog.tool
def write_file(path: str, content: str) -> str:
    return f"wrote {len(content)} characters to {path}"


@turnlog.tool(timeout=0.2, retries=1)
def ask_colleague(question: str) -> str:
    time.sleep(5)
    return "yes"


with turnlog.session("by-hand"):
    with turnlog.turn(input="Store the results somewhere.", agent="librarian") as turn:
        turnlog.decide("a JSON file", why="ten rows, one reader", alternatives=["SQLite"], about="storage")
        write_file("results.json", "[]")
        turnlog.note("results arrive once a day", key="cadence")
        review = turnlog.pending("have the format reviewed")
        turn.answer("Stored in results.json.")

    with turnlog.turn(input="Now ten people read them at once. Is the format reviewed?", agent="librarian") as turn:
        answer = ask_colleague("is the format fine?")
        if answer.error:
            print(f"no answer: {answer.error.kind} after {answer.error.attempts} attempts")
        turnlog.decide("SQLite", why="several readers and writers", alternatives=["a JSON file"], about="storage")
        write_file("results.db", "...")
        review.resolve("approved by the user")
        turn.answer("Moved to SQLite.")
